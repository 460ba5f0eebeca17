"""What is measured on a machine, within what the process may have."""

from dataclasses import replace

import pytest

from numa_agent.core.measuring import plan_matrix
from numa_agent.core.measuring.planning import only_node
from tests.core.measuring.machines import GIB, MIB, allowed, node, two, with_expander
from tests.machine_tree import cpus, machine


def test_each_core_reads_with_one_cpu_and_the_last_core_is_the_probe() -> None:
    plan = plan_matrix(two(), allowed(two()))
    assert [(each.node, each.cpus, each.probe) for each in plan.readers] == [
        (0, (0, 1, 2, 3), 3),
        (1, (4, 5, 6, 7), 7),
    ]
    assert plan.left_out == ()


def test_without_known_cores_each_cpu_reads() -> None:
    plan = plan_matrix(two(cores=False), allowed(two()))
    assert plan.readers[0].cpus == (0, 1, 2, 3, 8, 9, 10, 11)


def test_a_buffer_is_a_chain_and_twice_the_caches() -> None:
    big = two()
    caches = tuple(replace(each, size_bytes=96 * MIB) for each in big.caches)
    for topology, stream in ((two(), 64 * MIB), (replace(big, caches=caches), 192 * MIB)):
        plan = plan_matrix(topology, allowed(topology))
        assert [(t.node, t.chain_bytes, t.stream_bytes) for t in plan.targets] == [
            (0, 64 * MIB, stream),
            (1, 64 * MIB, stream),
        ]
        assert not plan.cached


def test_only_caches_of_the_last_level_count_and_each_once() -> None:
    small = tuple(replace(each, level=2, size_bytes=GIB) for each in two().caches)
    topology = replace(two(), caches=(*small, *two().caches))
    reader = plan_matrix(topology, allowed(topology)).readers[0]
    assert (reader.cache_bytes, reader.node_cache_bytes) == (32 * MIB, 32 * MIB)


def test_no_more_than_a_quarter_of_what_is_free_and_half_of_the_limit_is_taken() -> None:
    topology = two()
    sizes = {
        each.size
        for limits in (
            allowed(topology, free=256 * MIB),
            allowed(topology, headroom=128 * MIB),
            allowed(topology, headroom=128 * MIB + 7, free=256 * MIB + 5),
        )
        for each in plan_matrix(topology, limits).targets
    }
    assert sizes == {64 * MIB}


def test_too_little_memory_for_the_caches_is_said() -> None:
    topology = two()
    plan = plan_matrix(topology, allowed(topology, free=200 * MIB))
    assert plan.cached
    (chain, *_) = {each.chain_bytes for each in plan.targets}
    assert chain == 8 * MIB


@pytest.mark.parametrize(
    ("free", "headroom", "said"),
    [
        (127 * MIB, None, "127 MiB of it are free"),
        (GIB, 63 * MIB, "memory limit leaves 63 MiB"),
        (0, 0, "0 MiB of it are free and this process's memory limit leaves 0 MiB"),
        (None, None, "free memory can't be read"),
    ],
)
def test_a_node_without_memory_to_spare_is_left_out_with_the_numbers(
    free: int | None, headroom: int | None, said: str
) -> None:
    plan = plan_matrix(two(), allowed(two(), free=free, headroom=headroom))
    assert plan.targets == ()
    assert [each.startswith("node ") and said in each for each in plan.left_out] == [True, True]


def test_cpus_and_memory_that_the_cpuset_lacks_are_named() -> None:
    plan = plan_matrix(two(), allowed(two(), cpus("0-1"), cpus("0")))
    assert [each.cpus for each in plan.readers] == [(0, 1)]
    assert [each.node for each in plan.targets] == [0]
    assert plan.left_out == (
        "node 0: only CPUs 0-1 of 0-3,8-11 are allowed to this process; its bandwidth is that of"
        " these",
        "node 1: none of its CPUs 4-7,12-15 is allowed to this process (cpuset or affinity: 0-1)",
        "node 1: its memory isn't allowed to this process (cpuset.mems: 0)",
    )


def test_a_quota_of_cpu_time_is_said() -> None:
    (said,) = plan_matrix(two(), allowed(two(), quota=0.5)).left_out
    assert "the time of 0.5 CPUs only (cpu.max)" in said


def test_memory_only_nodes_are_read_from_everywhere_and_read_nowhere() -> None:
    plan = plan_matrix(with_expander(), allowed(with_expander()))
    assert [each.node for each in plan.readers] == [0, 1]
    assert [each.node for each in plan.targets] == [0, 1, 2]


def test_a_node_of_cpus_alone_reads_and_is_not_read() -> None:
    topology = machine(node(0, "0-1"), node(1, "2-3", memory=0))
    plan = plan_matrix(topology, allowed(topology))
    assert [each.node for each in plan.readers] == [0, 1]
    assert [each.node for each in plan.targets] == [0]
    assert plan.left_out == ("node 1: it has no memory of its own",)


def test_many_cores_read_with_some() -> None:
    topology = machine(node(0, "0-255"))
    assert len(plan_matrix(topology, allowed(topology)).readers[0].cpus) == 64


def test_one_node_is_known_as_such_whatever_spare_nodes_there_are() -> None:
    assert only_node(machine(node(0, "0-1"))) == 0
    assert only_node(machine(node(4, "0-1"), node(5, memory=0))) == 4
    assert only_node(two()) is None
    assert only_node(machine(node(0, "0-1"), node(1))) is None
