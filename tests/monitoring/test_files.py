"""The files in manifests/monitoring/ are what their tables make, and are of one piece."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from numa_agent.config import load
from tests.manifests.objects import containers, documents
from tests.monitoring import test_published, test_rules
from tests.monitoring.scenes import SCENES
from tests.recorded import ROOT
from tools.monitoring.__main__ import FOLDER, files, main
from tools.monitoring.alerts import GROUPS
from tools.monitoring.settings import MIB, Settings

METRIC = re.compile(r"\b(?:numa_agent|process)_\w+")
VARIABLE = re.compile(r"\$\{?(\w+)")
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")
BUILT_IN = {"__rate_interval"}
MADE = dict(files(Settings()))

DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: dict[str, Any] = yaml.safe_load((FOLDER / "rules.yml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


def documented() -> set[str]:
    page = (ROOT / "docs/metrics.md").read_text()
    return set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


@pytest.mark.parametrize("name", MADE)
def test_a_file_is_what_its_table_makes(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text == MADE[name], "run `python -m tools.monitoring`"


def test_the_operators_rules_are_the_plain_ones() -> None:
    assert yaml.safe_load((FOLDER / "prometheusrule.yaml").read_text())["spec"] == RULES


def test_settings_are_in_every_place() -> None:
    settings = Settings(
        job="agents",
        node_label="kubernetes_node",
        runbooks="https://wiki.example.com/n",
        pass_seconds=600,
        slow_pass_seconds=2.5,
        memory_limit=2**28,
    )
    text = dict(files(settings))
    rules = text["rules.yml"]
    for wanted in ('job=~"agents"', "> 6000", "> 2.5", "* 268435456", "$labels.kubernetes_node"):
        assert wanted in rules
    assert rules.count("https://wiki.example.com/n/NumaAgent") == len(ALERTS)
    board = text["dashboard.json"]
    assert "$labels.node " not in rules
    for target in (t for p in json.loads(board)["panels"] for t in p.get("targets", [])):
        assert "{{node}}" not in target["legendFormat"]
        assert not re.search(r"\bnode\b", target["expr"].replace("$node", "")), target["expr"]
    assert "(numa_agent_build_info, kubernetes_node)" in board


def test_nothing_is_left_to_fill_in() -> None:
    for text in (*QUERIES, *(str(rule) for rule in ALERTS)):
        assert not re.search(r"\$[A-Z]", text), text


def test_every_metric_is_documented() -> None:
    known = documented()
    used = (*QUERIES, *(rule["expr"] for rule in ALERTS))
    names = {SUFFIX.sub("", name) for text in used for name in METRIC.findall(text)}
    assert names - known == set()


def test_every_metric_of_the_agent_is_shown_or_alerted_on() -> None:
    used = " ".join((*QUERIES, *(rule["expr"] for rule in ALERTS)))
    unused = {name for name in documented() if name not in used}
    assert unused == {
        "numa_agent_series_left_out",
        "numa_agent_container_cpus",
        "process_virtual_memory_bytes",
        "process_max_fds",
    }


def test_alerts_are_told_apart_and_severities_are_three() -> None:
    names = [rule["alert"] for rule in ALERTS]
    assert len(set(names)) == len(names) == sum(map(len, GROUPS.values()))
    assert {rule["labels"]["severity"] for rule in ALERTS} == {"critical", "warning", "info"}


def test_every_alert_fires_in_a_run_of_the_tests() -> None:
    fired = {name for scene in SCENES.values() for name in scene.fires}
    fired.update(test_rules.NARROW, *test_published.FIRES.values())
    assert fired == {rule["alert"] for rule in ALERTS}


def test_limits_are_those_of_the_daemon_set_and_its_configuration() -> None:
    (daemon_set,) = documents(ROOT / "manifests/base/daemonset/daemonset.yaml")
    (container,) = containers(daemon_set)
    assert container["resources"]["limits"]["memory"] == f"{Settings().memory_limit // MIB}Mi"
    config = load(str(ROOT / "manifests/base/config.yaml"), {}, {"NODE_NAME": "n"})
    assert config.pass_seconds == Settings().pass_seconds


def test_panels_have_their_own_ids_and_places() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
    assert all(place["x"] + place["w"] <= 24 for place in (p["gridPos"] for p in panels))


def test_panels_say_what_they_show_and_ask_the_chosen_data_source() -> None:
    for panel in DASHBOARD["panels"]:
        if panel["type"] == "row":
            continue
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["targets"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        for each in (panel, *panel["targets"]):
            assert each["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_every_variable_is_one_of_the_dashboard() -> None:
    known = {each["name"] for each in DASHBOARD["templating"]["list"]} | BUILT_IN
    for query in QUERIES:
        assert set(VARIABLE.findall(query)) <= known
        assert "$node" in query, query


def test_the_config_map_stays_below_what_kubectl_can_apply() -> None:
    # kubectl keeps what it applied in an annotation; all of these have 256 KiB.
    assert (FOLDER / "dashboard.json").stat().st_size < 200 * 1024


def test_the_folder_has_nothing_else() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*MADE, "kustomization.yaml"}


def test_other_settings_go_into_another_folder(tmp_path: Path) -> None:
    main(["--into", str(tmp_path / "own"), "--memory-limit", "100"])
    assert {path.name for path in (tmp_path / "own").iterdir()} == MADE.keys()
    assert "0.8 * 100\n" in (tmp_path / "own/rules.yml").read_text()
    for name, text in MADE.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text
