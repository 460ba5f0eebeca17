"""How verdicts say sets and amounts."""

from collections import Counter
from collections.abc import Iterable

from numa_agent.core.cpulist import render
from numa_agent.core.quoting import cut
from numa_agent.core.verdict.facts import Facts, HeldDevice

_KINDS = {"gpu": "GPU", "nic": "NIC", "nvme": "NVMe disk", "other": "device"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_force(facts: Facts) -> str:
    """Which CPUs are in force, of which decided, and on which the tasks keep themselves."""
    effective = facts.effective or frozenset()
    said = f"CPUs {render(effective)} are in force" if effective else "no CPU is in force"
    if facts.decided is not None and effective < facts.decided:
        said += f" of {render(facts.decided)} decided"
    if facts.used and facts.used < effective:
        said += f" and its tasks keep to {render(facts.used)}"
    return said


def nodes(ids: Iterable[int]) -> str:
    """`node 1` or `nodes 0,2`."""
    listed = sorted(ids)
    return f"node{'s' if len(listed) > 1 else ''} {render(listed)}"


def named_device(device: HeldDevice) -> str:
    """`gpu GPU-1234`; a plugin may call its devices anything."""
    name = device.id if device.id.isprintable() else repr(device.id)
    return f"{device.kind} {cut(name)}"


def devices(held: Iterable[HeldDevice]) -> str:
    """`4 GPUs, 1 NIC`."""
    counts = Counter(_KINDS.get(each.kind, each.kind) for each in held)
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())


def amount(size: int) -> str:
    """Bytes in the largest unit of which it is one or more, to three digits."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    shown = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return f"{shown} {_UNITS[unit]}"
