"""What becomes of each pod, decided by a seed alone: both agents see the same lives.

A lane's pods come one after the other, on CPUs that no other lane gives out, so that nothing is
ever assigned twice however long a slow node takes to start and end them.
"""

import random
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["born", "later", "moved", "again", "restart", "drift", "plain"]

KINDS: tuple[Kind, ...] = ("born", "later", "restart", "drift", "again", "moved", "born", "later")
"""What becomes of pods with CPUs of their own, in their shares: see `_life`."""

LANES: tuple[tuple[str, int], ...] = (("2-3", 0), ("4-5", 1), ("6-7", 1))
"""The CPUs that each lane gives out, and their NUMA node; CPUs 0 and 1 stay for everybody."""

PART_SECONDS = (8.0, 20.0)
"""How long a pod runs undisturbed before its act and after it: twice a poll at most."""


@dataclass(frozen=True, slots=True)
class Act:
    """What is done to a running pod: it is assigned `cpus`, or somebody else writes its sets."""

    after: float
    what: Literal["assign", "foreign"]
    cpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One pod from its creation to its deletion.

    `cpus` and `mems` are assigned when it is made, nothing where they are empty. Seconds are
    counted from the moment when it runs, those of an act from the one before. After
    `exits_after` its container ends once by itself, and kubelet starts it again.
    """

    name: str
    kind: Kind
    cpus: str = ""
    mems: str = ""
    acts: tuple[Act, ...] = ()
    exits_after: int | None = None
    lasts: float


def plan(seed: int, pods: int) -> list[list[Life]]:
    """The lanes of a churn: so many pods with CPUs of their own, and a third as many without.

    "again" is two pods under one name. Every kind comes as often as KINDS says, whatever the seed.
    """
    chance = random.Random(seed)
    kinds = [KINDS[number % len(KINDS)] for number in range(pods)]
    chance.shuffle(kinds)
    lanes: list[list[Life]] = [[] for _ in LANES]
    for number, kind in enumerate(kinds):
        place = number % len(LANES)
        lanes[place] += _lives(chance, f"{kind}-{number}", kind, place)
    plain = [
        Life(name=f"plain-{number}", kind="plain", lasts=_part(chance) + _part(chance))
        for number in range(pods // len(LANES))
    ]
    return [*lanes, plain]


def _lives(chance: random.Random, name: str, kind: Kind, place: int) -> list[Life]:
    """The pods of one name."""
    every, node = LANES[place]
    one, other = chance.sample([every, *every.split("-")], 2)
    first, last = _part(chance), _part(chance)
    both = round(first + last, 1)
    bare = Life(name=name, kind=kind, lasts=last)
    given = replace(bare, cpus=one, mems=str(node))
    if kind == "again":
        return [replace(given, lasts=first), replace(given, cpus=other)]
    if kind == "later":
        return [replace(bare, acts=(Act(first, "assign", one),))]
    if kind == "moved":
        return [replace(given, acts=(Act(first, "assign", other),))]
    if kind == "drift":
        return [replace(given, acts=(Act(first, "foreign"),))]
    if kind == "restart":
        return [replace(given, exits_after=round(first), lasts=both)]
    return [replace(given, lasts=both)]


def _part(chance: random.Random) -> float:
    return round(chance.uniform(*PART_SECONDS), 1)
