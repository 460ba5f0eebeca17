"""The machine that a guest runs on: nodes, CPUs and devices, and how to ask QEMU for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

CPU_MODEL = "qemu64,vendor=GenuineIntel,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16"
"""A CPU that emulation can do in full. Linux reads SMT siblings only from a vendor it knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node; one without CPUs is memory only."""

    cpus: range = range(0)
    memory_mib: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine to boot. Its nodes have the ids 0, 1, ..., and its CPUs are numbered without gap.

    `threads` is CPUs per core; CPUs that follow each other are siblings. `distances` is what the
    kernel's `distance` files shall say, row by row; without it nodes are 20 apart. For each of
    `displays` there is a display controller (PCI class 0x0380) whose numa_node is the given one,
    or unknown (-1) for None.
    """

    nodes: tuple[Node, ...]
    threads: int = 1
    distances: tuple[tuple[int, ...], ...] = ()
    cgroup: Literal["v2", "v1"] = "v2"
    displays: tuple[int | None, ...] = ()

    @property
    def display_addresses(self) -> tuple[str, ...]:
        """The PCI address of each of `displays`, as sysfs spells it."""
        return tuple(
            f"0000:{_bus(index) + 1:02x}:00.0"
            if node is not None
            else f"0000:00:{0x10 + index:x}.0"
            for index, node in enumerate(self.displays)
        )


def machine_arguments(machine: Machine) -> list[str]:
    """The part of QEMU's command line that makes this machine.

    https://www.qemu.org/docs/master/system/invocation.html
    """
    return [
        *("-machine", "q35", "-cpu", CPU_MODEL),
        *_node_arguments(machine),
        *_display_arguments(machine),
    ]


def _node_arguments(machine: Machine) -> Iterator[str]:
    """CPUs, memory and distances. Each node with CPUs is a package if they all have as many."""
    sizes = [len(node.cpus) for node in machine.nodes if node.cpus]
    packages = len(sizes) if len(set(sizes)) == 1 else 1
    cores = sum(sizes) // packages // machine.threads
    yield from ("-m", f"{sum(node.memory_mib for node in machine.nodes)}M", "-smp")
    yield f"{sum(sizes)},sockets={packages},cores={cores},threads={machine.threads}"
    for index, node in enumerate(machine.nodes):
        cpus = "".join(f",cpus={cpu}" for cpu in node.cpus)
        yield from ("-object", f"memory-backend-ram,id=m{index},size={node.memory_mib}M")
        yield from ("-numa", f"node,nodeid={index},memdev=m{index}{cpus}")
    for source, row in enumerate(machine.distances):
        for target, distance in enumerate(row):
            if source != target:
                yield from ("-numa", f"dist,src={source},dst={target},val={distance}")


def _display_arguments(machine: Machine) -> Iterator[str]:
    """Each display's bridge and the display. A device has the node of the expander bridge that it
    is behind (docs/pci_expander_bridge.txt of QEMU), which takes nothing but bridges itself.
    """
    for index, node in enumerate(machine.displays):
        if node is None:
            yield from ("-device", f"secondary-vga,bus=pcie.0,addr={0x10 + index:#x}")
            continue
        bus = f"bus_nr={_bus(index)},numa_node={node},bus=pcie.0"
        yield from ("-device", f"pxb-pcie,id=bridge{index},{bus}")
        yield from (
            "-device",
            f"pcie-root-port,id=port{index},bus=bridge{index},chassis={index + 1}",
        )
        yield from ("-device", f"secondary-vga,bus=port{index}")


def _bus(index: int) -> int:
    """The PCI bus number of the expander bridge of the display at `index`."""
    return 0x40 + 0x10 * index
