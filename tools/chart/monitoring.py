"""What scrapes, alerts on and shows the agents, where the chart is told to make it."""

from tools.chart.objects import MANIFESTS, NAMESPACE, Json, read
from tools.chart.template import block, mark

_FILES = {
    "files/rules.yml": "monitoring/rules.yml",
    "files/dashboard.json": "monitoring/dashboard.json",
}
"""What goes into the chart as it is, since it has braces of its own: by its path there."""


def files() -> dict[str, str]:
    """The text of each by its path in the chart."""
    return {name: (MANIFESTS / path).read_text(encoding="utf-8") for name, path in _FILES.items()}


def pod_monitor() -> list[Json]:
    """What the Prometheus Operator reads where metrics have no TLS."""
    return _monitored(read("components/podmonitor/podmonitor.yaml"))


def service_monitor() -> list[Json]:
    """What it reads where they have."""
    folder = "components/servicemonitor"
    (monitor,) = _monitored(read(f"{folder}/servicemonitor.yaml"))
    secured = monitor["spec"]["endpoints"][0]["tlsConfig"]
    secured["serverName"] = f"numa-agent.{mark(NAMESPACE)}.svc"
    secured["ca"]["secret"]["name"] = mark("{{ .Values.metrics.tls.secretName }}")
    return [*read(f"{folder}/service.yaml"), monitor]


def prometheus_rule() -> Json:
    """The alerts for the Prometheus Operator."""
    (rule,) = read("monitoring/prometheusrule.yaml")
    rule["metadata"]["labels"] |= _labels(".Values.metrics.rules.labels")
    rule["spec"] = {"groups": block('(.Files.Get "files/rules.yml" | fromYaml).groups')}
    return rule


def dashboard() -> Json:
    """The ConfigMap that Grafana's sidecar takes the dashboard from."""
    (component,) = read("monitoring/kustomization.yaml")
    (made,) = component["configMapGenerator"]
    (file,) = made["files"]
    content = '{{ .Files.Get "files/dashboard.json" | toJson }}'
    metadata = {key: made[key] for key in ("name", "namespace")}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata, "labels": made["options"]["labels"]},
        "data": {file.partition("=")[0]: mark(content)},
    }


def _monitored(monitors: list[Json]) -> list[Json]:
    for each in monitors:
        each["metadata"]["labels"] |= _labels(".Values.metrics.monitor.labels")
    return monitors


def _labels(value: str) -> Json:
    """Labels that are the user's."""
    return {
        mark(f"{{{{- with {value} }}}}") + "#1": None,
        mark("{{- toYaml . | nindent 4 }}") + "#2": None,
        mark("{{- end }}") + "#3": None,
    }
