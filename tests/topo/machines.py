"""The machines behind the matrices, written as the files that a kernel and a driver would show."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from numa_agent.core.topology import Topology

_PATH = Path(__file__).with_name("machines.yaml")

GPU_CLASS, NIC_CLASS, BRIDGE_CLASS = "0x030200", "0x020700", "0x060400"
_NVIDIA, _MELLANOX = "0x10de", "0x15b3"
_NVLINK_4 = 6
_TO_GPU, _TO_SWITCH = 0, 2
_GIB_IN_KIB = 1 << 20

Item = str | list["Item"]
"""A device, several functions of one card joined by +, or what is behind a switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One description of machines.yaml."""

    nodes: dict[int, str]
    pci: dict[int, list[list[Item]]]
    nvlink: dict[str, Any]
    memory: dict[str, int]


@dataclass(frozen=True, slots=True)
class Function:
    """One PCI function: its published name (None is a bridge's), address, folder and node."""

    name: str | None
    address: str
    path: str
    node: int


def machines() -> dict[str, Machine]:
    """Every machine by the number of its matrix."""
    described: dict[str, dict[str, Any]] = yaml.safe_load(_PATH.read_text(encoding="utf-8"))
    return {
        number: Machine(
            nodes=said["nodes"],
            pci=said["pci"],
            nvlink=said.get("nvlink", {}),
            memory=said.get("memory", {}),
        )
        for number, said in described.items()
    }


def functions(machine: Machine) -> list[Function]:
    """Every function of the machine; each host bridge has a PCI domain of its own."""
    bridges = [(node, ports) for node, hosts in machine.pci.items() for ports in hosts]
    return [
        function
        for domain, (node, ports) in enumerate(bridges)
        for function in _behind(domain, node, ports)
    ]


def _behind(domain: int, node: int, ports: list[Item]) -> Iterator[Function]:
    buses = iter(range(1, 256))

    def walk(items: list[Item], path: str, bus: int) -> Iterator[Function]:
        """A bridge for each item, and the item behind it; a switch has one in front of all."""
        for slot, item in enumerate(items):
            address = f"{domain:04x}:{bus:02x}:{slot + 1:02x}.0"
            yield Function(None, address, f"{path}/{address}", node)
            inside, below = f"{path}/{address}", next(buses)
            if isinstance(item, str):
                for number, name in enumerate(item.split("+")):
                    own = f"{domain:04x}:{below:02x}:00.{number}"
                    yield Function(name, own, f"{inside}/{own}", node)
            else:
                upstream = f"{domain:04x}:{below:02x}:00.0"
                yield Function(None, upstream, f"{inside}/{upstream}", node)
                yield from walk(item, f"{inside}/{upstream}", next(buses))

    yield from walk(ports, f"sys/devices/pci{domain:04x}:00", 0)


def is_gpu(name: str) -> bool:
    """Whether a published name is a GPU's."""
    return name.startswith("GPU")


def write(root: Path, machine: Machine) -> None:
    """The machine's files below `root`, with the node that firmware gives each device."""
    ids = sorted(machine.nodes)
    everything = _all_cpus(machine)
    _lines(root / "sys/devices/system/cpu", online=everything, present=everything)
    _lines(root / "sys/devices/system/node", online=",".join(map(str, ids)))
    memory_nodes = set(machine.memory.values())
    for node, cpus in machine.nodes.items():
        kib = _GIB_IN_KIB if cpus or node in memory_nodes else 0
        _lines(
            root / f"sys/devices/system/node/node{node}",
            cpulist=cpus,
            distance=" ".join("10" if other == node else "40" for other in ids),
            meminfo=f"Node {node} MemTotal: {kib} kB",
        )
    for function in functions(machine):
        _write_function(root, function, machine.nodes.get(function.node, everything))


def silence(root: Path, machine: Machine) -> None:
    """Make it a firmware that places no device: -1, and every CPU is local."""
    for function in functions(machine):
        _lines(root / function.path, numa_node="-1", local_cpulist=_all_cpus(machine))


def _all_cpus(machine: Machine) -> str:
    return ",".join(cpus for cpus in machine.nodes.values() if cpus)


def _write_function(root: Path, function: Function, cpus: str) -> None:
    folder = root / function.path
    if function.name is None:
        _lines(folder, **{"class": BRIDGE_CLASS}, numa_node=str(function.node))
    else:
        gpu = is_gpu(function.name)
        _lines(
            folder,
            **{"class": GPU_CLASS if gpu else NIC_CLASS},
            vendor=_NVIDIA if gpu else _MELLANOX,
            numa_node=str(function.node),
            local_cpulist=cpus,
        )
        if not gpu:
            (folder / "infiniband" / function.name).mkdir(parents=True)
    link = root / "sys/bus/pci/devices" / function.address
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../../../{function.path.removeprefix('sys/')}")


def _lines(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


def write_nvml(root: Path, machine: Machine, affinity: dict[str, str | None]) -> None:
    """The driver's answers, with the memory affinity of each GPU that has one."""
    found = {f.name: f.address for f in functions(machine) if f.name and is_gpu(f.name)}
    names = sorted(found, key=lambda name: int(name.removeprefix("GPU")))
    gpus = [
        {
            "handle": None,
            "pci": {"bus_id": f"0000{found[name]}"},
            "numa_node_id": machine.memory.get(name, {"error": "NotSupported"}),
            "memory_affinity": [affinity.get(name) or {"error": "NotSupported"}] * 2,
            **_nvlinks(machine, position, [found[other] for other in names]),
        }
        for position, name in enumerate(names)
    ]
    answers: dict[str, Any] = {"format": "numa-agent.nvml/v1", "init": None, "system": {}}
    (root / "answers").mkdir(exist_ok=True)
    (root / "answers/nvml.json").write_text(json.dumps(answers | {"gpus": gpus}), encoding="utf-8")


def _nvlinks(machine: Machine, gpu: int, addresses: list[str]) -> dict[str, list[Any]]:
    ends: list[Any] = []
    if "switch" in machine.nvlink:
        kind = _TO_SWITCH
        off = gpu in machine.nvlink.get("without", [])
        ends = [] if off else [{"error": "NotSupported"}] * int(machine.nvlink["switch"])
    else:
        kind = _TO_GPU
        for pair, count in machine.nvlink.items():
            first, second = map(int, pair.split("-"))
            if gpu in (first, second):
                ends += [f"0000{addresses[second if gpu == first else first]}"] * count
    return {
        "nvlink_state": [1] * len(ends),
        "nvlink_version": [_NVLINK_4] * len(ends),
        "nvlink_remote_type": [kind] * len(ends),
        "nvlink_remote_bus_id": ends,
    }


def names_by_address(machine: Machine) -> dict[str, str]:
    """The published name of each device by its address."""
    return {f.address: f.name for f in functions(machine) if f.name is not None}


def sources(topology: Topology, machine: Machine) -> dict[str, str]:
    """Where the node of each device was found, by its published name."""
    names = names_by_address(machine)
    devices = {str(device.address): device for device in topology.pci_devices}
    return {names[address]: devices[address].node_source.value for address in names}
