"""Every panel, by the row that it is in."""

from tools.monitoring.panels.agent import AGENT, PUBLISHING
from tools.monitoring.panels.binding import BINDING
from tools.monitoring.panels.machine import FRAGMENTATION, NUMA_MAP, OVERVIEW
from tools.monitoring.panels.panel import DATASOURCE, Json, Panel

__all__ = ["DATASOURCE", "ROWS", "Json", "Panel"]

ROWS = {
    "Overview": OVERVIEW,
    "NUMA map": NUMA_MAP,
    "Fragmentation": FRAGMENTATION,
    "Binding": BINDING,
    "Publishing and sources": PUBLISHING,
    "The agent": AGENT,
}
