"""One alert, as the tables of this package write it down."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert of a rule file.

    `expr` and the texts are templates: `$TARGET`, `$OVERDUE`, `$SLOW`, `$MEMORY` stand for the
    settings', `$NODE` for the Node's name. The texts may use what Prometheus' templates know:
    https://prometheus.io/docs/prometheus/latest/configuration/template_reference/.
    """

    name: str
    expr: str
    hold: str
    """How long it must be so: a duration of Prometheus."""
    summary: str
    description: str
    severity: str = "warning"
    """critical: somebody looks now; warning: within the day; info: when they look at the node."""
