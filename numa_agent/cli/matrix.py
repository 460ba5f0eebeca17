"""The matrix that people know from `nvidia-smi topo -m`, made from the map.

Rows and columns are GPUs in the order of NVML's index, then those that it doesn't know and other
accelerators, then NICs, both in address order. A cell is NV# where # NVLinks join two GPUs, else
the level of their path, or `?` where it can't be told. The last column says where the NUMA node
was found.
"""

from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_lowercase

from numa_agent.core import cpulist
from numa_agent.core.devices import DeviceKind, Gpu, Link, PciDevice
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import Topology

_LEGEND = """\

Legend:

  X    = itself
  NV#  = # NVLinks, straight or through a switch
  PIX  = at most one PCIe switch
  PXB  = several PCIe bridges, no host bridge
  PHB  = one host bridge
  NODE = one NUMA node, different host bridges
  SYS  = different NUMA nodes
  ?    = unknown: a node or a path isn't known

  CPU Affinity: the node's online CPUs without isolated ones"""


def lines(topology: Topology) -> Iterator[str]:
    """The matrix with tabs as nvidia-smi lays them, the legend and the names of the NICs."""
    named, nics = _named_gpus(topology.gpus), _nics(topology)
    if not named and not nics:
        yield "no GPU, accelerator or NIC found"
        return
    gpus = [gpu for gpu, _ in named]
    names = [*(name for _, name in named), *(f"NIC{position}" for position in range(len(nics)))]
    ends = [*(gpu.device for gpu in gpus), *nics]
    pairs = {(link.a, link.b): link for link in topology.links}
    yield "\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID", "NUMA source"])
    for position, (name, device) in enumerate(zip(names, ends, strict=True)):
        cells = [
            " X " if device is other else cell(pairs.get(_key(device, other))) for other in ends
        ]
        tail = _gpu_tail(gpus[position]) if position < len(gpus) else _nic_tail(device)
        yield "\t".join([name, *cells, *tail])
    yield from _LEGEND.splitlines()
    yield from _named("GPU", names[: len(gpus)], [gpu.device for gpu in gpus])
    yield from _named("NIC", names[len(gpus) :], nics)


def gpu_names(gpus: Sequence[Gpu]) -> list[str]:
    """What people call each GPU: `GPU` and its NVML index, or its place in address order.

    Beside GPUs that NVML knows, one that it doesn't (given away to a guest, say) has a letter; the
    27th has two.
    Other accelerators are `ACC` and their place.
    """
    unknown = _letters() if any(gpu.nvml for gpu in gpus) else map(str, count())
    accelerators = count()
    return [
        f"ACC{next(accelerators)}"
        if gpu.device.kind is DeviceKind.ACCELERATOR
        else f"GPU{gpu.nvml.index if gpu.nvml is not None else next(unknown)}"
        for gpu in gpus
    ]


def _letters() -> Iterator[str]:
    """a to z, then aa, ab and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _named_gpus(gpus: Sequence[Gpu]) -> list[tuple[Gpu, str]]:
    """The GPUs and their names as people count them: by NVML's index, the others behind."""

    def place(named: tuple[Gpu, str]) -> tuple[bool, int]:
        nvml = named[0].nvml
        return (nvml is None, 0 if nvml is None else nvml.index)

    return sorted(zip(gpus, gpu_names(gpus), strict=True), key=place)


def cell(link: Link | None) -> str:
    """One cell of the matrix."""
    if link is None:
        return "?"
    if link.nvlinks:
        return f"NV{link.nvlinks}"
    return "?" if link.level is None else link.level.value


def _nics(topology: Topology) -> list[PciDevice]:
    """The NICs in the matrix: those with RDMA, as nvidia-smi has them; all where none has."""
    rdma = [nic for nic in topology.nics if nic.rdma]
    return rdma or list(topology.nics)


def _key(a: PciDevice, b: PciDevice) -> tuple[PciAddress, PciAddress]:
    return (a.address, b.address) if a.address < b.address else (b.address, a.address)


def _gpu_tail(gpu: Gpu) -> list[str]:
    cpus = "?" if gpu.cpus is None else cpulist.render(gpu.cpus)
    own = "N/A" if gpu.memory_node is None else str(gpu.memory_node)
    return [cpus, _nodes(gpu.device), own, gpu.device.node_source.value]


def _nic_tail(nic: PciDevice) -> list[str]:
    return ["", _nodes(nic), "", nic.node_source.value]


def _nodes(device: PciDevice) -> str:
    return cpulist.render(device.nodes) or "?"


def _named(kind: str, names: Sequence[str], devices: Sequence[PciDevice]) -> Iterator[str]:
    if not devices:
        return
    yield ""
    yield f"{kind} legend:"
    yield ""
    for name, device in zip(names, devices, strict=True):
        interfaces = ", ".join([*device.rdma, *device.interfaces])
        yield f"  {name}: {device.address} {interfaces}".rstrip()
