"""Each container of a churn on one clock: what it was held to, and what its pod had been given.

Moments are seconds since the node's boot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet, parse


@dataclass(frozen=True, slots=True)
class Birth:
    """What a container's first process said: when, which pod's, and what it could use."""

    at: float
    pod: str
    cpus: str
    mems: str


@dataclass(frozen=True, slots=True)
class Sample:
    """From this moment on the kernel held a container to `cpus`; None: it is gone."""

    at: float
    pod: str
    leaf: str
    cpus: str | None


@dataclass(frozen=True, slots=True)
class Wish:
    """From this moment on a pod's CPUs were these, and its memory nodes, if any were told."""

    at: float
    cpus: str
    mems: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """Half open: a set that holds from one moment to another."""

    begin: float
    end: float
    cpus: CpuSet


@dataclass(kw_only=True)
class Container:
    """One container that ran: what it was held to, and what its pod had been given."""

    birth: Birth
    held: list[Span]
    wishes: Sequence[Wish] = ()
    writes: Sequence[float] = ()

    @property
    def end(self) -> float:
        """When it was gone."""
        return self.held[-1].end

    def own(self) -> Iterator[Span]:
        """The CPUs that were its pod's, from when to when, while it ran."""
        for number, wish in enumerate(self.wishes):
            following = self.wishes[number + 1 :]
            end = min([self.end, *(each.at for each in following)])
            begin = max(wish.at, self.birth.at)
            if begin < end:
                yield Span(begin, end, parse(wish.cpus))

    def born_inside(self) -> bool | None:
        """Whether its first process could use none but its CPUs; None where it had none."""
        wished = next((each for each in self.own() if each.begin == self.birth.at), None)
        return None if wished is None else parse(self.birth.cpus) <= wished.cpus

    def born_on_its_memory(self) -> bool | None:
        """Whether its first process could use its memory nodes only; None where none was told."""
        told = [each for each in self.wishes if each.at <= self.birth.at]
        if not told or not told[-1].mems:
            return None
        return parse(self.birth.mems) <= parse(told[-1].mems)


def containers(
    births: Iterable[Birth],
    samples: Iterable[Sample],
    wishes: Mapping[str, Sequence[Wish]],
    writes: Mapping[str, Sequence[float]],
    end: float,
) -> list[Container]:
    """Each container that said it was born; `end` stands for the end of those still there.

    Of a pod's cgroups the first is its sandbox's, then its containers' come in the order of their
    births. LookupError where those aren't as many.
    """
    pods: dict[str, dict[str, list[Sample]]] = {}
    for sample in samples:
        pods.setdefault(sample.pod, {}).setdefault(sample.leaf, []).append(sample)
    found: list[Container] = []
    told: dict[str, list[Birth]] = {}
    for birth in sorted(births, key=lambda each: each.at):
        told.setdefault(birth.pod, []).append(birth)
    for pod, born in told.items():
        seen = [*pods.get(pod, {}).values()][1:]
        if len(seen) != len(born):
            raise LookupError(f"pod {pod}: {len(born)} containers, {len(seen)} cgroups were seen")
        for birth, states in zip(born, seen, strict=True):
            held = list(_spans(birth, states, end))
            given, changed = wishes.get(pod, ()), writes.get(pod, ())
            found.append(Container(birth=birth, held=held, wishes=given, writes=changed))
    return found


def _spans(birth: Birth, states: Sequence[Sample], end: float) -> Iterator[Span]:
    """What held a container from its birth on; what it said itself holds until the next look."""
    said = Sample(birth.at, birth.pod, states[0].leaf, birth.cpus)
    after = [said, *(each for each in states if each.at > birth.at)]
    for number, state in enumerate(after):
        until = after[number + 1].at if number + 1 < len(after) else end
        if state.cpus is not None:
            yield Span(state.at, until, parse(state.cpus))
