"""docs/chaos.md names tests that are there, and leaves out none of this folder."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "chaos.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| What happens")
]
NAMED = re.compile(r"`([\w/]+\.py): (test_\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_row_says_what_happens_what_is_done_and_said_and_names_tests_that_are_there(
    row: list[str],
) -> None:
    assert len(row) == 4
    assert all(row)
    named = NAMED.findall(row[3])
    assert named
    for file, test in named:
        assert f"def {test}(" in (TESTS / file).read_text(encoding="utf-8")


def test_every_test_of_this_folder_is_in_a_row() -> None:
    here = Path(__file__).parent
    there = {
        (f"chaos/{file.name}", test)
        for file in here.glob("test_*.py")
        if file != Path(__file__)
        for test in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert there - set(NAMED.findall(PAGE)) == set()
