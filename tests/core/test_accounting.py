"""What each NUMA node offers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.accounting import Amount, accounts
from numa_agent.core.topology import HugePages, NumaNode
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node

GIB = 1 << 30
COUNTS = st.none() | st.integers(0, 1 << 40)
POOLS = st.builds(
    HugePages, size_kib=st.sampled_from([64, 2048, 1 << 20]), total=COUNTS, free=COUNTS
)


@st.composite
def numa_nodes(draw: st.DrawFn) -> tuple[NumaNode, ...]:
    ids = sorted(draw(st.sets(st.integers(0, 400), max_size=5)))
    owners = draw(st.lists(st.sampled_from(ids), max_size=64)) if ids else []
    nodes = []
    for node_id in ids:
        own = ",".join(str(cpu) for cpu, owner in enumerate(owners) if owner == node_id)
        cpu_list = None if draw(st.integers(0, 9)) == 0 else own
        nodes.append(
            numa_node(
                node_id,
                cpu_list,
                memory_bytes=draw(COUNTS),
                hugepages=tuple(draw(st.lists(POOLS, max_size=3))),
            )
        )
    return tuple(nodes)


@settings(deadline=None, max_examples=200)
@given(numa_nodes(), st.frozensets(st.integers(0, 80)))
def test_available_is_within_allocatable_which_is_within_capacity(
    nodes: tuple[NumaNode, ...], assigned: frozenset[int]
) -> None:
    for account in accounts(machine(*nodes), assigned):
        for amount in account.resources.values():
            assert 0 <= amount.available <= amount.allocatable <= amount.capacity


@settings(deadline=None, max_examples=200)
@given(numa_nodes(), st.frozensets(st.integers(0, 80)))
def test_each_cpu_of_a_node_is_either_available_or_assigned(
    nodes: tuple[NumaNode, ...], assigned: frozenset[int]
) -> None:
    topology = machine(*nodes)
    found = accounts(topology, assigned)
    assert [account.node for account in found] == list(topology.cpu_nodes)
    capacity = sum(account.resources["cpu"].capacity for account in found)
    available = sum(account.resources["cpu"].available for account in found)
    assert capacity == len(topology.online)
    assert available == len(topology.online - assigned)


def test_assigned_cpus_are_not_available_on_their_own_node_only() -> None:
    first, second = accounts(TWO_NODES, cpus("2-4,99"))
    assert first.resources["cpu"] == Amount(capacity=4, allocatable=4, available=2)
    assert second.resources["cpu"] == Amount(capacity=4, allocatable=4, available=3)


def test_nodes_without_cpus_are_not_offered() -> None:
    # Case 15: a GPU's memory is never given out as plain memory.
    topology = machine(numa_node(0, "0-71"), *(numa_node(n, "") for n in range(1, 9)))
    (account,) = accounts(topology, cpus(""))
    assert account.node.id == 0


def test_hugepages_are_memory_that_no_ordinary_request_gets() -> None:
    pools = (
        HugePages(size_kib=1 << 20, total=2, free=0),
        HugePages(size_kib=2048, total=512, free=512),
    )
    node = numa_node(0, "0", memory_bytes=8 * GIB, hugepages=pools)
    (account,) = accounts(machine(node), cpus(""))
    assert account.resources["memory"] == Amount(
        capacity=8 * GIB, allocatable=5 * GIB, available=5 * GIB
    )


def test_more_hugepages_than_memory_leave_nothing_and_no_debt() -> None:
    pools = (HugePages(size_kib=1 << 20, total=9, free=0),)
    (account,) = accounts(
        machine(numa_node(0, "0", memory_bytes=8 * GIB, hugepages=pools)), cpus("")
    )
    assert account.resources["memory"] == Amount(capacity=8 * GIB, allocatable=0, available=0)


def test_memory_that_no_file_tells_is_left_out_and_not_nought() -> None:
    (account,) = accounts(machine(numa_node(0, "0", memory_bytes=None)), cpus(""))
    assert set(account.resources) == {"cpu"}
