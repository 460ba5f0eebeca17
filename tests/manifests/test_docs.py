"""What the pages on installing and on security say is what the manifests are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from numa_agent.config import load
from tests.manifests.objects import COMPONENTS, MANIFESTS, OVERLAYS, Json, containers, documents
from tests.recorded import ROOT
from tools.chart.values import table

DOCS = ROOT / "docs"
PAGES = (
    "install.md",
    "install-kube-scheduler.md",
    "install-koordinator.md",
    "install-ack.md",
    "security.md",
    "upgrade-and-uninstall.md",
)
AGENT = {
    *("numa-agent", "numa-agent-koordinator", "numa-agent-gputopo", "numa-agent-metrics-auth"),
    *("numa-agent-pod-marks", "numa-agent-pod-eviction"),
}
"""The roles that are the agent's own; others are for people and schedulers to be bound to."""


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> Iterator[list[str]]:
    """The cells of the table whose heading begins so."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            break
    else:
        raise AssertionError(f"no table {heading}")
    next(lines)
    for line in lines:
        if not line.startswith("| "):
            return
        yield [cell.strip() for cell in line.strip("| ").split(" | ")]


def granted() -> Iterator[tuple[str, str, str]]:
    """Every right of the agent: the file, group and resource, and the verbs."""
    for path in sorted(MANIFESTS.rglob("*.yaml")):
        if path.name == "kustomization.yaml" or "helm" in path.parts:
            continue
        for each in documents(path):
            if each.get("kind") not in {"Role", "ClusterRole"}:
                continue
            if each["metadata"]["name"] not in AGENT:
                continue
            for rule in each["rules"]:
                (group,), (resource,) = rule["apiGroups"], rule["resources"]
                name = f"{group}/{resource}".lstrip("/")
                yield str(path.relative_to(MANIFESTS)), name, ", ".join(rule["verbs"])


def test_the_table_of_rights_is_what_the_roles_give() -> None:
    told = list(rows(page("security.md"), "manifest"))
    assert sorted((row[0], row[1], row[2]) for row in told) == sorted(granted())
    assert all(len(row) == 4 and len(row[3]) > 10 for row in told)


def test_every_role_is_named() -> None:
    text = page("security.md")
    for path in MANIFESTS.rglob("rbac.yaml"):
        for each in [] if "helm" in path.parts else documents(path):
            if each["kind"] == "ClusterRole" and each["metadata"]["name"] not in AGENT:
                assert f"`{each['metadata']['name']}`" in text


def test_the_table_of_paths_is_what_the_pods_have() -> None:
    (daemon_set,) = documents(MANIFESTS / "base" / "daemonset" / "daemonset.yaml")
    (nvidia,) = documents(MANIFESTS / "components" / "gpu" / "daemonset" / "nvidia.yaml")
    (processes,) = documents(MANIFESTS / "components" / "host-pid" / "daemonset.yaml")
    (plugin,) = documents(MANIFESTS / "components" / "gpu-plugin" / "daemonset.yaml")
    wanted = set()
    for each in (daemon_set, nvidia, processes, plugin):
        (container,) = containers(each)
        mounts: dict[str, Json] = {}
        for mount in container["volumeMounts"]:
            if "name" in mount:
                mounts[mount["name"]] = mount
        for volume in each["spec"]["template"]["spec"]["volumes"]:
            if "hostPath" in volume:
                mount = mounts[volume["name"]]
                how = "read-only" if mount.get("readOnly") else "**read-write**"
                wanted.add((f"`{volume['hostPath']['path']}`", f"`{mount['mountPath']}`", how))
    told = list(rows(page("security.md"), "path on the machine"))
    assert {(row[0], row[1], row[2]) for row in told} == wanted


def test_the_guarded_annotations_are_the_policys() -> None:
    policy, _ = documents(MANIFESTS / "base" / "assignments.yaml")
    (keys,) = (v for v in policy["spec"]["variables"] if v["name"] == "keys")
    wanted = set(re.findall(r"'([^']+)'", keys["expression"]))
    assert {row[0].strip("`") for row in rows(page("security.md"), "annotation")} == wanted
    # docs/assignment.md has the languages: each of their annotations is guarded.
    spoken = {row[0].split("`")[1] for row in rows(page("assignment.md"), "annotation")}
    assert spoken <= wanted


def test_every_component_is_told_for_kubectl_and_for_helm() -> None:
    there = {path.name for path in (MANIFESTS / "components").iterdir()}
    assert there == {*COMPONENTS, "restore"}
    tables = re.findall(r"^\| component \|.*?(?=^$)", page("install.md"), re.MULTILINE | re.DOTALL)
    for text in tables:
        assert {name.split("`")[1] for name in text.splitlines()[2:]} == there
    assert len(tables) == 2


def test_every_value_that_is_told_of_is_in_the_chart() -> None:
    (daemon_set,) = documents(MANIFESTS / "base" / "daemonset" / "daemonset.yaml")
    known = {value.key for value in table(daemon_set)}
    text = "\n".join(page(name) for name in PAGES)
    told = set(re.findall(r"(?:--set |`)([a-z][\w.]+)=[\w/]+", text))
    assert "restore" in told
    groups = {key.partition(".")[0] for key in known}
    assert {key for key in told if key.partition(".")[0] in groups} <= known


@pytest.mark.parametrize("name", PAGES)
def test_every_folder_and_file_that_a_page_names_is_there(name: str) -> None:
    for path in re.findall(r"(?<!/)\bmanifests/[\w./-]*\w", page(name)):
        assert (ROOT / path).exists(), path
    overlays = re.findall(r"apply -k manifests/overlays/([\w-]+)", page(name))
    assert set(overlays) <= set(OVERLAYS)


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    text = page(name)
    for target, _, anchor in (
        each.partition("#") for each in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in each
    ):
        assert not target or (DOCS / target).exists(), target
        if anchor:
            lines = re.findall(r"^#+ (.+)$", page(target or name), re.MULTILINE)
            known = [re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-") for line in lines]
            assert anchor in known, f"{target}#{anchor}"


def test_the_example_of_an_own_overlay_is_a_kustomization() -> None:
    (example,) = re.findall(
        r"```yaml\n(# kustomization.yaml.*?)```", page("install.md"), re.DOTALL
    )
    content = yaml.safe_load(example)
    for folder in (*content["resources"], *content["components"]):
        assert (ROOT / folder / "kustomization.yaml").exists()
    assert content["images"][0]["name"] == "numa-agent"


def test_the_three_lines_of_metrics_over_tls_are_settings(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```yaml\n(metricsTlsCert.*?)```", page("install.md"), re.DOTALL)
    base = (MANIFESTS / "base" / "config.yaml").read_text(encoding="utf-8")
    overlay = (MANIFESTS / "overlays" / "metrics-tls" / "config.yaml").read_text(encoding="utf-8")
    assert overlay == base + lines
    file = tmp_path / "config.yaml"
    file.write_text(overlay)
    assert load(str(file), {}, {"NODE_NAME": "n"}).metrics_auth == "token-review"
