"""Memory and hugepages of each NUMA node."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numa_agent.core.accounting import Accounts
from numa_agent.core.grants import MemoryGrant
from numa_agent.core.kubelet import KubeletSettings, MemoryManagerState, MemoryPool
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import HugePages
from tests.core.ledger import GIB, accounts, amounts, block, codes, grant, granted, two_nodes
from tests.machine_tree import machine, numa_node, pod, uid

NO_EVICTION = KubeletSettings(eviction_memory="")


def pool(allocatable: int, reserved: int = 0) -> MemoryPool:
    return MemoryPool(
        total=8 * GIB,
        system_reserved=8 * GIB - allocatable,
        allocatable=allocatable,
        reserved=reserved,
        free=allocatable - reserved,
    )


def static(
    blocks: Mapping[int, MemoryGrant] | None = None, **pools: MemoryPool
) -> MemoryManagerState:
    """The memory manager's state, `n0=` node 0's plain memory; blocks by the pod's number."""
    return MemoryManagerState(
        policy="Static",
        pools={int(name[1:]): {"memory": each} for name, each in pools.items()},
        entries={uid(number): {f"c{number}": (held,)} for number, held in (blocks or {}).items()},
    )


def test_memory_is_what_isnt_hugepages() -> None:
    # Case 25: total - reserved - hugepages = allocatable, to the byte.
    huge = (HugePages(size_kib=1 << 20, total=10, free=10),)
    topology = machine(numa_node(0, "0", memory_bytes=99759243264, hugepages=huge))
    settings = KubeletSettings(
        memory_manager_policy="Static",
        reserved_memory={0: {"memory": 10538188800}},
        eviction_memory="",
    )
    found = accounts(topology, settings=settings)
    assert amounts(found, "memory") == [(89021825024, 78483636224, 78483636224)]
    assert amounts(found, "hugepages-1Gi") == [(10737418240, 10737418240, 10737418240)]


def test_more_hugepages_than_memory_leave_nothing_and_no_debt() -> None:
    huge = (HugePages(size_kib=1 << 20, total=9, free=0),)
    topology = machine(numa_node(0, "0", memory_bytes=8 * GIB, hugepages=huge))
    assert amounts(accounts(topology), "memory") == [(0, 0, 0)]


def test_every_node_names_every_hugepage_size_of_the_machine() -> None:
    # A scheduler rejects a pod whose size no zone names.
    huge = (HugePages(size_kib=2048, total=4, free=4),)
    topology = machine(numa_node(0, "0", hugepages=huge), numa_node(1, "1"))
    node = Node(name="n", uid=None, allocatable={"hugepages-1Gi": GIB, "hugepages-64Ki": 0})
    first, second = accounts(topology, node=node).nodes
    assert set(first.resources) == {"cpu", "memory", "hugepages-2Mi", "hugepages-1Gi"}
    assert first.resources["hugepages-2Mi"].capacity == 8 << 20
    assert second.resources["hugepages-2Mi"].capacity == 0
    assert first.resources.keys() == second.resources.keys()


