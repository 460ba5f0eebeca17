"""The dashboard: rows of panels on Grafana's grid, and the variables that they use.

https://grafana.com/docs/grafana/latest/dashboards/variables/
"""

import json
import re
from collections.abc import Iterator, Sequence

from tools.monitoring.panels import DATASOURCE, ROWS, Json, Panel
from tools.monitoring.settings import Settings

COLUMNS = 24
SCHEMA_VERSION = 39
"""Of Grafana 11; later ones bring it up to date when they load it."""


def dashboard(settings: Settings) -> Json:
    """The dashboard's JSON."""
    return {
        "uid": "numa-agent",
        "title": "numa-agent",
        "description": "NUMA nodes, pods' CPUs and what the scheduler is told, by numa-agent.",
        "tags": ["numa-agent", "numa", "kubernetes"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(_variables(settings))},
        "annotations": {"list": []},
        "links": [],
        "panels": list(_panels(settings)),
    }


def written(settings: Settings) -> str:
    """The dashboard as the text of its file."""
    return json.dumps(dashboard(settings), indent=1) + "\n"


def _variables(settings: Settings) -> Iterator[Json]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
    }
    query = f"label_values(numa_agent_build_info, {settings.node_label})"
    yield {
        "name": "node",
        "label": "Node",
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "node"},
        "definition": query,
        "includeAll": True,
        "multi": True,
        # Targets without the label as well.
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "refresh": 2,
        "sort": 1,
        "hide": 0,
    }


def _panels(settings: Settings) -> Iterator[Json]:
    number, y = 1, 0
    for title, panels in ROWS.items():
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "gridPos": place,
            "collapsed": False,
            "panels": [],
        }
        number, y = number + 1, y + 1
        for line in _lines(panels):
            x = 0
            for panel in line:
                yield _filled(panel.json(number, x, y), settings)
                number, x = number + 1, x + panel.width
            y += max(panel.height for panel in line)


def _lines(panels: Sequence[Panel]) -> Iterator[list[Panel]]:
    """The panels in lines that fit the grid."""
    line: list[Panel] = []
    for panel in panels:
        if sum(each.width for each in line) + panel.width > COLUMNS:
            yield line
            line = []
        line.append(panel)
    yield line


def _filled(panel: Json, settings: Settings) -> Json:
    """The panel with the settings' values in its queries."""
    label = settings.node_label
    for target in panel["targets"]:
        expr = target["expr"].replace("$SEL", f'{label}=~"$node"')
        target["expr"] = expr.replace("$TARGET", settings.target)
        if label != "node":
            target["expr"] = re.sub(r"(?<![$\w])node\b(?=[,)])", label, target["expr"])
            target["legendFormat"] = target["legendFormat"].replace("{{node}}", f"{{{{{label}}}}}")
    return panel
