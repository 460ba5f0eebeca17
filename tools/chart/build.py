"""The chart's files by their path below manifests/helm/numa-agent."""

import numa_agent
from tools.chart import monitoring, objects
from tools.chart.objects import GPU, MANIFESTS, TLS, Json, placed, read
from tools.chart.template import mark, rendered
from tools.chart.values import schema_json, table, values_yaml

CHART = MANIFESTS / "helm" / "numa-agent"

MARKS = ".Values.podMarks.enabled"
EVICTIONS = f"(and {MARKS} .Values.podMarks.evictions)"

_MADE = "# Made from manifests/ by `python -m tools.chart`: change it there.\n"
_DENIES = (
    '{{ if or (eq .Values.admission.assignments "warn")'
    ' (and (eq .Values.admission.assignments "auto") (eq .Values.scheduler "ack")) }}'
    "[Warn, Audit]{{ else }}[Deny]{{ end }}"
)


def build() -> dict[str, str]:
    """Every file's text."""
    values = table(objects.daemon_set())
    templates = {
        "serviceaccount": _text(placed(read("base/serviceaccount.yaml"))),
        "rbac": _rbac(),
        "config": _MADE + rendered([objects.config_map()]) + "\n".join(objects.config_lines()),
        "daemonset": _daemon_sets(),
        "networkpolicy": _if(".Values.networkPolicy.enabled", read("base/networkpolicy.yaml")),
        "admission": _admission(),
        "monitor": _monitor(),
        "alerts": _if(".Values.metrics.rules.enabled", [monitoring.prometheus_rule()]),
        "dashboard": _if(".Values.metrics.dashboard.enabled", [monitoring.dashboard()]),
    }
    crd = MANIFESTS / "crd" / "noderesourcetopologies.yaml"
    return {
        "Chart.yaml": _chart(),
        "values.yaml": values_yaml(values),
        "values.schema.json": schema_json(values),
        "crds/noderesourcetopologies.yaml": crd.read_text(encoding="utf-8"),
        **monitoring.files(),
        **{f"templates/{name}.yaml": text.rstrip("\n") + "\n" for name, text in templates.items()},
    }


def _chart() -> str:
    version = numa_agent.__version__
    return (
        "# Made by `python -m tools.chart`.\n"
        "apiVersion: v2\n"
        "name: numa-agent\n"
        "description: The node agent that makes NUMA placement on Kubernetes true\n"
        "type: application\n"
        f"version: {version}\n"
        f'appVersion: "{version}"\n'
        'kubeVersion: ">=1.30.0-0"\n'
    )


def _text(made: list[Json]) -> str:
    return _MADE + rendered(made)


def _if(condition: str, made: list[Json]) -> str:
    """A file that is empty unless the condition holds."""
    return f"{_MADE}{_part(condition, made)}"


def _part(condition: str, made: list[Json]) -> str:
    return f"{{{{- if {condition} }}}}\n---\n{rendered(placed(made))}{{{{- end }}}}\n"


def _rbac() -> str:
    koordinator = '(eq .Values.scheduler "koordinator")'
    parts = (
        (koordinator, read("overlays/koordinator/rbac.yaml")),
        (koordinator, read("overlays/koordinator/assigner.yaml")),
        (".Values.admission.assigners", [objects.assigners()]),
        (TLS, read("components/metrics-tls/rbac.yaml")),
        (".Values.gputopo.enabled", read("components/gputopo/rbac.yaml")),
        (MARKS, read("components/pod-marks/rbac.yaml")),
        (EVICTIONS, read("components/pod-eviction/rbac.yaml")),
    )
    optional = "".join(_part(condition, made) for condition, made in parts)
    return _text(placed(read("base/rbac.yaml"))) + optional


def _daemon_sets() -> str:
    plain, gpu = objects.daemon_sets()
    return _text([plain]) + _part(GPU, [gpu])


def _monitor() -> str:
    wanted = ".Values.metrics.monitor.enabled"
    plain = _if(f"and {wanted} (not {TLS})", monitoring.pod_monitor())
    return plain + _part(f"and {wanted} {TLS}", monitoring.service_monitor())


def _admission() -> str:
    policy, binding = read("base/assignments.yaml")
    binding["spec"]["validationActions"] = mark(_DENIES)
    own = ".Values.admission.ownNode"
    return (
        _if(own, read("base/own-node.yaml"))
        + _part('(ne .Values.admission.assignments "off")', [policy, binding])
        + _part(f"(and {own} .Values.gputopo.enabled)", read("components/gputopo/own-config.yaml"))
        + _part(f"(and {own} {MARKS})", read("components/pod-marks/own-pods.yaml"))
        + _part(f"(and {own} {EVICTIONS})", read("components/pod-eviction/own-evictions.yaml"))
    )