def test_a_reservation_without_nodes_is_spread_by_size_and_never_loses_a_byte() -> None:
    topology = machine(
        numa_node(0, "0", memory_bytes=6 * GIB), numa_node(1, "1", memory_bytes=2 * GIB)
    )
    settings = KubeletSettings(reserved={"memory": GIB}, eviction_memory="100Mi")
    found = accounts(topology, settings=settings)
    kept = [capacity - left for capacity, left, _ in amounts(found, "memory")]
    assert kept == [6 * (1124 << 20) // 8, 2 * (1124 << 20) // 8]
    settings = KubeletSettings(reserved={"memory": 3}, eviction_memory="")
    kept = [c - a for c, a, _ in amounts(accounts(two_nodes(), settings=settings), "memory")]
    assert kept == [2, 2]


def test_the_node_tells_the_reservation_where_kubelets_file_isnt_there() -> None:
    node = Node(
        name="n",
        uid=None,
        capacity={"memory": 16 * GIB, "hugepages-1Gi": 2 * GIB},
        allocatable={"memory": 12 * GIB},
    )
    kept = [c - a for c, a, _ in amounts(accounts(two_nodes(), node=node), "memory")]
    assert kept == [GIB, GIB]


def test_reservations_that_differ_are_told_and_the_larger_is_kept() -> None:
    node = Node(
        name="n", uid=None, capacity={"memory": 16 * GIB}, allocatable={"memory": 14 * GIB}
    )
    found = accounts(two_nodes(), node=node, settings=NO_EVICTION)
    assert [c - a for c, a, _ in amounts(found, "memory")] == [GIB, GIB]
    assert codes(found) == ["reservation-differs"]
    node = Node(
        name="n", uid=None, capacity={"memory": 16 * GIB}, allocatable={"memory": 16 * GIB - 4096}
    )
    assert codes(accounts(two_nodes(), node=node, settings=NO_EVICTION)) == []


def test_an_eviction_threshold_may_be_a_share_of_the_machine() -> None:
    settings = KubeletSettings(eviction_memory="25%")
    found = accounts(two_nodes(), settings=settings)
    assert amounts(found, "memory") == [(8 * GIB, 6 * GIB, 6 * GIB)] * 2


def test_blocks_that_kubelet_gave_are_held_on_their_node() -> None:
    told = granted(
        grant(1, memory=[block(GIB, 0)]),
        grant(2, memory=[block(2 * GIB, 1)]),
        memory=[block(7 * GIB, 0), block(6 * GIB, 1)],
    )
    found = accounts(two_nodes(), pod(1), pod(2), granted=told)
    assert amounts(found, "memory") == [
        (8 * GIB, 7 * GIB, 6 * GIB),
        (8 * GIB, 6 * GIB, 4 * GIB),
    ]


def test_a_finished_pods_blocks_are_free_again() -> None:
    told = granted(grant(1, memory=[block(GIB, 0)]))
    found = accounts(two_nodes(), pod(1, phase="Succeeded"), granted=told)
    assert amounts(found, "memory")[0] == (8 * GIB, 8 * GIB, 8 * GIB)


def test_a_block_of_two_nodes_is_laid_on_them_in_turn_and_counts_once() -> None:
    told = granted(grant(1, memory=[block(10 * GIB, 0, 1)]), grant(2, memory=[block(GIB, 0)]))
    found = accounts(two_nodes(), pod(1), pod(2), granted=told)
    assert amounts(found, "memory") == [(8 * GIB, 8 * GIB, 0), (8 * GIB, 8 * GIB, 5 * GIB)]


def test_kubelets_state_has_the_exact_share_of_each_node_in_a_block_of_two() -> None:
    told = granted(grant(1, memory=[block(10 * GIB, 0, 1)]))
    state = static(
        {1: block(10 * GIB, 0, 1)},
        n0=pool(8 * GIB, reserved=4 * GIB),
        n1=pool(8 * GIB, reserved=6 * GIB),
    )
    for listed in (told, None):
        found = accounts(two_nodes(), pod(1), granted=listed, memory_state=state)
        assert [left for _, _, left in amounts(found, "memory")] == [4 * GIB, 2 * GIB]
        assert codes(found) == []


@pytest.mark.parametrize("pods", [(), (pod(1, phase="Succeeded"),)])
def test_what_kubelet_still_keeps_for_a_pod_that_has_gone_is_free(pods: tuple[Pod, ...]) -> None:
    # kubelet clears its state at the next admission, which a full-looking node would never see.
    state = static({1: block(8 * GIB, 0)}, n0=pool(8 * GIB, reserved=8 * GIB), n1=pool(8 * GIB))
    found = accounts(two_nodes(), *pods, granted=granted(), memory_state=state)
    assert [left for _, _, left in amounts(found, "memory")] == [8 * GIB, 8 * GIB]
    assert codes(found) == []


def test_a_pod_that_came_after_the_state_was_read_holds_what_podresources_says() -> None:
    state = static({1: block(2 * GIB, 0)}, n0=pool(8 * GIB, reserved=2 * GIB), n1=pool(8 * GIB))
    told = granted(
        grant(1, memory=[block(2 * GIB, 0)]),
        grant(2, memory=[block(GIB, 0)]),
        memory=[block(8 * GIB, 0), block(8 * GIB, 1)],
    )
    found = accounts(two_nodes(), pod(1), pod(2), granted=told, memory_state=state)
    assert [left for _, _, left in amounts(found, "memory")] == [5 * GIB, 8 * GIB]
    assert codes(found) == []


def test_two_sources_that_give_the_same_pods_other_amounts_are_told_with_both() -> None:
    state = static({1: block(2 * GIB, 0)}, n0=pool(8 * GIB, reserved=2 * GIB), n1=pool(8 * GIB))
    told = granted(grant(1, memory=[block(3 * GIB, 0)]))
    found = accounts(two_nodes(), pod(1), granted=told, memory_state=state)
    assert [left for _, _, left in amounts(found, "memory")] == [6 * GIB, 8 * GIB]
    (condition,) = found.conditions
    assert condition.code == "memory-sources-differ"
    assert f"{3 * GIB} bytes by podresources, {2 * GIB} by" in condition.message


def test_reserved_memory_counts_under_the_static_policy_alone() -> None:
    # kubelet takes no notice of it otherwise.
    settings = KubeletSettings(
        reserved={"memory": 6 * GIB},
        reserved_memory={0: {"memory": GIB}},
        eviction_memory="",
    )
    found = accounts(two_nodes(), settings=settings)
    assert [left for _, left, _ in amounts(found, "memory")] == [5 * GIB, 5 * GIB]
    static_one = replace(settings, memory_manager_policy="Static")
    found = accounts(two_nodes(), settings=static_one)
    assert [left for _, left, _ in amounts(found, "memory")] == [7 * GIB, 8 * GIB]


def test_a_node_of_which_kubelet_offers_no_memory_has_none_to_give() -> None:
    found = accounts(two_nodes(), granted=granted(memory=[block(7 * GIB, 0)]))
    assert [left for _, left, _ in amounts(found, "memory")] == [7 * GIB, 0]


def test_allocatable_by_two_sources_of_kubelet_is_the_smaller_and_both_are_told() -> None:
    state = static(n0=pool(6 * GIB), n1=pool(7 * GIB))
    told = granted(memory=[block(7 * GIB, 0), block(7 * GIB, 1)])
    found = accounts(two_nodes(), granted=told, memory_state=state)
    assert [left for _, left, _ in amounts(found, "memory")] == [6 * GIB, 7 * GIB]
    (condition,) = found.conditions
    assert condition.code == "allocatable-differs"
    assert condition.subject == "node 0 memory"
    assert str(7 * GIB) in condition.message
    assert str(6 * GIB) in condition.message


def test_memory_that_shrank_since_kubelet_looked_is_never_offered() -> None:
    # Case 25: MemTotal may change by some KiB between boots.
    told = granted(memory=[block(8 * GIB + 4096, 0), block(8 * GIB, 1)])
    assert amounts(accounts(two_nodes(), granted=told), "memory")[0] == (8 * GIB,) * 3


def test_an_assigned_pods_request_is_held_where_its_cpus_are() -> None:
    asked = Demands(
        containers=(Demand(container="c", role=Role.APP, requests={"memory": 9 * GIB}),)
    )
    there = [left for _, _, left in amounts(_assigned(asked, "4-5"), "memory")]
    assert there == [8 * GIB, 0]
    across = [left for _, _, left in amounts(_assigned(asked, "0,4"), "memory")]
    assert across == [0, 7 * GIB]


def _assigned(asked: Demands, cpuset: str) -> Accounts:
    return accounts(two_nodes(), replace(pod(1), demands=asked), assigned={1: cpuset})


def test_a_request_that_kubelet_granted_as_a_block_isnt_held_twice() -> None:
    asked = Demands(containers=(Demand(container="c", role=Role.APP, requests={"memory": GIB}),))
    told = granted(grant(1, memory=[block(GIB, 0)]))
    found = accounts(
        two_nodes(), replace(pod(1), demands=asked), assigned={1: "0-1"}, granted=told
    )
    assert [left for _, _, left in amounts(found, "memory")] == [7 * GIB, 8 * GIB]
