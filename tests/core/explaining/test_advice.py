"""Whatever is wrong, something is advised, and what it names is there."""

import re
from pathlib import Path

from numa_agent.cli import COMMANDS
from numa_agent.core.explaining import advice
from numa_agent.core.verdict import CODES, Alignment

ROOT = Path(__file__).parents[3]
VERDICT_PACKAGE = ROOT / "numa_agent/core/verdict"


def _causes() -> set[str]:
    sources = (each.read_text() for each in VERDICT_PACKAGE.glob("*.py"))
    found = {code for text in sources for code in re.findall(r'Cause\(\s*code="([a-z-]+)"', text)}
    return found | {"as-decided"}


def test_every_cause_has_advice_and_no_advice_is_for_a_cause_that_there_is_not() -> None:
    assert advice.BY_CAUSE.keys() == _causes()


def test_every_bad_reason_has_advice_by_its_code_or_by_its_causes() -> None:
    always_with_a_cause = {
        "tasks-outside",
        "cpus-split",
        "memory-remote",
        "memory-split",
        "device-place-unknown",
    }
    bad = {
        code for code, (_, leads_to) in CODES.items() if leads_to not in {None, Alignment.ALIGNED}
    }
    assert bad - always_with_a_cause <= advice.BY_CODE.keys() | {"cpus-place-unknown"}


def test_commands_and_documents_that_are_named_exist() -> None:
    said = [*advice.BY_CAUSE.values(), *advice.BY_CODE.values()]
    for todo in said:
        if todo.command.startswith("numa-agent "):
            assert todo.command.split()[1] in COMMANDS
        for page in re.findall(r"docs/[a-z-]+\.md", todo.what):
            assert (ROOT / page).exists()


def test_every_reason_and_cause_is_in_the_document() -> None:
    page = (ROOT / "docs/verdicts.md").read_text()
    assert [code for code in CODES if f"| `{code}` |" not in page] == []
    assert [code for code in sorted(_causes()) if f"`{code}`" not in page] == []
