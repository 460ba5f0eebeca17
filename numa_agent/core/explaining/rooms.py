"""The NUMA nodes of machines as rooms: from this node's own accounts, or as agents published them.

The published object: https://github.com/k8stopologyawareschedwg/noderesourcetopology-api
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from numa_agent.core import quantity
from numa_agent.core.accounting import NodeAccount
from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.explaining.fit import Room
from numa_agent.core.report import Proof

_CPU = "cpu"


def own_rooms(machine: str, accounts: Sequence[NodeAccount], held: Sequence[Proof]) -> list[Room]:
    """This machine's NUMA nodes, and what ending each pod with CPUs of its own would free."""
    return [
        Room(
            machine=machine,
            node=f"node {account.node.id}",
            available={
                name: each.available * (1000 if name == _CPU else 1)
                for name, each in account.resources.items()
            },
            holders=_holders(account, held),
        )
        for account in accounts
    ]


def published_rooms(topologies: Sequence[object]) -> Iterator[Room]:
    """The zones of every NodeResourceTopology; one that can't be read has nothing available."""
    for each in topologies:
        document = mapping(each)
        name = text(mapping(document.get("metadata")).get("name")) or "?"
        for entry in items(document.get("zones")):
            zone = mapping(entry)
            if text(zone.get("type")) == "Node":
                rows = [mapping(row) for row in items(zone.get("resources"))]
                yield Room(
                    machine=name,
                    node=text(zone.get("name")) or "?",
                    available=dict(_amounts(rows)),
                )


def _amounts(rows: Sequence[Document]) -> Iterator[tuple[str, int]]:
    for row in rows:
        name, available = text(row.get("name")), row.get("available")
        if name is not None:
            try:
                yield name, quantity.amount(name, str(available))
            except ValueError:
                yield name, 0


def _holders(account: NodeAccount, held: Sequence[Proof]) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, Counter[str]] = {}
    cpus = account.node.cpus or frozenset()
    for proof in held:
        own_cpus = frozenset() if proof.asked.shares else proof.asked.cpus or frozenset()
        freed = len(own_cpus & cpus)
        if freed:
            # Containers of a pod may share its CPUs: the most that one of them has is counted.
            own = found.setdefault(proof.pod.full_name, Counter())
            own[_CPU] = max(own[_CPU], freed * 1000)
    for proof in held:
        for device in proof.verdict.devices:
            if device.node == account.node.id and device.resource:
                found.setdefault(proof.pod.full_name, Counter())[device.resource] += 1
    return found
