"""Write the settings into docs/configuration.md and docs/config.schema.json, from their table.

python -m tools.config_docs
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from numa_agent.config.kinds import Kind, Setting
from numa_agent.config.schema import json_schema
from numa_agent.config.settings import SETTINGS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "configuration.md"
SCHEMA = DOCS / "config.schema.json"
TABLE = re.compile(r"^\| key \|.*?\n\n", re.MULTILINE | re.DOTALL)


def table() -> str:
    """The settings as a table in Markdown."""
    return "".join(f"{line}\n" for line in _rows())


def schema() -> str:
    """The text of the schema's file."""
    return json.dumps(json_schema(), indent=2) + "\n"


def page(text: str) -> str:
    """The page with its one table of settings made anew."""
    return TABLE.sub(lambda _: f"{table()}\n", text, count=1)


def write() -> None:
    """Write both files."""
    SCHEMA.write_text(schema(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _rows() -> Iterator[str]:
    yield "| key | values | default | meaning | change |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS:
        default = "" if setting.default is None else f"`{setting.default}`"
        change = "live" if setting.live else "restart"
        cells = (f"`{setting.key}`", _values(setting), default, setting.meaning, change)
        yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _values(setting: Setting) -> str:
    words = [f"`{word}`" for word in setting.words]
    if setting.kind is not Kind.WORD:
        example = f", such as `{setting.example}`" if setting.example else ""
        words.append(f"{setting.kind.value}{example}")
    return ", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else words[0]


if __name__ == "__main__":
    write()
