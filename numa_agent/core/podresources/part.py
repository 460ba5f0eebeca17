"""A part of an answer in protobuf's JSON mapping, walked without trusting its shape.

Both spellings of a field (`cpuIds`, `cpu_ids`) and of a 64-bit number (text, number) are taken:
https://protobuf.dev/programming-guides/json/
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from numa_agent.core.documents import Document, items
from numa_agent.core.documents import text as as_text

MOST_PROBLEMS = 100
"""How many problems are told: an answer of 16 MiB may hold a million."""

_MOST_BITS = 128
_WHOLE = re.compile(r"-?\d{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an answer: how a person would name it, its document, and where problems go."""

    name: str
    document: Document
    problems: list[str]

    def get(self, name: str) -> object:
        """A field by its name in the API, `cpu_ids`; null is absent in protobuf's mapping."""
        value = self.document.get(_camel(name))
        return self.document.get(name) if value is None else value

    def entries(self, name: str) -> Sequence[object]:
        """A list, empty where it is absent or something else."""
        value = self.get(name)
        if value is not None and not isinstance(value, list | tuple):
            self.refuse(f"its {name} {shown(value)} aren't a list")
        return items(value)

    def parts(self, name: str, label: str) -> Iterator["Part"]:
        """The objects of a list, each named by its label and place from 1."""
        for place, entry in enumerate(self.entries(name), start=1):
            if isinstance(entry, dict):
                called = f"{label} {place} of {self.name}"
                yield Part(name=called, document=entry, problems=self.problems)
            else:
                self.refuse(f"its {label} {place} is {shown(entry)}, not an object")

    def text(self, name: str) -> str | None:
        """A text that isn't empty; None, with a problem, for another value or none."""
        value = as_text(self.get(name))
        if value is None:
            self.refuse(f"its {name} is {shown(self.get(name))}, not a name")
        return value

    def refuse(self, why: str) -> None:
        """Say what can't be used, unless there is too much of it."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{self.name}: {why}")
        elif len(self.problems) == MOST_PROBLEMS:
            self.problems.append("kubelet's answer has more problems than are told here")


@cache
def _camel(name: str) -> str:
    """A field's name as JSON spells it: there are few, and each is asked for often."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def whole(value: object) -> int | None:
    """The integer that a JSON number or text is; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and _WHOLE.fullmatch(value):
        return int(value)
    return None


def several(texts: Sequence[str]) -> str:
    """The first texts, and how many more there are."""
    more = len(texts) - 3
    return ", ".join(texts[:3]) + (f" and {more} more" if more > 0 else "")


def shown(value: object) -> str:
    """A value for a message: its start, or its type where that could be long."""
    if value is None:
        return "absent"
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number of many digits"
    if isinstance(value, int | float):
        return repr(value)
    return "an object" if isinstance(value, dict) else "a list"
