"""The matrix that people know from `nvidia-smi topo -m`, made from the map.

Rows and columns are GPUs, then NICs. A cell is NV# where # NVLinks join two GPUs, else the level
of their path, or `?` where it can't be told. The last column says where the NUMA node was found.
"""

from collections.abc import Iterator, Sequence
from itertools import count
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
  ?    = unknown: a node or a path isn't known"""


def lines(topology: Topology) -> Iterator[str]:
    """The matrix with tabs as nvidia-smi lays them, the legend and the names of the NICs."""
    gpus, nics = topology.gpus, _nics(topology)
    if not gpus and not nics:
        yield "no GPU, accelerator or NIC found"
        return
    names = [*gpu_names(gpus), *(f"NIC{position}" for position in range(len(nics)))]
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

    Beside GPUs that NVML knows, one that it doesn't (given away to a guest, say) has a letter.
    Other accelerators are `ACC` and their place.
    """
    numbers = (str(n) for n in count())
    unknown = (letter for letter in ascii_lowercase) if any(g.nvml for g in gpus) else numbers
    accelerators = count()
    return [
        f"ACC{next(accelerators)}"
        if gpu.device.kind is DeviceKind.ACCELERATOR
        else f"GPU{gpu.nvml.index if gpu.nvml is not None else next(unknown, '?')}"
        for gpu in gpus
    ]


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
