"""The writes that lead from what cgroups hold to what they shall hold, in a safe order.

The order is one for all kernels: widen from the root to the leaves, then narrow from the leaves to
the root, and move between sets that aren't within each other through their union. After any number
of the steps each task has at least what it had and keeps, at most what it had or gets, and never
nothing. A cgroup with no bound one inside moves at once: each write of a set that tasks see ends
their own affinities before Linux 6.2.

cgroup v1 refuses a set that its parent lacks (EACCES) and one that lacks a child's (EBUSY); v2
before 6.1 refuses the latter too: https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. It
looks at both files whichever is written, so that a cgroup without memory nodes of its own takes no
CPUs once one inside has some: it then gets those that are in force, which moves no page.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from numa_agent.core.cgroups import File, Group, PodGroups, Version
from numa_agent.core.cpusets.places import Place, places
from numa_agent.core.cpusets.sides import FILES, NONE, Ids, in_force
from numa_agent.core.cpusets.values import PodTarget, Step


def steps(target: PodTarget, groups: PodGroups) -> tuple[Step, ...]:
    """The writes from the observed cgroups to a pod's target; equal sets cost none.

    On v2 the pod's directory comes first, and a container's own only where it needs something
    else. On v1 the pod's directory is never written, nor is any above it on either.
    """
    roots = places(target, groups)
    found: list[Step] = []
    if groups.version is Version.V2 and (spelt := _spell_mems(roots, target, found)):
        roots = places(target, _holding_mems(groups, spelt))
    for file in FILES:
        if all(place.sides[file].want == place.sides[file].held for place in _down(roots)):
            continue
        writes = _Writes(target.pod.full_name, file, found)
        trims = _trims(roots[0], file) if groups.version is Version.V2 else {}
        for place in _up(roots):
            writes.write(place, trims.get(place.path, NONE))
        for place in _down(roots):
            writes.write(place, _via(place, file, trims.get(place.path, NONE)))
        for place in _up(roots):
            writes.write(place, place.sides[file].want)
    return tuple(found)


def _spell_mems(roots: Iterable[Place], target: PodTarget, found: list[Step]) -> Mapping[str, Ids]:
    """Add the writes of memory nodes without which a kernel before 6.1 takes no CPUs, by path."""
    spelt: dict[str, Ids] = {}
    for place in _down(roots):
        cpus, mems = place.sides["cpus"], place.sides["mems"]
        if place.inner_mems and not mems.held and mems.now and cpus.want != cpus.held:
            spelt[place.path] = mems.now | place.inner_mems
            found.append(
                Step(
                    path=place.path,
                    file="mems",
                    before=NONE,
                    after=spelt[place.path],
                    pod=target.pod.full_name,
                    container=place.container,
                    reason="all that are in force: one inside has memory nodes of its own",
                )
            )
    return spelt


def _holding_mems(groups: PodGroups, spelt: Mapping[str, Ids]) -> PodGroups:
    def held(group: Group) -> Group:
        return replace(group, mems=spelt.get(group.path, group.mems))

    return replace(
        groups,
        group=held(groups.group),
        containers=tuple(
            replace(each, group=held(each.group), nested=tuple(map(held, each.nested)))
            for each in groups.containers
        ),
    )


class _Writes:
    """The steps so far for one file, and what they leave configured."""

    def __init__(self, pod: str, file: File, found: list[Step]) -> None:
        self.file = file
        self._pod = pod
        self._found = found
        self._held: dict[str, Ids] = {}

    def held(self, place: Place) -> Ids:
        return self._held.get(place.path, place.sides[self.file].held)

    def write(self, place: Place, after: Ids) -> None:
        """Add a step, unless the file holds the set or nothing is wanted of it."""
        before = self.held(place)
        if not place.sides[self.file].steered or not after or after == before:
            return
        self._held[place.path] = after
        self._found.append(
            Step(
                path=place.path,
                file=self.file,
                before=before,
                after=after,
                pod=self._pod,
                container=place.container,
                reason=place.reason,
            )
        )


def _down(roots: Iterable[Place]) -> Iterator[Place]:
    for place in roots:
        yield place
        yield from _down(place.children)


def _up(roots: Iterable[Place]) -> Iterator[Place]:
    for place in roots:
        yield from _up(place.children)
        yield place


def _via(place: Place, file: File, trim: Ids) -> Ids:
    """What a cgroup holds between widening and narrowing, empty where that is no step."""
    side = place.sides[file]
    if side.want == (trim or side.held) or side.want <= side.now:
        return NONE
    if side.want >= side.now:
        return side.want
    inside = any(child.bound(file) for child in place.children)
    return side.now | side.want if inside else NONE


def _trims(root: Place, file: File) -> dict[str, Ids]:
    """The sets, by path, that must say what is in force before their parents are widened.

    On v2 a set may name more than its parent has, or nothing of it; and a container that inherits
    would get all that its pod passes through.
    """
    found: dict[str, Ids] = {}
    side = root.sides[file]
    # What is above the pod bounds both ends.
    widened = _via(root, file, NONE) & (side.now | side.then) or side.now
    _find_trims(root, file, [widened], found)
    return found


def _find_trims(place: Place, file: File, states: list[Ids], found: dict[str, Ids]) -> None:
    """Look into a place that has these sets in force, in turn, while all is widened."""
    trim = found.get(place.path, NONE)
    parents = (_via(place, file, trim), trim)
    for child in place.children:
        own = _trimmed(child, file, states, parents)
        if own:
            found[child.path] = own
        held = own or child.sides[file].held
        passed = [in_force(held, around) for around in states]
        widened = in_force(_via(child, file, own) or held, states[-1])
        _find_trims(child, file, [*passed, widened], found)


def _trimmed(child: Place, file: File, states: list[Ids], parents: tuple[Ids, ...]) -> Ids:
    """What a child must hold before its parents are widened, empty where it may stay."""
    side = child.sides[file]
    if not side.steered:
        return NONE
    passed = [in_force(side.held, around) for around in states]
    if all(side.now <= state <= side.now | side.then for state in passed):
        legal = not side.held or all(side.held <= parent for parent in parents if parent)
        return NONE if legal else side.now
    if side.held or not side.want:
        return side.now if side.held else NONE
    inside = any(each.bound(file) for each in child.children)
    return side.now | side.want if inside else side.want
