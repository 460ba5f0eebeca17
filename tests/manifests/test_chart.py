"""The Helm chart is the manifests: made from them, and the same objects come out of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from numa_agent.config import load
from tests.manifests import programs
from tests.manifests.conftest import Build
from tests.manifests.objects import MANIFESTS, NAMESPACE, Json, documents, named
from tools.chart.build import CHART, build
from tools.chart.merge import merge
from tools.chart.template import block, entries_if, keys_if, mark, rendered

KUBERNETES = "1.36.3"

Render = Callable[..., list[Json]]


@pytest.fixture(scope="session")
def render(helm: Path) -> Render:
    """The objects that the chart makes with these values, given as `key=value`."""

    def objects(*values: str, namespace: str = NAMESPACE) -> list[Json]:
        setting = [word for value in values for word in ("--set", value)]
        where = ["--namespace", namespace, "--kube-version", KUBERNETES]
        text = programs.run(helm, "template", "numa-agent", str(CHART), *where, *setting)
        return [each for each in yaml.safe_load_all(text) if each]

    return objects


def test_the_chart_is_what_its_tool_makes() -> None:
    made = build()
    there = {
        str(path.relative_to(CHART)): path.read_text(encoding="utf-8")
        for path in CHART.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(made)
    for name, text in made.items():
        assert there[name] == text, f"{name}: run python -m tools.chart"


def comparable(objects: list[Json]) -> dict[tuple[str, str], Any]:
    """The objects by kind and name, lists of named entries in order of their names."""
    found = {}
    for each in objects:
        content = _ordered(each)
        if each["kind"] == "ConfigMap":
            content["data"] = yaml.safe_load(each["data"]["config.yaml"])
        found[each["kind"], each["metadata"]["name"]] = content
    return found


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(inner) for key, inner in value.items()}
    if isinstance(value, list):
        inner = [_ordered(each) for each in value]
        named_entries = all(isinstance(each, dict) and "name" in each for each in inner)
        return sorted(inner, key=_text) if named_entries else inner
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


SAME = {
    "kube-scheduler": (),
    "koordinator": ("scheduler=koordinator",),
    "ack": ("scheduler=ack",),
    "gpu": ("gpu.enabled=true",),
    "gpu-plugin": ("gpu.enabled=true", "gpuPlugin.enabled=true"),
    "metrics-tls": ("metrics.tls.enabled=true",),
    "restore": ("restore=true",),
}


@pytest.mark.parametrize("overlay", SAME)
def test_the_chart_makes_the_objects_of_an_overlay(
    overlay: str, built: Build, render: Render
) -> None:
    wanted = comparable(built(f"overlays/{overlay}"))
    del wanted["Namespace", "numa-agent"]  # helm has --create-namespace
    made = comparable(render(*SAME[overlay]))
    assert made.keys() == wanted.keys()
    for key, content in wanted.items():
        assert made[key] == content


OPTIONAL = (
    *("gputopo/rbac", "gputopo/own-config", "podmonitor/podmonitor"),
    *("servicemonitor/service", "servicemonitor/servicemonitor"),
    *("pod-marks/rbac", "pod-marks/own-pods", "pod-eviction/rbac", "pod-eviction/own-evictions"),
)


def test_optional_objects_are_those_of_the_components(render: Render) -> None:
    marks = ("podMarks.enabled=true", "podMarks.evictions=true")
    made = comparable(render("gputopo.enabled=true", "metrics.monitor.enabled=true", *marks))
    secured = render("metrics.tls.enabled=true", "metrics.monitor.enabled=true")
    made |= comparable([each for each in secured if each["kind"].startswith("Service")])
    for file in OPTIONAL:
        wanted = comparable(documents(MANIFESTS / "components" / f"{file}.yaml"))
        for key, content in wanted.items():
            assert made[key] == content


def test_alerts_and_dashboard_are_those_of_the_component(render: Render) -> None:
    labels = "metrics.rules.labels.release=prometheus"
    made = render("metrics.rules.enabled=true", labels, "metrics.dashboard.enabled=true")
    folder = MANIFESTS / "monitoring"
    (rule,) = documents(folder / "prometheusrule.yaml")
    rule["metadata"]["labels"]["release"] = "prometheus"
    assert named(made, "PrometheusRule", "numa-agent") == rule
    dashboard = named(made, "ConfigMap", "numa-agent-dashboard")
    text = (folder / "dashboard.json").read_text(encoding="utf-8")
    assert dashboard["data"] == {"numa-agent.json": text}
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_another_namespace_is_everywhere(render: Render) -> None:
    everything = (
        "scheduler=koordinator",
        "gpu.enabled=true",
        "gputopo.enabled=true",
        "podMarks.enabled=true",
        "podMarks.evictions=true",
        "metrics.tls.enabled=true",
        "metrics.monitor.enabled=true",
        "metrics.rules.enabled=true",
        "metrics.dashboard.enabled=true",
    )
    objects = render(*everything, namespace="elsewhere")
    spaces = {each["metadata"].get("namespace") for each in objects}
    assert spaces == {None, "elsewhere", "kube-system"}
    text = json.dumps(objects)
    assert "system:serviceaccount:elsewhere:numa-agent" in text
    assert "system:serviceaccount:numa-agent:" not in text
    accounts = [s for o in objects for s in o.get("subjects", []) if s["kind"] != "User"]
    assert {subject["namespace"] for subject in accounts} == {"elsewhere"}


def test_values_reach_the_pods(render: Render) -> None:
    objects = render(
        "gpu.enabled=true",
        "gpu.nodeLabel=example.com/gpu",
        "image.repository=mirror/numa-agent",
        "image.tag=1.2.3",
        "imagePullSecrets[0].name=mirror",
        "kubelet.dir=/data/kubelet",
        "kubelet.hidden={pods}",
        "nodeSelector.pool=big",
        "maxUnavailable=3",
        "resources.limits.memory=1Gi",
    )
    for name in ("numa-agent", "numa-agent-gpu"):
        spec = named(objects, "DaemonSet", name)["spec"]
        assert spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 3
        pod = spec["template"]["spec"]
        assert pod["imagePullSecrets"] == [{"name": "mirror"}]
        assert pod["nodeSelector"]["pool"] == "big"
        (container,) = pod["containers"]
        assert container["image"] == "mirror/numa-agent:1.2.3"
        assert container["resources"]["limits"] == {"memory": "1Gi"}
        paths = [v["hostPath"]["path"] for v in pod["volumes"] if v["name"] == "kubelet"]
        assert paths == ["/data/kubelet"]
        hidden = [m["mountPath"] for m in container["volumeMounts"] if m["name"] == "nothing"]
        assert hidden == ["/host/var/lib/kubelet/pods"]
    gpu = named(objects, "DaemonSet", "numa-agent-gpu")["spec"]["template"]["spec"]
    assert gpu["nodeSelector"]["example.com/gpu"] == "true"


def test_settings_reach_the_agent(render: Render, tmp_path: Path) -> None:
    objects = render("config.takeover=on", "config.passSeconds=30", "metrics.tls.enabled=true")
    text = named(objects, "ConfigMap", "numa-agent")["data"]["config.yaml"]
    file = tmp_path / "config.yaml"
    file.write_text(text)
    config = load(str(file), {}, {"NODE_NAME": "n"})
    assert config.takeover
    assert config.live


@pytest.mark.parametrize(
    ("choice", "scheduler", "actions"),
    [
        ("auto", "kube-scheduler", ["Deny"]),
        ("auto", "ack", ["Warn", "Audit"]),
        ("warn", "koordinator", ["Warn", "Audit"]),
        ("deny", "ack", ["Deny"]),
    ],
)
def test_assignments_by_others_are_denied_or_warned_of(
    choice: str, scheduler: str, actions: list[str], render: Render
) -> None:
    objects = render(f"admission.assignments={choice}", f"scheduler={scheduler}")
    kind = "ValidatingAdmissionPolicyBinding"
    assert named(objects, kind, "numa-agent-assignments")["spec"]["validationActions"] == actions


def test_what_is_off_is_not_there(render: Render) -> None:
    off = ("admission.assignments=off", "admission.ownNode=false", "networkPolicy.enabled=false")
    kinds = {each["kind"] for each in render(*off)}
    assert not kinds & {"ValidatingAdmissionPolicy", "NetworkPolicy", "PodMonitor"}


def test_evictions_are_a_right_besides_that_to_mark(render: Render) -> None:
    def roles(*values: str) -> set[str]:
        made = render(*values)
        return {each["metadata"]["name"] for each in made if each["kind"] == "ClusterRole"}

    plain = roles()
    marks = roles("podMarks.enabled=true")
    assert marks == plain | {"numa-agent-pod-marks"}
    assert roles("podMarks.evictions=true") == plain
    both = roles("podMarks.enabled=true", "podMarks.evictions=true")
    assert both == marks | {"numa-agent-pod-eviction"}


def test_assigners_are_bound(render: Render) -> None:
    objects = render("admission.assigners={alice,system:serviceaccount:a:b}")
    binding = named(objects, "ClusterRoleBinding", "numa-agent-assigners")
    assert [each["name"] for each in binding["subjects"]] == [
        "alice",
        "system:serviceaccount:a:b",
    ]


WRONG = {
    "schedular=ack": "schedular",
    "scheduler=slurm": "scheduler",
    "image.tag=": "tag",
    "gpu.enabled=maybe": "gpu",
    "config.hostRoot=/x": "hostRoot",
    "config.mems=sometimes": "mems",
    "config.passSeconds=1": "passSeconds",
    "maxUnavailable=0": "maxUnavailable",
    "maxUnavailable=many": "maxUnavailable",
    "admission.assignments=maybe": "assignments",
    "kubelet.dir=relative": "dir",
}


@pytest.mark.parametrize("value", WRONG)
def test_a_wrong_value_is_refused_before_anything_is_installed(value: str, helm: Path) -> None:
    where = ["--kube-version", KUBERNETES, "--set", value]
    said = programs.run(helm, "template", "numa-agent", str(CHART), *where, fails=True)
    assert WRONG[value] in said


def test_a_bare_off_is_refused_as_helm_would_write_it_otherwise(helm: Path) -> None:
    where = ["--kube-version", KUBERNETES, "--set-json", '{"config": {"events": false}}']
    said = programs.run(helm, "template", "numa-agent", str(CHART), *where, fails=True)
    assert "events" in said


def test_helm_finds_nothing_to_say(helm: Path) -> None:
    assert "0 chart(s) failed" in programs.run(helm, "lint", "--strict", str(CHART))


def test_the_defaults_fit_the_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(values, schema)


def test_a_patch_is_merged_as_kubernetes_does() -> None:
    base = {"a": {"b": 1, "c": [1]}, "env": [{"name": "x", "value": "1"}]}
    patch = {"a": {"c": [2]}, "env": [{"name": "x", "value": "2"}, {"name": "y"}], "d": 3}
    assert merge(base, patch) == {
        "a": {"b": 1, "c": [2]},
        "env": [{"name": "x", "value": "2"}, {"name": "y"}],
        "d": 3,
    }


def test_marks_become_code_in_their_places() -> None:
    made = {
        "plain": mark("{{ .a }}"),
        "within": f"x-{mark('{{ .b }}')}",
        "deep": {"block": block(".Values.c")},
        "items": entries_if(".d", ["one"]),
        **keys_if(".e", {"two": 2}),
    }
    assert rendered([made]).splitlines() == [
        "plain: {{ .a }}",
        "within: x-{{ .b }}",
        "deep:",
        "  block:",
        "    {{- toYaml .Values.c | nindent 4 }}",
        "items:",
        "{{- if .d }}",
        "- one",
        "{{- end }}",
        "{{- if .e }}",
        "two: 2",
        "{{- end }}",
    ]
