"""Every alert, by what it is about."""

from tools.monitoring.alerts.agent import AGENT
from tools.monitoring.alerts.alert import Alert
from tools.monitoring.alerts.binding import BINDING
from tools.monitoring.alerts.machine import MACHINE
from tools.monitoring.alerts.telling import TELLING

__all__ = ["GROUPS", "Alert"]

GROUPS = {
    "numa-agent": AGENT,
    "numa-agent-publishing": TELLING,
    "numa-agent-binding": BINDING,
    "numa-agent-machine": MACHINE,
}
"""The alerts by the name of their group in the rule file."""
