"""Write the tables of codes into docs/doctor.md, from the checks.

python -m tools.doctor_docs
"""

import re
from collections.abc import Iterator
from pathlib import Path

from numa_agent.core.doctor import CHECKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "doctor.md"
TABLE = re.compile(r"^\| check \| code \|.*?\n\n", re.MULTILINE | re.DOTALL)


def table() -> str:
    """Every rule of every check as a table in Markdown."""
    return "".join(f"{line}\n" for line in _rows())


def page(text: str) -> str:
    """The page with its one table of codes made anew."""
    return TABLE.sub(lambda _: f"{table()}\n", text, count=1)


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _rows() -> Iterator[str]:
    yield "| check | code | weight | what it costs | more |"
    yield "|---|---|---|---|---|"
    for check in CHECKS:
        for rule in check.rules:
            cells = (
                check.name,
                f"`{rule.code}`",
                rule.weight.value,
                rule.costs,
                f"[source]({rule.source})",
            )
            yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write()
