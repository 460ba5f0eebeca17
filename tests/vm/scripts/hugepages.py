"""Containers with hugepages, beside their CPUs and elsewhere, and what is found: `v2` or `v1`."""

import sys
from pathlib import Path
from typing import Any

from tests.vm.containers import MOUNT
from tests.vm.scripts.planting import BIND
from tests.vm.scripts.verdicts import MIB, Faults, play

POOL = "sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages"
PAGES = 48
"""Hugepages that each node has: as many as two processes of a scene take."""


class Hugepages(Faults):
    """As the faults, in pods that ask for hugepages."""

    _hugepages = "128Mi"

    def hugepages_beside_it(self) -> Any:
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(0,), mib=MIB, huge=True)
            return {**self._found(pod), "account": _account(container.group)}

    def hugepages_on_the_other_node(self) -> Any:
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(1,), mib=MIB, huge=True)
            return {**self._found(pod), "account": _account(container.group)}

    def hugepages_in_both_nodes(self) -> Any:
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(0,), mib=MIB, huge=True)
            self._plant(container, policy=BIND, nodes=(1,), mib=MIB // 2, huge=True)
            return self._found(pod)

    def hugepages_that_were_moved(self) -> Any:
        """v2 moves them when its memory nodes are set, and its account doesn't say so."""
        with self._pod("0-3") as (pod, container):
            pid = self._plant(container, policy=BIND, nodes=(1,), mib=MIB, huge=True)
            (container.group / "cpuset.mems").write_text("0")
            moved = {**self._found(pod), "account": _account(container.group), "maps": _maps(pid)}
            self._plants.uproot()
            freed = {**self._found(pod), "account": _account(container.group)}
            return {**moved, "freed": freed}


def _account(group: Path) -> str:
    file = group / "hugetlb.2MB.numa_stat"
    return file.read_text() if file.exists() else ""


def _maps(pid: int) -> list[str]:
    """The pages by node of a process's hugepages, as its page table has them."""
    lines = Path(f"/proc/{pid}/numa_maps").read_text().splitlines()
    words = [line.split() for line in lines if " huge " in line]
    return [word for line in words for word in line if word[0] == "N" and word[1].isdigit()]


def main() -> None:
    """Give each node hugepages, hand their controller down, and play the scenes."""
    for node in (0, 1):
        Path("/", POOL.format(node=node)).write_text(str(PAGES))
    if sys.argv[1] == "v2":
        (MOUNT / "cgroup.subtree_control").write_text("+hugetlb")
    play(Hugepages)


if __name__ == "__main__":
    main()
