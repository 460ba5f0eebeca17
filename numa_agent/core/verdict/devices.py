"""What is found of the devices that a container holds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from numa_agent.core.topology import Topology
from numa_agent.core.verdict.cpus import why_undecided
from numa_agent.core.verdict.facts import Facts, HeldDevice, Node
from numa_agent.core.verdict.values import Cause, Reason
from numa_agent.core.verdict.wording import named_device, nodes

_MOST_NAMED = 4

_UNLISTED = Cause(
    code="not-in-podresources",
    message="kubelet lists what a device plugin or a claim gave, and of init containers sidecars",
)
_NO_LOCALITY = Cause(
    code="no-locality",
    message="neither firmware nor driver tells where it is: a localityOverrides file can",
)


def device_reasons(
    facts: Facts, topology: Topology, home: frozenset[Node] | None
) -> Iterator[Reason]:
    """Everything found."""
    if len(topology.nodes) == 1:
        # What isn't seen can't be elsewhere, either.
        facts = replace(facts, devices_unseen=None)
    if facts.devices_unseen is not None and (facts.devices_asked or _may_be_held(topology)):
        message = f"{facts.devices_unseen}, so which devices it holds isn't known"
        cause = _UNLISTED if facts.devices_unlisted else None
        yield Reason(code="devices-unseen", message=message, cause=cause)
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
            code="devices-remote" if len(away) == len(facts.devices) else "devices-split",
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
    """The first ones, and how many more."""
    listed = [*devices]
    named = [named_device(each) for each in listed[:_MOST_NAMED]]
    more = len(listed) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _chosen_apart(facts: Facts) -> Cause | None:
    if facts.topology_policy in {"none", "best-effort"}:
        return Cause(
            code="kubelet-policy",
            message=f"kubelet's topologyManagerPolicy is {facts.topology_policy}: it gave the"
            " device without regard to the CPUs",
        )
    if facts.decided is None:
        return why_undecided(facts, "nobody decided CPUs beside it")
    return Cause(code="chosen-apart", message="the CPUs weren't decided beside it")
