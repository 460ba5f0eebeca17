"""What the cluster's admin set on the Node for Koordinator, as the scheduler is told of it.

apis/extension/node_reservation.go and system_qos.go in
https://github.com/koordinator-sh/koordinator.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from numa_agent.core import cpulist, quantity
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document
from numa_agent.core.schedulers.koordinator.cpus import Cpu
from numa_agent.core.schedulers.koordinator.taking import take
from numa_agent.core.view import Json

RESERVATION = "node.koordinator.sh/reservation"
SYSTEM_QOS = "node.koordinator.sh/system-qos-resource"

_APPLY_POLICIES = ("Default", "ReservedCPUsOnly")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An annotation's members as they are published, and the CPUs that nobody else shall use."""

    members: Json = field(default_factory=dict)
    cpus: CpuSet = frozenset()


NOTHING = Setting()


def reservation(text: str | None, cpus: Sequence[Cpu]) -> Setting:
    """The CPUs kept for what isn't a pod; a mere count of them is made concrete.

    Raises ValueError for anything but an object of `resources`, `reservedCPUs`, `applyPolicy`.
    """
    said = _object(text)
    amounts = _resources(said.get("resources"))
    reserved = _cpus(said, "reservedCPUs")
    if not reserved and "cpu" in amounts:
        count = -(-quantity.milli(amounts["cpu"]) // 1000)
        reserved = take(cpus, count) if count > 0 else frozenset()
    policy = said.get("applyPolicy")
    if policy is not None and policy not in _APPLY_POLICIES:
        raise ValueError(f"applyPolicy {_shown(policy)} isn't {' or '.join(_APPLY_POLICIES)}")
    members: Json = {"resources": amounts} if amounts else {}
    if reserved:
        members["reservedCPUs"] = cpulist.render(reserved)
    if policy is not None:
        members["applyPolicy"] = policy
    return Setting(members=members, cpus=reserved)


def system_qos(text: str | None) -> Setting:
    """The CPUs of pods of QoS SYSTEM; they are theirs alone unless said otherwise.

    Raises ValueError for anything but an object of `cpuset` and `cpusetExclusive`.
    """
    said = _object(text)
    cpus = _cpus(said, "cpuset")
    exclusive = said.get("cpusetExclusive")
    if exclusive is not None and not isinstance(exclusive, bool):
        raise ValueError(f"cpusetExclusive {_shown(exclusive)} isn't true or false")
    members: Json = {"cpuset": cpulist.render(cpus)} if cpus else {}
    if exclusive is not None:
        members["cpusetExclusive"] = exclusive
    return Setting(members=members, cpus=frozenset() if exclusive is False else cpus)


def _object(text: str | None) -> Document:
    """The annotation's object; none, an empty text and `null` say nothing."""
    if text is None or not text.strip():
        return {}
    try:
        said = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise ValueError("it isn't a JSON object")
    return said


def _cpus(said: Document, member: str) -> CpuSet:
    text = said.get(member)
    if text is None:
        return frozenset()
    if not isinstance(text, str):
        raise ValueError(f"{member} {_shown(text)} isn't a string")
    try:
        return cpulist.parse(text)
    except cpulist.CpuListError as error:
        raise ValueError(f"{member}: {error}") from error


def _resources(value: object) -> dict[str, str]:
    """Quantities by resource, as text: Kubernetes takes numbers for them as well."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"resources {_shown(value)} isn't an object")
    for name, amount in value.items():
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            raise ValueError(f"resources: {name} {_shown(amount)} isn't a quantity")
        quantity.parse(str(amount))
    return {name: str(amount) for name, amount in sorted(value.items())}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
