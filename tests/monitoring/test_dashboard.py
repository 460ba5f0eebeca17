"""The dashboard's panels have data where a real Prometheus scraped real agents."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, TypeVar

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.monitoring.cluster import publishing
from tests.monitoring.prometheus import Prometheus, prometheus
from tests.monitoring.recording import agent, copy_of, each_second
from tests.monitoring.scenes import SCENES
from tests.recorded import ROOT

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        shutil.which("prometheus") is None,
        reason="the command prometheus isn't there: it is Debian's package of this name",
    ),
]

T = TypeVar("T")

RUN_SECONDS = 40
FAULTY = ("refused", "opted-out", "split", "source", "drift", "gpu-unknown", "ended", "healthy")
DASHBOARD: dict[str, Any] = json.loads((ROOT / "manifests/monitoring/dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VALUES = {"$node": ".*", "$__rate_interval": "15s"}


@pytest.fixture(scope="module")
def asked(
    own_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A Prometheus that has scraped an agent that publishes, and agents with faults."""
    folder = tmp_path_factory.mktemp("d")
    rules = ROOT / "manifests/monitoring/rules.yml"
    with ExitStack() as stack:
        agents = [stack.enter_context(publishing(own_plane, folder / "live", "live"))]
        for name in FAULTY:
            root = copy_of(SCENES[name].machine, folder / name)
            SCENES[name].before(root)
            agents.append(stack.enter_context(agent(root, name, metricsContainers="on")))
        found = stack.enter_context(prometheus(folder, agents, rules))
        until(lambda: found.query(f"count(up == 1) == {len(agents)}"))
        for number in each_second(RUN_SECONDS):
            for running in agents[1:]:
                if number == 5:
                    SCENES[running.node].then(running)
                if number > 5:
                    SCENES[running.node].again(running)
        yield found


def until(what: Callable[[], T]) -> T:
    """Ask until there is an answer: a scrape or an evaluation may be late."""
    deadline = time.monotonic() + 90
    while True:
        with suppress(OSError):
            if found := what():
                return found
        assert time.monotonic() < deadline
        time.sleep(0.2)


def filled(expr: str) -> str:
    """A panel's query as Grafana would send it."""
    for name, value in VALUES.items():
        expr = expr.replace(name, value)
    return expr


def shown(labels: dict[str, str], value: float) -> str:
    names = {key: value for key, value in labels.items() if key not in {"job", "instance"}}
    return f"{value:g} {names}" if names else f"{value:g}"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_query_of_a_panel_has_data(panel: dict[str, Any], asked: Prometheus) -> None:
    for target in panel["targets"]:
        print(target["expr"])
        found = until(partial(asked.query, filled(target["expr"])))
        examples = "; ".join(shown(*each) for each in found[:2])
        print(f"{panel['title']} ({panel['type']}): {len(found)} series: {examples}")


def test_the_variable_lists_the_nodes(asked: Prometheus) -> None:
    (variable,) = (each for each in DASHBOARD["templating"]["list"] if each["name"] == "node")
    assert variable["query"]["query"] == "label_values(numa_agent_build_info, node)"
    values = asked.ask("label/node/values", **{"match[]": "numa_agent_build_info"})
    assert set(values) == {"live", *FAULTY}


def test_a_chosen_node_is_shown_alone(asked: Prometheus) -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            expr = filled(target["expr"].replace("$node", "no-such-node"))
            values = [value for _, value in asked.query(expr)]
            assert values in ([], [0.0]), target["expr"]


def test_no_text_of_an_alert_lacks_a_value(asked: Prometheus) -> None:
    wanted = {name for each in FAULTY for name in SCENES[each].fires}
    # Those that a run of half a minute can't have.
    wanted -= {"NumaAgentAbsent", "NumaAgentSourceOld", "NumaAgentCpusetDrift"}

    def alerts() -> list[Any]:
        found: list[Any] = asked.ask("alerts")["alerts"]
        return found if wanted <= {each["labels"]["alertname"] for each in found} else []

    for each in until(alerts):
        for text in each["annotations"].values():
            assert "<no value>" not in text
            assert "<error" not in text
            assert "{{" not in text
        print(f"{each['labels']['alertname']}: {each['annotations']['summary']}")


def test_prometheus_says_nothing_against_rules_and_series(asked: Prometheus) -> None:
    log = asked.log.read_text()
    for word in ("out of order", "duplicate", "many-to-many", "Evaluating rule failed"):
        assert word not in log
