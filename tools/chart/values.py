"""What may be set in the chart: one table for values.yaml and values.schema.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from numa_agent.config import SCHEDULERS

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
CONFIG_SCHEMA = ROOT / "docs" / "config.schema.json"
SET_BY_THE_CHART = frozenset(
    {"scheduler", "hostRoot", "liveRoot", "lockFile", "nodeName", "kubeconfig"}
    | {"gpuPlugin", "metrics", "metricsTlsCert", "metricsTlsKey", "metricsAuth"}
)
"""Settings of the agent that follow from other values, or from where it runs."""

_TEXT = {"type": "string", "minLength": 1}
_PATH = {"type": "string", "pattern": "^/."}
_MAP = {"type": "object"}
_LIST = {"type": "array", "items": {"type": "object"}}
_NAMES = {"type": "array", "items": _TEXT}
_SWITCH = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its place, default, schema, and what it means in a sentence."""

    key: str
    default: object
    schema: Mapping[str, object]
    meaning: str


def table(daemon_set: Json) -> tuple[Value, ...]:
    """Every value; the defaults are those of the DaemonSet that `kubectl apply -k` makes."""
    spec = daemon_set["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    name, _, tag = container["image"].partition(":")
    hidden = [
        mount["mountPath"].rpartition("/")[2]
        for mount in container["volumeMounts"]
        if mount["name"] == "nothing"
    ]
    update = daemon_set["spec"]["updateStrategy"]["rollingUpdate"]
    share = {"type": "string", "pattern": "^[1-9][0-9]?%$|^100%$"}
    unavailable = {"anyOf": [{"type": "integer", "minimum": 1}, share]}
    actions = {"enum": ["auto", "deny", "warn", "off"]}
    return (
        Value("image.repository", name, _TEXT, "Where the image is, without its tag"),
        Value("image.tag", tag, _TEXT, "Its tag; with a digest: 0.1.0@sha256:..."),
        Value(
            "image.pullPolicy",
            container["imagePullPolicy"],
            {"enum": ["IfNotPresent", "Always", "Never"]},
            "When the image is pulled",
        ),
        Value("imagePullSecrets", [], _LIST, "Secrets for the registry: [{name: ...}]"),
        Value("scheduler", SCHEDULERS[0], {"enum": [*SCHEDULERS]}, "Whose language is published"),
        Value(
            "config",
            {},
            _config_schema(),
            "The agent's other settings (docs/configuration.md), off and on in quotes",
        ),
        Value("gpu.enabled", False, _SWITCH, "A DaemonSet with NVML for NVIDIA's nodes"),
        Value("gpu.runtimeClassName", "nvidia", _TEXT, "Its runtime, which brings NVML in"),
        Value(
            "gpu.nodeLabel",
            "nvidia.com/gpu.present",
            _TEXT,
            'The label that is "true" on those nodes',
        ),
        Value(
            "gpuPlugin.enabled",
            False,
            _SWITCH,
            "Whole cards are offered to kubelet (docs/gpu-plugin.md); with gpu.enabled",
        ),
        Value("hostPID", False, _SWITCH, "See the node's processes, to say more of containers"),
        Value("metrics.tls.enabled", False, _SWITCH, "Metrics over TLS, for those with the right"),
        Value(
            "metrics.tls.secretName",
            "numa-agent-tls",
            _TEXT,
            "The Secret with tls.crt and tls.key, which is yours to make",
        ),
        Value(
            "metrics.monitor.enabled",
            False,
            _SWITCH,
            "For the Prometheus Operator: a PodMonitor, with TLS a Service and a ServiceMonitor",
        ),
        Value("metrics.monitor.labels", {}, _MAP, "The monitor's labels besides ours"),
        Value(
            "metrics.rules.enabled",
            False,
            _SWITCH,
            "For the Prometheus Operator: a PrometheusRule with the alerts (docs/runbooks)",
        ),
        Value("metrics.rules.labels", {}, _MAP, "Its labels besides ours"),
        Value(
            "metrics.dashboard.enabled",
            False,
            _SWITCH,
            "A ConfigMap with the dashboard, for Grafana's sidecar",
        ),
        Value("gputopo.enabled", False, _SWITCH, "The right to ACK's ConfigMap in kube-system"),
        Value("podMarks.enabled", False, _SWITCH, "The right to write marks on the node's pods"),
        Value(
            "podMarks.evictions",
            False,
            _SWITCH,
            "With it the right to evict those that couldn't be placed (assignerUnplaced: evict)",
        ),
        Value("networkPolicy.enabled", True, _SWITCH, "Whether the NetworkPolicy is made"),
        Value(
            "admission.ownNode",
            True,
            _SWITCH,
            "Each agent writes its own node's objects only (Kubernetes 1.30 and newer)",
        ),
        Value(
            "admission.assignments",
            "auto",
            actions,
            "Assignments by others than assigners; auto: warn for ack, else deny",
        ),
        Value("admission.assigners", [], _NAMES, "Users who may write assignments anywhere"),
        Value(
            "kubelet.dir",
            "/var/lib/kubelet",
            _PATH,
            "kubelet's --root-dir",
        ),
        Value(
            "kubelet.hidden",
            hidden,
            _NAMES,
            "Folders in it that the agent can't see; each must be there on every node",
        ),
        Value("restore", False, _SWITCH, "Instead of running, give pods back what was bound"),
        Value("resources", container["resources"], _MAP, "Requests and limits"),
        Value("tolerations", spec["tolerations"], _LIST, "Which nodes' taints it stands"),
        Value("nodeSelector", spec["nodeSelector"], _MAP, "Which nodes have an agent"),
        Value("priorityClassName", spec["priorityClassName"], _TEXT, "Its pods' priority"),
        Value(
            "maxUnavailable", update["maxUnavailable"], unavailable, "Nodes updated at one time"
        ),
    )


def _config_schema() -> Json:
    """The agent's own schema without what the chart sets, off and on being words in quotes."""
    schema: Json = json.loads(CONFIG_SCHEMA.read_text(encoding="utf-8"))
    properties = {
        key: _without_truth_values(value)
        for key, value in schema["properties"].items()
        if key not in SET_BY_THE_CHART
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _without_truth_values(value: Any) -> Any:
    # YAML reads a bare `off` as false, and Helm would write it as `false` into the file.
    if isinstance(value, dict):
        kept = {key: _without_truth_values(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if key != "default"}
    if isinstance(value, list):
        return [_without_truth_values(each) for each in value if not isinstance(each, bool)]
    return value


def schema_json(values: tuple[Value, ...]) -> str:
    """values.schema.json: unknown values are refused, as misspelled ones are."""
    definitions = json.loads(CONFIG_SCHEMA.read_text(encoding="utf-8"))["$defs"]
    root: Json = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "numa-agent's chart",
        **_object(),
        "$defs": definitions,
    }
    # What Helm itself puts in.
    root["properties"]["global"] = {"type": "object"}
    for value in values:
        place = root
        *parents, name = value.key.split(".")
        for parent in parents:
            place = place["properties"].setdefault(parent, _object())
        place["properties"][name] = {"description": value.meaning, **value.schema}
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


def _object() -> Json:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def values_yaml(values: tuple[Value, ...]) -> str:
    """values.yaml: each default below the sentence that says what it is."""
    lines = ["# Made by `python -m tools.chart`; values.schema.json holds what may be set."]
    above: list[str] = []
    for value in values:
        *parents, name = value.key.split(".")
        shared = 0
        while shared < min(len(parents), len(above)) and parents[shared] == above[shared]:
            shared += 1
        if not parents or shared == 0:
            lines.append("")
        lines += [f"{'  ' * level}{parents[level]}:" for level in range(shared, len(parents))]
        indent = "  " * len(parents)
        lines.append(f"{indent}# {value.meaning}")
        text = yaml.safe_dump({name: value.default}, sort_keys=False, width=10_000)
        lines += [f"{indent}{line}" for line in text.splitlines()]
        above = parents
    return "\n".join(lines) + "\n"
