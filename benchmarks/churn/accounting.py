"""From what the sampler saw to figures: when each container was inside its CPUs, and when not.

Pure, and on one clock: seconds since the node's boot.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.churn.timeline import Container, Span

Since = Literal["start", "assignment", "foreign write"]


@dataclass(frozen=True, slots=True)
class Binding:
    """How long a container was outside its CPUs after something happened.

    `bound` is False where it was so until its end, or until its CPUs became others.
    """

    since: Since
    seconds: float
    bound: bool


@dataclass(kw_only=True)
class Figures:
    """What is told of one churn. Seconds are of containers: two at once count twice."""

    containers: int = 0
    born: int = 0
    born_inside: int = 0
    born_with_mems: int = 0
    born_on_mems: int = 0
    bindings: list[Binding] = field(default_factory=list)
    own_seconds: float = 0.0
    outside_seconds: float = 0.0
    shared_seconds: float = 0.0
    intruding_seconds: float = 0.0


def account(found: Sequence[Container]) -> Figures:
    """The figures of one churn."""
    figures = Figures(containers=len(found))
    for each in found:
        inside, mems = each.born_inside(), each.born_on_its_memory()
        figures.born += inside is not None
        figures.born_inside += inside is True
        figures.born_with_mems += mems is not None
        figures.born_on_mems += mems is True
        for own in each.own():
            figures.own_seconds += own.end - own.begin
            figures.outside_seconds += sum(out.end - out.begin for out in _outside(each, own))
            figures.bindings += _bindings(each, own)
    _intrusions(found, figures)
    return figures


def _outside(container: Container, own: Span) -> Iterator[Span]:
    """When it could use other CPUs, while these were its own."""
    for held in container.held:
        begin, end = max(held.begin, own.begin), min(held.end, own.end)
        if begin < end and not held.cpus <= own.cpus:
            yield Span(begin, end, held.cpus)


def _bindings(container: Container, own: Span) -> Iterator[Binding]:
    """How long each thing that can take it outside did so; 0 s where it didn't."""
    outside = list(_outside(container, own))
    moments: list[tuple[float, Since]] = [(each, "foreign write") for each in container.writes]
    moments.append((own.begin, "start" if own.begin == container.birth.at else "assignment"))
    for moment, since in sorted(moments):
        if own.begin <= moment < own.end:
            later = [each for each, _ in moments if each > moment]
            yield _binding(outside, moment, min([own.end, *later]), own.end, since)


def _binding(
    outside: Sequence[Span], moment: float, until: float, end: float, since: Since
) -> Binding:
    """The spell outside that the moment is in, as long as it lasts without a break.

    What a foreign write does is seen a little later; nothing else begins a spell.
    """
    latest = until if since == "foreign write" else math.nextafter(moment, math.inf)
    spell = [each for each in outside if moment < each.end and each.begin < latest]
    if not spell:
        return Binding(since, 0.0, bound=True)
    last = spell[0].end
    for each in outside:
        if each.begin == last:
            last = each.end
    return Binding(since, last - moment, bound=last < end)


def _intrusions(found: Sequence[Container], figures: Figures) -> None:
    """When containers without CPUs of their own could use those of others."""
    spans = [own for each in found for own in each.own()]
    for each in found:
        owned = [(own.begin, own.end) for own in each.own()]
        for held in each.held:
            for begin, end in _without((held.begin, held.end), owned):
                figures.shared_seconds += end - begin
                taken = [
                    (max(begin, own.begin), min(end, own.end))
                    for own in spans
                    if own.cpus & held.cpus and own.begin < end and begin < own.end
                ]
                figures.intruding_seconds += (end - begin) - sum(
                    right - left for left, right in _without((begin, end), taken)
                )


def _without(
    whole: tuple[float, float], parts: Iterable[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """What is left of an interval without some others."""
    begin, end = whole
    for left, right in sorted(parts):
        if begin < min(left, end):
            yield begin, min(left, end)
        begin = max(begin, right)
    if begin < end:
        yield begin, end


def at(values: Sequence[float], percent: float) -> float:
    """The value that so many percent of the values don't exceed: nearest rank, 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else 0.0
