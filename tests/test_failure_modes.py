"""docs/failure-modes.md names tests that are there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "failure-modes.md"
ROWS = re.findall(r"^\| (\d+) \|(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_no_mode_is_left_out() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, 33))


@pytest.mark.parametrize(("number", "row"), ROWS, ids=[number for number, _ in ROWS])
def test_a_mode_is_shown_by_tests_that_are_there(number: str, row: str) -> None:
    named = re.findall(r"`([\w/]+\.py): (test_\w+)`", row)
    assert named, f"mode {number} names no test"
    for file, test in named:
        assert f"def {test}(" in (TESTS / file).read_text(encoding="utf-8")
