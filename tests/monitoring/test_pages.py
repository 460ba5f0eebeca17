"""Runbooks and troubleshooting: each word of the agent is there, and each link leads on."""

import re
from pathlib import Path

import pytest

from numa_agent.core.drift import Writer
from numa_agent.core.publishing import Outcome
from numa_agent.core.telling.reasons import EVENT_REASONS, NO_EVENT, REASONS
from numa_agent.core.verdict import Alignment
from tests.recorded import ROOT
from tools.monitoring.alerts import GROUPS

DOCS = ROOT / "docs"
RUNBOOKS = DOCS / "runbooks"
PAGE = DOCS / "troubleshooting.md"
PAGES = [PAGE, *sorted(RUNBOOKS.glob("*.md"))]
ALERTS = sorted(alert.name for alerts in GROUPS.values() for alert in alerts)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| (.+?) \|", re.MULTILINE)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def first_cells(page: str, heading: str) -> str:
    """The first cells of the tables below a heading."""
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return "\n".join(ROW.findall(section))


def anchors(page: str) -> set[str]:
    """The headings as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == sorted([*ALERTS, "README"])


@pytest.mark.parametrize("name", ALERTS)
def test_a_page_says_what_it_means_where_to_look_and_what_to_do(name: str) -> None:
    page = text(RUNBOOKS / f"{name}.md")
    assert page.startswith(f"# {name}\n\n")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == ["Look", "Do"]
    assert len(page.splitlines()) <= 50


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in LINK.findall(text(path)):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.is_file(), link
        assert not anchor or anchor in anchors(text(target)), link


def test_every_alert_is_in_the_tables() -> None:
    cells = first_cells(text(PAGE), "Alerts")
    assert re.findall(r"\[(NumaAgent\w+)\]", cells) == [
        alert.name for alerts in GROUPS.values() for alert in alerts
    ]
    overview = text(RUNBOOKS / "README.md")
    assert [name for name in ALERTS if f"({name}.md)" not in overview] == []


def test_every_reason_of_an_event_is_there_with_its_conditions() -> None:
    section = text(PAGE).split("\n## Events\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    assert rows.keys() == REASONS.keys()
    for code, reason in EVENT_REASONS.items():
        told = rows[reason.name]
        assert f"`{code}`" in told or "first table" in told, code


def test_every_condition_is_there_once() -> None:
    found = re.findall(r"`([\w-]+)`", first_cells(text(PAGE), "Conditions"))
    assert sorted(found) == sorted({*EVENT_REASONS, *NO_EVENT})


def codes(page: str, heading: str) -> set[str]:
    return set(re.findall(r"`([a-z-]+)`", first_cells(page, heading)))


def test_every_code_of_a_refusal_is_in_its_runbook() -> None:
    known = codes(text(DOCS / "binding.md"), "Pods whose assignment isn't followed")
    assert len(known) > 10
    assert codes(text(RUNBOOKS / "NumaAgentAssignmentsRefused.md"), "Do") - {"code"} == known


def test_every_code_of_a_pod_left_alone_is_there() -> None:
    known = codes(text(DOCS / "binding.md"), "Pods that are left alone")
    assert codes(text(PAGE), "Pods") == known


def test_the_words_that_labels_have_are_in_their_runbooks() -> None:
    good = {Outcome.CREATED, Outcome.CHANGED, Outcome.UNCHANGED, Outcome.PENDING}
    failures = {each.value for each in Outcome if each not in {*good, Outcome.STOOD_BACK}}
    for name, words in (
        ("NumaAgentPublishFailing", failures),
        ("NumaAgentCpusetDrift", {each.value for each in Writer}),
        ("NumaAgentContainersMisaligned", {each.value for each in Alignment} - {"aligned"}),
    ):
        page = text(RUNBOOKS / f"{name}.md")
        assert [word for word in words if f"`{word}`" not in page] == [], name
