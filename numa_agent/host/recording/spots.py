"""What was found on the machine: where it is, and what its path will be in the recording."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from numa_agent.core.recording.contents import Content
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.core.recording.rules import Shown
from numa_agent.host.recording.tree import Parts, Tree

MOST_FOUND = 200_000
"""Things of one machine: 2,000 CPUs have as many files."""


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place in the recording: its name on the machine, and what that is shown as."""

    above: "Spot | None"
    name: str
    shown: Shown | None = None

    def path(self, names: Names) -> str:
        """Its path in the recording."""
        own = self.name if self.shown is None else self.shown(names, self.name)
        return own if self.above is None else f"{self.above.path(names)}/{own}"

    def below(self, name: str, shown: Shown | None = None) -> "Spot":
        """A place in this one."""
        return Spot(self, name, shown)


def spot_of(path: str | Parts, shown: Shown | None = None) -> Spot:
    """The place of a path, each name of which is shown in the same way."""
    first, *rest = [name for name in (path.split("/") if isinstance(path, str) else path) if name]
    spot = Spot(None, first, shown)
    for name in rest:
        spot = spot.below(name, shown)
    return spot


@dataclass(frozen=True, slots=True, eq=False)
class FoundFile:
    """A file with the form of which it is, `real` where it is read."""

    spot: Spot
    real: Parts
    form: Content


@dataclass(frozen=True, slots=True, eq=False)
class FoundFolder:
    """A directory, or what is shown as an empty one."""

    spot: Spot


@dataclass(frozen=True, slots=True, eq=False)
class FoundLink:
    """A link to another place, or to a bare name, of which only that is read."""

    spot: Spot
    to: Spot

    def target(self, names: Names) -> str:
        """Where it points in the recording, from where it is."""
        if self.to.above is None:
            return f"../{self.to.path(names)}"
        return os.path.relpath(self.to.path(names), os.path.dirname(self.spot.path(names)))


Found = FoundFile | FoundFolder | FoundLink


@dataclass(slots=True)
class Finds:
    """All that was found, in the order in which it is to be written, and what was left out."""

    tree: Tree
    found: list[Found] = field(default_factory=list)
    left_out: list[tuple[Spot, str]] = field(default_factory=list)
    full: bool = False

    def add(self, found: Found) -> None:
        """Keep something, unless there is too much."""
        if len(self.found) < MOST_FOUND:
            self.found.append(found)
        elif not self.full:
            self.full = True
            self.leave_out(found.spot, f"over {MOST_FOUND} things: this one and those after it")

    def leave_out(self, spot: Spot, why: str) -> None:
        """Say that something that a pass reads isn't kept."""
        if len(self.left_out) < MOST_FOUND:
            self.left_out.append((spot, why))

    def hear(self, names: Names) -> None:
        """Let the names be collected of all that was found."""
        for spot in self._spots():
            spot.path(names)

    def _spots(self) -> Iterator[Spot]:
        for each in self.found:
            yield each.spot
            if isinstance(each, FoundLink):
                yield each.to
        yield from (spot for spot, _ in self.left_out)
