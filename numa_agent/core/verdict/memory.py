"""What is found of a container's memory.

Pages of files are told apart and never held against a container: a library's may be anybody's.
"""

from collections.abc import Iterable, Iterator, Mapping

from numa_agent.core.topology import NodeKind, Topology
from numa_agent.core.verdict.facts import Facts, Node
from numa_agent.core.verdict.values import AS_DECIDED, Cause, Reason
from numa_agent.core.verdict.wording import amount, nodes

SHARE = 0.05
"""The part of a container's memory elsewhere from which on it counts."""

LEAST = 16 << 20
"""The bytes elsewhere from which on they count: a runtime touches some before it is bound."""

_FULL = 0.05
"""A node with less than this part of its memory free is likely to have turned somebody away."""


def memory_reasons(
    facts: Facts, topology: Topology, home: frozenset[Node] | None
) -> Iterator[Reason]:
    """Everything found, where the machine has several nodes."""
    if len(topology.nodes) == 1:
        return
    if facts.memory is None:
        message = f"{facts.memory_unseen}, so where its memory is wasn't seen"
        yield Reason(code="memory-unseen", message=message)
        return
    if facts.hugepages_unseen:
        message = "the kernel doesn't tell where its hugepages are, so where they are wasn't seen"
        yield Reason(code="memory-unseen", message=message)
    if home is None:
        return
    yield from _placed(facts, topology, home)


def _placed(facts: Facts, topology: Topology, home: frozenset[Node]) -> Iterator[Reason]:
    memory = facts.memory
    assert memory is not None
    tiers, of_gpus = _tiers(topology, home), _of_gpus(facts, topology)
    near = home | tiers | of_gpus
    doubtful = _doubtful(facts, topology, (*memory.own, *memory.cache)) - near
    # What is a GPU's own hides nothing of the rest.
    own = {node: size for node, size in memory.own.items() if node not in of_gpus}
    whole = sum(own.values())
    outside = "" if whole == sum(memory.own.values()) else " outside GPUs"
    of_it = f"of its {amount(whole)} of memory{outside}"
    away = _outside(own, near | doubtful)
    if away:
        size = sum(away.values())
        yield Reason(
            code="memory-remote" if size * 2 > whole else "memory-split",
            message=f"{amount(size)} {of_it} are in {nodes(away)}, its CPUs in {nodes(home)}",
            cause=_cause(facts, topology, home, away),
        )
    unsure = {node: size for node, size in own.items() if size and node in doubtful}
    if unsure and _outside(own, near):
        message = (
            f"{amount(sum(unsure.values()))} {of_it} are in {nodes(unsure)}, of which nobody tells"
            " whether that is beside it"
        )
        yield Reason(code="memory-place-unknown", message=message)
    yield from _tiered(own, tiers, home)
    cached = _outside(memory.cache, near | doubtful)
    if cached:
        message = (
            f"{amount(sum(cached.values()))} of the page cache that it filled are in"
            f" {nodes(cached)}"
        )
        yield Reason(code="cache-remote", message=message)


def _doubtful(facts: Facts, topology: Topology, used: Iterable[Node]) -> frozenset[Node]:
    """The nodes that may be a tier of its own or its GPU's own memory, as far as anybody tells.

    Those that the map lacks (a kernel may have put some online since), those whose CPUs or whose
    distances aren't known, and the memory of GPUs of which one is held and nobody tells which.
    """
    of_gpus = {gpu.memory_node for gpu in topology.gpus}
    placed = {
        node.id
        for node in topology.nodes
        if node.kind is NodeKind.CPU
        or (node.kind is NodeKind.MEMORY and (node.nearest_cpu_nodes or node.id in of_gpus))
    }
    may_be = (node for device in facts.devices for node in device.memory_may_be)
    return frozenset(used).difference(placed).union(may_be)


def _tiers(topology: Topology, home: frozenset[Node]) -> frozenset[Node]:
    """The nodes of memory alone (HBM, CXL) that no CPUs but those of the home are nearest to.

    A GPU's own memory is the GPU's.
    """
    of_gpus = {gpu.memory_node for gpu in topology.gpus}
    return frozenset(
        node.id
        for node in topology.nodes
        if node.kind is NodeKind.MEMORY
        and node.id not in of_gpus
        and node.nearest_cpu_nodes
        and home.issuperset(node.nearest_cpu_nodes)
    )


def _of_gpus(facts: Facts, topology: Topology) -> frozenset[Node]:
    """The GPUs' own memory nodes that aren't held against it: of those that it may hold."""
    if facts.devices_unseen is not None:
        nodes = [gpu.memory_node for gpu in topology.gpus]
    else:
        nodes = [device.memory_node for device in facts.devices]
    return frozenset(node for node in nodes if node is not None)


def _tiered(
    used: Mapping[Node, int], tiers: frozenset[Node], home: frozenset[Node]
) -> Iterator[Reason]:
    there = _outside(used, frozenset(used) - tiers)
    if there:
        message = (
            f"{amount(sum(there.values()))} of its {amount(sum(used.values()))} of memory are in"
            f" {nodes(there)} without CPUs, beside its own in {nodes(home)}"
        )
        yield Reason(code="memory-tiered", message=message)


def _outside(used: Mapping[Node, int], those: frozenset[Node]) -> Mapping[Node, int]:
    """The bytes by node outside of those, nothing where they are too few to count."""
    away = {node: size for node, size in used.items() if size and node not in those}
    size = sum(away.values())
    return away if size >= max(LEAST, SHARE * sum(used.values())) else {}


def _cause(
    facts: Facts, topology: Topology, home: frozenset[Node], away: Mapping[Node, int]
) -> Cause:
    if away.keys() <= facts.decided_mems:
        return Cause(code=AS_DECIDED, message="as its memory nodes were decided")
    if all(_has_none(topology, node) for node in home):
        return Cause(code="no-memory-there", message=f"there is no memory in {nodes(home)}")
    if facts.effective_mems is not None and not facts.effective_mems & away.keys():
        held = nodes(facts.effective_mems)
        return Cause(
            code="late-binding",
            message=f"it may take memory of {held} only: this was there before that was set",
        )
    for node in sorted(home):
        turned_away, free = facts.spilled.get(node, 0), facts.free_memory.get(node)
        if turned_away * 2 >= sum(away.values()) or _is_full(topology, node, free):
            left = "" if free is None else f" and has {amount(free)} free now"
            return Cause(
                code="memory-spilled",
                message=f"node {node} turned away {amount(turned_away)} since the boot{left}",
            )
    allowed = "any node" if facts.effective_mems is None else nodes(facts.effective_mems)
    return Cause(
        code="mems-not-bound",
        message=f"it may take memory of {allowed}: it was taken before its CPUs were bound, or by"
        " a policy of its own",
    )


def _has_none(topology: Topology, node_id: Node) -> bool:
    node = topology.node(node_id)
    return node is not None and node.memory_bytes == 0


def _is_full(topology: Topology, node_id: Node, free: int | None) -> bool:
    node = topology.node(node_id)
    whole = None if node is None else node.memory_bytes
    return free is not None and whole is not None and free < _FULL * whole


def memory_by_node(used: Mapping[Node, int]) -> str:
    """`512 MiB in 0, 3.2 GiB in 1`, without the nodes that have none."""
    held = [(node, size) for node, size in sorted(used.items()) if size]
    return ", ".join(f"{amount(size)} in {node}" for node, size in held)
