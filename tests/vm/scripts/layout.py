"""What the kernel says about the machine: nodes, CPUs and the display controllers."""

from pathlib import Path
from typing import Any

SYSTEM = Path("/sys/devices/system")


def layout() -> dict[str, Any]:
    """The lists and distances of sysfs as they are written, by node, CPU or PCI address."""
    nodes = sorted((SYSTEM / "node").glob("node*"))
    cpus = sorted((SYSTEM / "cpu").glob("cpu[0-9]*"))
    return {
        "online": _read(SYSTEM / "node/online"),
        "has_cpu": _read(SYSTEM / "node/has_cpu"),
        "cpulist": {node.name: _read(node / "cpulist") for node in nodes},
        "distance": {node.name: _read(node / "distance") for node in nodes},
        "memory_mib": {node.name: _memory_mib(node) for node in nodes},
        "siblings": {cpu.name: _read(cpu / "topology/thread_siblings_list") for cpu in cpus},
        "displays": {
            device.name: _read(device / "numa_node")
            for device in sorted(Path("/sys/bus/pci/devices").iterdir())
            if _read(device / "class") == "0x038000"
        },
    }


def _memory_mib(node: Path) -> int:
    [line] = (line for line in _read(node / "meminfo").splitlines() if "MemTotal" in line)
    return int(line.split()[-2]) // 1024


def _read(path: Path) -> str:
    return path.read_text().strip()
