"""The page of the doctor lists every code as the checks have it, and every check's facts."""

import re

from numa_agent.core.doctor import CHECKS
from tools import doctor_docs

PAGE = doctor_docs.PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_codes_as_they_are() -> None:
    assert doctor_docs.page(PAGE) == PAGE
    assert doctor_docs.table() in PAGE


def test_the_page_says_of_every_check_what_it_reads() -> None:
    section = PAGE.partition("## What each check reads")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| ([a-z-]+) \|", section, re.MULTILINE)
    assert listed == ["check", *(check.name for check in CHECKS)]
