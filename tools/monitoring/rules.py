"""The alerts as a rule file of Prometheus, and as a PrometheusRule of its operator.

https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/
https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule
"""

import yaml

from tools.monitoring.alerts import GROUPS, Alert
from tools.monitoring.settings import Settings

Json = dict[str, object]

HEADER = "# Made by `python -m tools.monitoring`: change it there.\n"


class _Text(yaml.SafeDumper):
    """Writes text of several lines as such."""


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Text.add_representer(str, _represented)


def written(value: Json) -> str:
    """The object as YAML, with where it comes from."""
    text = yaml.dump(value, Dumper=_Text, sort_keys=False, width=95, allow_unicode=True)
    return f"{HEADER}{text}"


def groups(settings: Settings) -> Json:
    """The content of a rule file."""
    return {
        "groups": [
            {"name": name, "rules": [_rule(each, settings) for each in alerts]}
            for name, alerts in GROUPS.items()
        ]
    }


def prometheus_rule(settings: Settings) -> Json:
    """The same for the Prometheus Operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "numa-agent",
            "namespace": "numa-agent",
            "labels": {"app.kubernetes.io/name": "numa-agent"},
        },
        "spec": groups(settings),
    }


def _rule(alert: Alert, settings: Settings) -> Json:
    rule: Json = {"alert": alert.name, "expr": _filled(alert.expr, settings)}
    if alert.hold != "0m":
        rule["for"] = alert.hold
    return {
        **rule,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": _filled(alert.summary, settings),
            "description": _filled(alert.description, settings),
            "runbook_url": f"{settings.runbooks}/{alert.name}.md",
        },
    }


def _filled(text: str, settings: Settings) -> str:
    """The text with the settings' values in it."""
    # Where the targets don't have the node's label, the address is better than nothing.
    node = f"{{{{ or $labels.{settings.node_label} $labels.instance }}}}"
    for name, value in (
        ("$TARGET", settings.target),
        ("$OVERDUE", str(settings.overdue_seconds)),
        ("$SLOW", f"{settings.slow_pass_seconds:g}"),
        ("$MEMORY", str(settings.memory_limit)),
        ("$NODE", node),
    ):
        text = text.replace(name, value)
    return text
