"""What passes say of pods, what is to be done to one, and what was."""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.marking.marks import NONE, Marks
from numa_agent.core.pods import Pod

Told = Mapping[str, str]
"""Assignments as texts, by the pods' uids."""

Unplaced = Mapping[str, tuple[str, str]]
"""Code and message of each pod that couldn't be placed, by its uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is to be done to one pod, which must still be the one of this uid.

    It is to have these `marks` and no others of ours, and to be evicted where `evicts` says so;
    `before` are those that it had.
    """

    pod: Pod
    marks: Marks
    before: Marks
    evicts: bool = False


@dataclass(slots=True)
class Known:
    """What was done to a pod: the marks last written, when, and what it had before that."""

    written: Marks | None = None
    at: float = 0.0
    before: Marks = NONE
    refused: Marks | None = None
    unplaced_since: float | None = None
    tried: float | None = None
    evicted: bool = False


def alike(one: Marks, other: Marks) -> bool:
    """Whether they say the same, perhaps in other words."""
    return one.assigned == other.assigned and one.code == other.code
