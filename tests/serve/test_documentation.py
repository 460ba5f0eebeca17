"""docs/metrics.md says what is served, no more and no less."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Report
from numa_agent.serve.board import Board
from numa_agent.serve.metrics import MOST_SERIES, Metrics
from numa_agent.serve.pages import PATHS
from numa_agent.serve.serving import families_of
from tests.serve.reports import FULL, board

ROW = re.compile(r"\| `((?:numa_agent|process)_\w+)` \| (\w+) \|(.*?)\| (.+) \| (.+) \|")


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def families(report: Report) -> list[Metric]:
    told: Board = board()
    told.passed(report)
    told.tried({"kind": "Device"}, Published(outcome=Outcome.CREATED, detail=""))
    more = lambda: families_of({("/metrics", "200"): 1}, tls_failing=False)  # noqa: E731
    return list(Metrics(told, more=more, per_container=True).collect())


def name_of(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def labels_of(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels} - {"le"}


def test_every_metric_is_documented_with_its_type_and_labels(page: str) -> None:
    documented = {
        row[1]: (row[2], set(re.findall(r"`(\w+)`", row[3]))) for row in ROW.finditer(page)
    }
    served = {name_of(each): (each.type, labels_of(each)) for each in families(FULL)}
    assert served == documented


def test_every_path_is_documented(page: str) -> None:
    assert [path for path in PATHS if f"| `{path}` |" not in page] == []


def test_the_bounds_are_those_of_the_code(page: str) -> None:
    assert f"{MOST_SERIES:,} series" in page
    fixed = {row[1]: int(row[5]) for row in ROW.finditer(page) if row[5].isdigit()}
    for family in families(replace(FULL, conditions=FULL.conditions * 3)):
        if name_of(family) in fixed:
            assert len(family.samples) <= fixed[name_of(family)], family.name


def test_a_certificate_has_a_metric_only_where_there_is_one() -> None:
    assert [each.name for each in families_of({}, tls_failing=None)] == [
        "numa_agent_http_requests"
    ]
