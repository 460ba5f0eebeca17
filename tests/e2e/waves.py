"""Pods that come and go in waves: some are decided for, some ask for CPUs, and some do neither."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from tests.e2e.pods import Json, assigned, container, pod
from tests.e2e.test_assigner import ASKS
from tests.e2e.watching import Change

DECIDED = ("2-3", "6-7")
"""What those get that are decided for, each on a NUMA node of its own."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Six pods, of which `asking` come once the others have a node: what was decided is first."""

    number: int

    @property
    def decided(self) -> list[Json]:
        return [
            pod(f"decided-{self.number}-{node}", annotations=assigned(cpus, mems=str(node)))
            for node, cpus in enumerate(DECIDED)
        ]

    @property
    def sharing(self) -> list[Json]:
        small = container(cpu="100m", memory="32Mi")
        return [pod(f"shares-{self.number}-{index}", small) for index in range(2)]

    @property
    def asking(self) -> list[Json]:
        one = container(cpu="1", guaranteed=True)
        return [pod(f"asks-{self.number}-{index}", one, annotations=ASKS) for index in range(2)]

    @property
    def names(self) -> list[str]:
        pods = (*self.decided, *self.sharing, *self.asking)
        return [each["metadata"]["name"] for each in pods]


def moved(changes: Iterable[Change], own: Mapping[str, CpuSet | int]) -> list[str]:
    """What went wrong from moment to moment with pods that have CPUs of their own.

    `own` has their CPUs by uid, or how many they ask for. Until a pod has them it may run on
    shared ones; from then on nothing else is in force in its cgroup, and nobody else has them.
    """
    held: dict[str, CpuSet] = {}
    found = []
    for change in changes:
        uid, is_pod = _pod_of(change.group)
        if not is_pod or uid not in own:
            continue
        if change.cpus is None:
            held.pop(uid, None)
            continue
        cpus, wanted = cpulist.parse(change.cpus), own[uid]
        if uid in held and cpus != held[uid]:
            found.append(f"{change}: it had {cpulist.render(held[uid])}")
        if cpus == wanted or len(cpus) == wanted:
            others = [other for other, theirs in held.items() if other != uid and theirs & cpus]
            found += [f"{change}: {other} has some of them" for other in others]
            held[uid] = cpus
    return found


def _pod_of(group: str) -> tuple[str, bool]:
    """The uid of the pod that a cgroup below kubepods belongs to, and whether it is its own."""
    parts = group.split("/")
    [place] = [index for index, part in enumerate(parts) if part.startswith("pod")]
    return parts[place][3:], place == len(parts) - 1
