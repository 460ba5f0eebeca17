"""One file of one cgroup: what it holds and what it shall hold, configured and in force.

On v2 a cgroup without a set of its own has its parent's in force, and so needs no write. What is
nested in a container follows it where it had all that the container had; otherwise it keeps its
part of what the container gets, if there is one.
"""

from dataclasses import dataclass

from numa_agent.core.cgroups import File, Group, MemSet, PodGroups, Version
from numa_agent.core.cpulist import CpuSet

Ids = frozenset[int]
"""CPUs or NUMA nodes, as the file has it."""

NONE: Ids = frozenset()

FILES: tuple[File, ...] = ("cpus", "mems")
"""The files in the order of their writing: tasks go to their node before their pages do."""

Found = tuple[CpuSet | MemSet | None, CpuSet | MemSet | None]
"""What a file holds and what is in force, None where it can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One file of a cgroup: `held` and `want` as configured, `now` and `then` as in force.

    Nothing is written where it isn't `steered`: nothing is wanted, or the file can't be read.
    """

    held: Ids
    want: Ids
    now: Ids
    then: Ids
    steered: bool = True


def in_force(held: Ids, around: Ids) -> Ids:
    """What v2 puts in force of a configured set below a parent that has `around` in force.

    A set that has nothing in common with its parent's counts for nothing.
    https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset
    """
    return held & around or around


def found_in(group: Group, file: File) -> Found:
    """What a file of a cgroup holds, and what is in force."""
    if file == "cpus":
        return group.cpus, group.effective_cpus
    return group.mems, group.effective_mems


def around(groups: PodGroups, file: File) -> Ids | None:
    """What bounds everything that we write for a pod, None where it can't be read.

    That is in force above the pod on v2; on v1 it is what the pod's directory holds, or those
    above as long as the runtime hasn't filled that one.
    """
    chain = groups.above if groups.version is Version.V2 else (*groups.above, groups.group)
    for group in reversed(chain):
        held, effective = found_in(group, file)
        outer = effective or held
        if outer:
            return outer
    return None


def still(held: Ids, now: Ids) -> Side:
    """A file that nothing is wanted of."""
    return Side(held=held, want=held, now=now, then=now, steered=False)


def pod_side(groups: PodGroups, file: File, asked: Ids | None, *, alike: bool) -> Side:
    """A pod's directory on v2; `alike` says that no container needs something else.

    What has nothing in common with the parent's set isn't wanted: the kernel would take it, and
    put all of the parent's in force.
    """
    held, effective = found_in(groups.group, file)
    outer = around(groups, file)
    now = effective or (in_force(held or NONE, outer) if outer else held) or NONE
    then = asked if asked is None or outer is None else asked & outer
    if held is None or not now or not asked or not then:
        return still(held or NONE, now)
    # Before Linux 6.1 a parent without a set can't be written once a child has one.
    inherits = not held and now == then and alike
    return Side(held=held, want=NONE if inherits else asked, now=now, then=then)


def v1_side(found: Found, above: Side, asked: Ids | None, *, nested: bool, touched: bool) -> Side:
    """A container's directory on v1, or one nested in it: never more than is above it."""
    held = found[0]
    if not held and (held is None or nested):
        # A nested one that is empty has no task: its maker fills it before it puts one in.
        return still(NONE, NONE)
    if nested:
        return _followed(held, held, above, touched=touched)
    want = (asked or NONE) & above.held
    return Side(held=held, want=want, now=held, then=want) if want else still(held, held)


def v2_side(found: Found, above: Side, asked: Ids | None, *, nested: bool, touched: bool) -> Side:
    """A container's directory on v2, or one nested in it; asked for where the pod's won't do."""
    held, effective = found
    if held is None or not above.now:
        return still(NONE, above.now)
    now = effective or in_force(held, above.now)
    if asked and asked & above.then:
        want = asked & above.want if above.want else asked
        then = want & above.then
        inherits = not held and then == above.then
        return Side(held=held, want=NONE if inherits else want, now=now, then=then)
    if nested or not above.steered:
        return _followed(held, now, above, touched=touched)
    return _all_of(held, now, above, touched=touched)


def _followed(held: Ids, now: Ids, above: Side, *, touched: bool) -> Side:
    """A cgroup whose parent may move."""
    if not above.steered:
        return still(held, now)
    if not held or held >= above.now:
        return _all_of(held, now, above, touched=touched)
    part = held & above.then or above.then
    return Side(held=held, want=_kept(held, part, part, above, touched), now=now, then=part)


def _all_of(held: Ids, now: Ids, above: Side, *, touched: bool) -> Side:
    """A cgroup that shall have all that its parent gets."""
    want = _kept(held, above.then, above.want or above.then, above, touched)
    return Side(held=held, want=want, now=now, then=above.then)


def _kept(held: Ids, then: Ids, want: Ids, above: Side, touched: bool) -> Ids:
    """The configured set where it has the right effect already, else the wanted one.

    Before Linux 6.1 a parent can't be written while it lacks what a child has configured.
    """
    fits = not touched or not above.want or held <= above.want
    right = not held or (held & above.then == then and fits)
    return held if right else want
