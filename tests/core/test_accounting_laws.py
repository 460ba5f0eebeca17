"""What holds of every account, whatever the machine, the pods and the sources say."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.accounting import Accounts, Sources, account, unaccountable
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.grants import ContainerGrant, DeviceGrant, MemoryGrant, Offer, PodResources
from numa_agent.core.kubelet import (
    CpuManagerState,
    KubeletSettings,
    MemoryManagerState,
    MemoryPool,
)
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import HugePages, Topology
from tests.machine_tree import cpus, machine, numa_node, pod, uid

KINDS = st.sampled_from(["memory", "hugepages-2Mi", "hugepages-1Gi"])
RESOURCES = st.sampled_from(["nvidia.com/gpu", "example.com/nic"])
SIZES = st.integers(0, 1 << 36)
IDS = st.integers(-1, 5)
CPUS = st.frozensets(st.integers(0, 40), max_size=12)
NUMBERS = st.integers(1, 6)


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    ids = sorted(draw(st.sets(st.integers(0, 4), min_size=1, max_size=4)))
    owners = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=32))
    nodes = [
        numa_node(
            node_id,
            ",".join(str(cpu) for cpu, owner in enumerate(owners) if owner == node_id),
            memory_bytes=draw(SIZES),
            hugepages=tuple(
                HugePages(size_kib=size, total=draw(st.integers(0, 64)), free=None)
                for size in draw(st.sets(st.sampled_from([2048, 1 << 20])))
            ),
        )
        for node_id in ids
    ]
    threads = frozenset(range(len(owners)))
    cores = tuple(frozenset({a, a + 1}) & threads for a in range(0, len(owners), 2))
    return replace(machine(*nodes), cores=draw(st.sampled_from([None, cores])))


BLOCKS = st.builds(
    MemoryGrant, kind=KINDS, size=SIZES, nodes=st.lists(IDS, max_size=3, unique=True).map(tuple)
)
DEVICES = st.builds(
    DeviceGrant,
    resource=RESOURCES,
    ids=st.lists(st.sampled_from("abcdef"), max_size=4, unique=True).map(tuple),
    nodes=st.lists(IDS, max_size=2, unique=True).map(tuple),
)
GRANTS = st.builds(
    ContainerGrant,
    namespace=st.just("shop"),
    pod=NUMBERS.map("p{}".format),
    container=NUMBERS.map("c{}".format),
    cpus=CPUS,
    devices=st.lists(DEVICES, max_size=3).map(tuple),
    memory=st.lists(BLOCKS, max_size=3).map(tuple),
    dynamic=st.just(()),
)
OFFERS = st.builds(
    Offer,
    cpus=CPUS,
    devices=st.lists(DEVICES, max_size=4).map(tuple),
    memory=st.lists(BLOCKS, max_size=4).map(tuple),
)
POD_RESOURCES = st.builds(
    PodResources,
    pods=st.just(frozenset()),
    containers=st.lists(GRANTS, max_size=5).map(tuple),
    offer=st.none() | OFFERS,
)
POOLS = st.builds(
    MemoryPool, total=SIZES, system_reserved=SIZES, allocatable=SIZES, reserved=SIZES, free=SIZES
)
POLICIES = st.sampled_from(["none", "static", "odd"])
CPU_STATES = st.builds(
    CpuManagerState,
    policy=POLICIES,
    shared=CPUS,
    entries=st.dictionaries(NUMBERS.map(uid), st.dictionaries(NUMBERS.map("c{}".format), CPUS)),
)
MEMORY_STATES = st.builds(
    MemoryManagerState,
    policy=st.sampled_from(["None", "Static"]),
    pools=st.dictionaries(IDS, st.dictionaries(KINDS, POOLS)),
    entries=st.just({}),
)
SETTINGS = st.builds(
    KubeletSettings,
    cpu_manager_policy=POLICIES,
    cpu_manager_options=st.sampled_from([{}, {"full-pcpus-only": "true"}]),
    reserved_cpus=st.none() | CPUS,
    reserved=st.fixed_dictionaries({}, optional={"cpu": SIZES, "memory": SIZES}),
    eviction_memory=st.sampled_from(["", "100Mi", "5%"]),
    reserved_memory=st.dictionaries(IDS, st.dictionaries(KINDS, SIZES), max_size=3),
)
LISTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu"]), SIZES
)


@st.composite
def listed_pods(draw: st.DrawFn) -> tuple[Pod, ...]:
    found = []
    for number in sorted(draw(st.sets(NUMBERS))):
        requests = draw(st.dictionaries(KINDS, SIZES))
        demand = Demand(container=f"c{number}", role=Role.APP, requests=requests)
        phase = draw(st.sampled_from(["Running", "Pending", "Succeeded", "Failed"]))
        found.append(replace(pod(number, phase=phase), demands=Demands(containers=(demand,))))
    return tuple(found)


ANY_SOURCES = st.builds(
    Sources,
    topology=machines(),
    node=st.builds(Node, name=st.just("n"), uid=st.none(), capacity=LISTS, allocatable=LISTS),
    settings=st.none() | SETTINGS,
    pods=listed_pods(),
    granted=st.none() | POD_RESOURCES,
    cpu_state=st.none() | CPU_STATES,
    memory_state=st.none() | MEMORY_STATES,
    assigned=st.dictionaries(NUMBERS.map(uid), CPUS),
)


@settings(deadline=None, max_examples=300)
@given(ANY_SOURCES)
def test_available_is_within_allocatable_which_is_within_capacity(sources: Sources) -> None:
    for node in account(sources).nodes:
        for amount in node.resources.values():
            assert 0 <= amount.available <= amount.allocatable <= amount.capacity


@settings(deadline=None, max_examples=200)
@given(ANY_SOURCES)
def test_every_node_tells_the_same_resources_and_the_whole_machine_is_in_them(
    sources: Sources,
) -> None:
    assert unaccountable(sources.topology) is None
    found = account(sources)
    assert [each.node for each in found.nodes] == list(sources.topology.cpu_nodes)
    assert len({frozenset(each.resources) for each in found.nodes}) == 1
    assert total(found, "cpu") == len(sources.topology.online)
    for node in found.nodes:
        plain_and_huge = sum(
            amount.capacity
            for name, amount in node.resources.items()
            if name == "memory" or name.startswith("hugepages-")
        )
        huge = sum((each.total or 0) * each.size_kib * 1024 for each in node.node.hugepages)
        assert plain_and_huge == max(node.node.memory_bytes or 0, huge)


@settings(deadline=None, max_examples=200)
@given(ANY_SOURCES, CPUS)
def test_a_further_assignment_never_gives_anybody_more(sources: Sources, more: CpuSet) -> None:
    extra = pod(6)
    others = tuple(each for each in sources.pods if each.uid != extra.uid)
    before = replace(sources, pods=(*others, extra), assigned={})
    after = replace(before, assigned={extra.uid: more})
    for old, new in zip(account(before).nodes, account(after).nodes, strict=True):
        for name, amount in new.resources.items():
            assert amount.available <= old.resources[name].available
            assert amount.allocatable == old.resources[name].allocatable


@settings(deadline=None, max_examples=200)
@given(ANY_SOURCES)
def test_the_order_of_what_sources_list_changes_nothing(sources: Sources) -> None:
    granted = sources.granted
    turned = replace(sources, pods=sources.pods[::-1])
    if granted is not None:
        turned = replace(turned, granted=replace(granted, containers=granted.containers[::-1]))
    assert _cpus_and_units(account(turned)) == _cpus_and_units(account(sources))


@settings(deadline=None, max_examples=100)
@given(ANY_SOURCES)
def test_a_resource_is_told_with_every_unit_or_with_none(sources: Sources) -> None:
    offer = None if sources.granted is None else sources.granted.offer
    found = account(sources)
    for name in ("nvidia.com/gpu", "example.com/nic"):
        units = {
            unit
            for device in (() if offer is None else offer.devices)
            if device.resource == name
            for unit in device.ids
        }
        if name in found.nodes[0].resources:
            assert total(found, name) == len(units)


@given(machines())
def test_without_any_other_source_every_online_cpu_is_available(topology: Topology) -> None:
    found = account(Sources(topology=topology, node=Node(name="n", uid=None)))
    assert sum(node.resources["cpu"].available for node in found.nodes) == len(topology.online)
    assert found.reserved == cpus("")


def total(found: Accounts, resource: str) -> int:
    """The capacity of all nodes together."""
    return sum(node.resources[resource].capacity for node in found.nodes)


def _cpus_and_units(found: Accounts) -> list[tuple[object, ...]]:
    # Blocks of several nodes are laid in the order that kubelet lists them.
    names = ("cpu", "nvidia.com/gpu", "example.com/nic")
    return [tuple(node.resources.get(name) for name in names) for node in found.nodes]
