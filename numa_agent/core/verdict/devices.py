"""What is found of the devices that a container holds."""

from collections.abc import Iterable, Iterator

from numa_agent.core.topology import Topology
from numa_agent.core.verdict.facts import Facts, HeldDevice, Node
from numa_agent.core.verdict.values import Cause, Reason
from numa_agent.core.verdict.wording import nodes

_NO_LOCALITY = Cause(
    code="no-locality",
    message="neither firmware nor driver tells where it is: a localityOverrides file can",
)


def device_reasons(
    facts: Facts, topology: Topology, home: frozenset[Node] | None
) -> Iterator[Reason]:
    """Everything found."""
    if facts.devices_unseen is not None and (facts.devices_asked or _may_be_held(topology)):
        message = f"{facts.devices_unseen}, so which devices it holds isn't known"
        yield Reason(code="devices-unseen", message=message)
    undecided = [each for each in facts.devices if _undecided(each, home)]
    if undecided:
        message = f"no source tells the NUMA node of {_names(undecided)}"
        yield Reason(code="device-place-unknown", message=message, cause=_NO_LOCALITY)
    if home is None:
        return
    placed = [each for each in facts.devices if each not in undecided]
    away = [each for each in placed if not home.intersection(each.nodes)]
    if away:
        where = frozenset[Node]().union(*(each.nodes for each in away))
        yield Reason(
            code="devices-remote" if len(away) == len(placed) else "devices-split",
            message=f"{_names(away)} {'is' if len(away) == 1 else 'are'} in {nodes(where)}, its"
            f" CPUs in {nodes(home)}",
            cause=_chosen_apart(facts),
        )


def _may_be_held(topology: Topology) -> bool:
    """Whether there is anything that a container may hold alone and that has a place."""
    parts = (each.physical_function is not None or each.rdma for each in topology.pci_devices)
    return bool(topology.gpus) or any(parts)


def _undecided(device: HeldDevice, home: frozenset[Node] | None) -> bool:
    """Whether it can't be told if a device is beside the CPUs."""
    places = frozenset(device.nodes)
    if home is None:
        return len(places) != 1
    return not places or bool(places & home and places - home)


def _names(devices: Iterable[HeldDevice]) -> str:
    return ", ".join(f"{each.kind} {each.id}" for each in devices)


def _chosen_apart(facts: Facts) -> Cause | None:
    if facts.topology_policy in {"none", "best-effort"}:
        return Cause(
            code="kubelet-policy",
            message=f"kubelet's topologyManagerPolicy is {facts.topology_policy}: it gave the"
            " device without regard to the CPUs",
        )
    if facts.decided is None:
        return Cause(code="nobody-decided", message="nobody decided CPUs beside it")
    return Cause(code="chosen-apart", message="the CPUs weren't decided beside it")
