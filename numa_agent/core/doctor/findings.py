"""What a check says: a finding with its weight, evidence and fix, or that it couldn't look."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_MOST_NAMED = 8


class Weight(StrEnum):
    """How much a finding matters, the heaviest first."""

    FAULT = "fault"
    """Something doesn't work until it is mended."""
    WARNING = "warning"
    """It works, and costs locality or gives somebody a wrong picture."""
    NOTE = "note"
    """Right for some workloads and wrong for others: to be known and decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that may be wrong: a stable code, what it costs, and a public page about it."""

    code: str
    weight: Weight
    costs: str
    source: str

    def found(self, subject: str, evidence: str, fix: str) -> "Finding":
        """It is so here: at what, by which facts, and what to do."""
        return Finding(rule=self, subject=subject, evidence=evidence, fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that holds on this node; `fix` is a command or a setting."""

    rule: Rule
    subject: str
    evidence: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Unseen:
    """A fact that a check needs and that isn't known: where it would be read, and why not."""

    source: str
    why: str


Result = Finding | Unseen
Results = Iterator[Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Generic[T_co]):
    """A fact and where it was read; `value` is None where it isn't known, and `why` says why.

    `failed` says that the source is there and can't be used, which is more than not to be there.
    """

    source: str
    value: T_co | None = None
    why: str = ""
    failed: bool = False

    @property
    def unseen(self) -> Unseen:
        """That it couldn't be looked at."""
        return Unseen(source=self.source, why=self.why)


def listed(names: list[str]) -> str:
    """Names in a sentence, at most 8 of them."""
    shown = ", ".join(names[:_MOST_NAMED])
    left = len(names) - _MOST_NAMED
    return shown if left <= 0 else f"{shown} and {left} more"


def counted(number: int, what: str) -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
