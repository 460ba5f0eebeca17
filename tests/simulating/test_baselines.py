"""The other ways to choose CPUs: what they are documented to do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.simulating import KubeletStatic, first_fit
from numa_agent.core.topology import CpuGroup, Topology
from tests.assigner.scene import SIXTEEN, cpus
from tests.machine_tree import machine, numa_node

PACKAGES = replace(
    SIXTEEN,
    packages=(
        CpuGroup(id=0, cpus=cpus("0-3,8-11")),
        CpuGroup(id=1, cpus=cpus("4-7,12-15")),
    ),
)
"""Two packages, each a NUMA node of four cores with two threads: 0 and 8, 1 and 9 and so on."""

FOUR_NODES = replace(
    machine(*(numa_node(n, f"{2 * n}-{2 * n + 1},{2 * n + 8}-{2 * n + 9}") for n in range(4))),
    cores=SIXTEEN.cores,
    packages=PACKAGES.packages,
)
"""The same with two NUMA nodes in each package."""


@pytest.mark.parametrize(
    ("topology", "free", "number", "gets"),
    [
        (PACKAGES, "0-15", 8, "0-3,8-11"),
        (PACKAGES, "1-15", 8, "4-7,12-15"),
        (PACKAGES, "1-15", 10, "1,4-7,9,12-15"),
        (PACKAGES, "0-15", 4, "0-1,8-9"),
        # Where the fewest are free, so that the other package stays whole.
        (PACKAGES, "0-4,6-15", 4, "4,6,12,14"),
        # An odd one fills a core that is in use.
        (PACKAGES, "1-7,9-15", 3, "1-2,9"),
        (PACKAGES, "0-7,9-15", 3, "0-1,9"),
        # On the package that it has cores of, though elsewhere is less free.
        (PACKAGES, "0,4-6,12-13", 3, "4,6,12"),
        (PACKAGES, "0-15", 1, "0"),
        (PACKAGES, "0-15", 16, "0-15"),
        (PACKAGES, "0-3,12-15", 3, "0-2"),
        (FOUR_NODES, "0-15", 8, "0-3,8-11"),
        (FOUR_NODES, "0-15", 4, "0-1,8-9"),
        (FOUR_NODES, "1-15", 4, "2-3,10-11"),
        (FOUR_NODES, "1-15", 2, "1,9"),
        (FOUR_NODES, "2-15", 12, "2-7,10-15"),
    ],
)
def test_kubelet_takes_whole_groups_then_whole_cores_then_threads(
    topology: Topology, free: str, number: int, gets: str
) -> None:
    assert KubeletStatic(topology)(cpus(free), number) == cpus(gets)


@given(st.sets(st.integers(0, 15)), st.integers(1, 17), st.sampled_from([PACKAGES, FOUR_NODES]))
def test_whoever_chooses_gives_so_many_free_cpus_or_none(
    free: set[int], number: int, topology: Topology
) -> None:
    for choose in (first_fit, KubeletStatic(topology)):
        found = choose(frozenset(free), number)
        assert (found is None) == (number > len(free))
        assert found is None or (len(found) == number and found <= free)


@given(st.sets(st.integers(0, 15)), st.integers(1, 16))
def test_no_core_is_broken_that_needn_t_be(free: set[int], number: int) -> None:
    found = KubeletStatic(PACKAGES)(frozenset(free), number) or frozenset()
    whole = [core for core in SIXTEEN.cores or () if core <= free]
    broken = [core for core in whole if core & found and not core <= found]
    assert len(broken) <= 1
    assert sum(core <= found for core in whole) >= min(len(whole), number // 2) * bool(found) - 1


def test_a_machine_that_tells_of_no_cores_or_packages_is_one_of_single_cpus() -> None:
    bare = replace(machine(numa_node(0, "0-3")), cores=None, packages=None)
    assert KubeletStatic(bare)(cpus("1-3"), 2) == cpus("1-2")
    assert first_fit(cpus("1-3"), 2) == cpus("1-2")
