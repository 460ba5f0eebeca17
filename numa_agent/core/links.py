"""How close two PCI devices are: the level of their path, as `nvidia-smi topo -m` names it.

From sysfs alone: a device's real path is its chain of bridges, /sys/devices/pciDDDD:BB/<bridge>/…,
where `pciDDDD:BB` is the host bridge's bus. Levels: https://docs.nvidia.com/deploy/nvml-api/ (the
nvmlGpuTopologyLevel_t enumeration) and the legend of nvidia-smi.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The nearest thing that two devices share, nearest first."""

    PIX = "PIX"
    """At most one PCIe switch."""
    PXB = "PXB"
    """Several bridges, but no host bridge."""
    PHB = "PHB"
    """One host bridge."""
    NODE = "NODE"
    """One NUMA node, in which they are on different host bridges."""
    SYS = "SYS"
    """The machine: different NUMA nodes."""


NVML_LEVELS = {10: Level.PIX, 20: Level.PXB, 30: Level.PHB, 40: Level.NODE, 50: Level.SYS}
"""NVML's numbers for the same levels; 0 (one board) has no name of its own in the matrix."""


@dataclass(frozen=True, slots=True)
class PciPath:
    """Where a device hangs.

    `roots` are the host bridges' buses, outermost first (a second one behind an Intel VMD),
    `bridges` those below the last of them, nearest to the host first, `above` the functions
    between the roots.
    """

    roots: tuple[str, ...]
    bridges: tuple[str, ...]
    above: tuple[str, ...] = ()


def parse_path(link: str) -> PciPath | None:
    """The path in a link such as `../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0`.

    The last part is the device itself. None where no host bridge is named.
    """
    parts = link.split("/")[:-1]
    roots = [position for position, part in enumerate(parts) if part.startswith("pci")]
    roots = [position for position in roots if ":" in parts[position]]
    if not roots:
        return None
    return PciPath(
        roots=tuple(parts[position] for position in roots),
        bridges=tuple(parts[roots[-1] + 1 :]),
        above=tuple(
            part
            for position, part in enumerate(parts[roots[0] : roots[-1]], roots[0])
            if position not in roots
        ),
    )


def level(
    a: PciPath | None, b: PciPath | None, node_a: int | None, node_b: int | None
) -> Level | None:
    """The level of two devices; None where a path or, between host bridges, a node is unknown."""
    if a is None or b is None:
        return None
    if a.roots == b.roots:
        return _below_one_host_bridge(a.bridges, b.bridges)
    if a.roots[0] == b.roots[0]:
        return Level.PHB
    if node_a is None or node_b is None:
        return None
    return Level.NODE if node_a == node_b else Level.SYS


def _below_one_host_bridge(a: Sequence[str], b: Sequence[str]) -> Level:
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    if not shared:
        return Level.PHB
    # A switch is one bridge that both share and one bridge of its own for each.
    return Level.PIX if max(len(a), len(b)) - shared <= 1 else Level.PXB
