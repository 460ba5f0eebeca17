"""Panels of a Grafana dashboard, each in one call, in the JSON of its dashboards.

https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/

A panel's place on the grid of 24 columns is given by the page that it comes to be on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query; `$SEL` in it stands for the selector of the chosen nodes.

    `legend` may use labels as `{{node}}`. `instant` asks for now alone.
    """

    expr: str
    legend: str = ""
    instant: bool = False
    format: str = "time_series"

    def target(self, number: int) -> Json:
        """The query as a panel has it."""
        return {
            "refId": chr(ord("A") + number),
            "datasource": DATASOURCE,
            "expr": self.expr,
            "legendFormat": self.legend or "__auto",
            "format": self.format,
            "instant": self.instant,
            "range": not self.instant,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel: its title, what it asks for, and how it is drawn."""

    title: str
    about: str
    kind: str
    queries: Sequence[Query]
    width: int = 8
    height: int = 8
    unit: str = "short"
    steps: Sequence[Json] = ({"color": "green", "value": None},)
    custom: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    transformations: Sequence[Json] = ()
    least: float | None = None

    def json(self, number: int, x: int, y: int) -> Json:
        """The panel with its id, at a place."""
        defaults: Json = {
            "unit": self.unit,
            "thresholds": {"mode": "absolute", "steps": list(self.steps)},
            "color": {"mode": "thresholds" if self.kind == "stat" else "palette-classic"},
            "custom": dict(self.custom),
        }
        if self.least is not None:
            defaults["min"] = self.least
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [query.target(each) for each, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": dict(self.options),
            "transformations": list(self.transformations),
        }


def worse_from(value: float, color: str = "red") -> Sequence[Json]:
    """Green, and another colour from a value on."""
    return ({"color": "green", "value": None}, {"color": color, "value": value})


def stat(
    title: str, about: str, expr: str, *, unit: str = "short", steps: Sequence[Json] | None = None
) -> Panel:
    """One number of now."""
    return Panel(
        title=title,
        about=about,
        kind="stat",
        queries=[Query(expr=expr, instant=True)],
        width=4,
        height=4,
        unit=unit,
        steps=steps or ({"color": "green", "value": None},),
        options={
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "none",
            "textMode": "value",
        },
    )


def graph(
    title: str,
    about: str,
    queries: Mapping[str, str],
    *,
    unit: str = "short",
    stacked: bool = False,
    width: int = 8,
) -> Panel:
    """Lines over time; the queries by their legend."""
    custom: Json = {"drawStyle": "line", "lineWidth": 1, "showPoints": "never"}
    if stacked:
        custom |= {"fillOpacity": 40, "stacking": {"mode": "normal", "group": "A"}}
    return Panel(
        title=title,
        about=about,
        kind="timeseries",
        queries=[Query(expr=expr, legend=legend) for legend, expr in queries.items()],
        unit=unit,
        width=width,
        custom=custom,
        least=0,
        options={
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    )


def table(
    title: str,
    about: str,
    columns: Mapping[str, str],
    *,
    unit: str = "short",
    width: int = 12,
    drop: Sequence[str] = ("Time", "__name__", "job", "instance"),
) -> Panel:
    """One row for each set of labels; the queries by the name of their column."""
    queries = [Query(expr=expr, instant=True, format="table") for expr in columns.values()]
    names = {f"Value #{chr(ord('A') + n)}": name for n, name in enumerate(columns)}
    if len(columns) == 1:
        names["Value"] = next(iter(columns))
    hidden = dict.fromkeys(drop, True)
    return Panel(
        title=title,
        about=about,
        kind="table",
        queries=queries,
        unit=unit,
        width=width,
        custom={"align": "auto", "filterable": True},
        options={"showHeader": True, "cellHeight": "sm"},
        transformations=(
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": hidden, "renameByName": names}},
        ),
    )


def heatmap(title: str, about: str, expr: str) -> Panel:
    """The buckets of a histogram over time; the query sums them by `le`."""
    return Panel(
        title=title,
        about=about,
        kind="heatmap",
        queries=[Query(expr=expr, legend="{{le}}", format="heatmap")],
        width=8,
        unit="s",
        custom={"scaleDistribution": {"type": "linear"}},
        options={
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
            "yAxis": {"axisPlacement": "left", "unit": "s"},
            "tooltip": {"mode": "single", "yHistogram": True},
            "legend": {"show": True},
        },
    )
