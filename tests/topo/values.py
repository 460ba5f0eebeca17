"""Facts of small machines as values, for tests that need no file."""

from collections.abc import Iterable, Mapping

from numa_agent.core import cpulist
from numa_agent.core.facts import CpuFacts, MachineFacts, PciFacts
from numa_agent.core.links import parse_path
from numa_agent.core.nvml import NvLink, NvmlAnswers, NvmlCondition, NvmlError, NvmlGpu
from numa_agent.core.pci import PciAddress
from numa_agent.core.topology import Cache, NumaNode, node_kind

GPU_CLASS, NIC_CLASS, VGA_CLASS, BRIDGE_CLASS = 0x030200, 0x020700, 0x030000, 0x060400
NVIDIA, AMD, MELLANOX, ASPEED, INTEL = 0x10DE, 0x1002, 0x15B3, 0x1A03, 0x8086


def address(text: str) -> PciAddress:
    """An address by its text."""
    return PciAddress.parse(text)


def node(
    node_id: int, cpus: str | None, *, near: tuple[int, ...] = (), memory: int = 1 << 30
) -> NumaNode:
    """One NUMA node; `near` are the nearest nodes with CPUs of one that has none."""
    own = None if cpus is None else cpulist.parse(cpus)
    return NumaNode(
        id=node_id,
        kind=node_kind(own, memory),
        cpus=own,
        memory_bytes=memory,
        hugepages=(),
        distances=None,
        nearest_cpu_nodes=(node_id,) if own else near,
    )


TWO_NODES = (node(0, "0-3"), node(1, "4-7"))
FOUR_NODES = tuple(node(n, f"{2 * n}-{2 * n + 1}") for n in range(4))


def function(
    name: str,
    class_code: int | None = GPU_CLASS,
    vendor: int | None = NVIDIA,
    *,
    numa: int | None = -1,
    below: str | None = None,
    local: str | None = None,
    driver: str | None = None,
    physical: str | None = None,
) -> PciFacts:
    """One PCI function; `below` is the folder it hangs in, a host bridge of its own by default."""
    own = address(name)
    folder = f"pci{own.domain:04x}:{own.bus:02x}" if below is None else below
    return PciFacts(
        address=own,
        class_code=class_code,
        vendor=vendor,
        device=1,
        numa_node=numa,
        local_cpus=None if local is None else cpulist.parse(local),
        path=parse_path(f"../../../devices/{folder}/{name}"),
        driver=driver,
        physical_function=None if physical is None else address(physical),
    )


def nic(name: str, *, numa: int | None = -1, below: str | None = None) -> PciFacts:
    """An InfiniBand card."""
    return function(name, NIC_CLASS, MELLANOX, numa=numa, below=below, driver="mlx5_core")


def facts(
    *pci: PciFacts,
    nodes: tuple[NumaNode, ...] = TWO_NODES,
    isolated: str = "",
    caches: tuple[Cache, ...] = (),
    gpu_memory_nodes: Mapping[int, PciAddress] | None = None,
) -> MachineFacts:
    """A machine of these nodes and functions."""
    online = frozenset[int]().union(*(n.cpus or () for n in nodes))
    return MachineFacts(
        cpus=CpuFacts(
            online=online,
            present=online,
            isolated=cpulist.parse(isolated),
            cores=None,
            packages=None,
            dies=(),
            clusters=(),
            caches=caches,
            kinds=(),
        ),
        nodes=nodes,
        pci=tuple(sorted(pci, key=lambda entry: entry.address)),
        gpu_memory_nodes=gpu_memory_nodes or {},
        warnings=(),
    )


def nvml_gpu(
    index: int,
    name: str | None,
    *,
    memory_nodes: str | None = None,
    memory_node: int | None = None,
    nvlinks: Iterable[NvLink] = (),
    common_ancestors: Mapping[int, int] | None = None,
    p2p: Mapping[str, Mapping[int, int]] | None = None,
    lost: bool = False,
    errors: tuple[NvmlError, ...] = (),
) -> NvmlGpu:
    """One GPU as NVML shows it; what isn't said, it doesn't tell."""
    return NvmlGpu(
        index=index,
        address=None if name is None else address(name),
        uuid=f"GPU-{index}",
        minor=index,
        name=None,
        memory_bytes=None,
        persistence=None,
        memory_node=memory_node,
        addressing_mode=None,
        c2c=None,
        memory_nodes=None if memory_nodes is None else cpulist.parse(memory_nodes),
        mig_mode=None,
        mig_pending=None,
        mig=(),
        nvlinks=tuple(nvlinks),
        common_ancestors=common_ancestors or {},
        p2p=p2p or {},
        fabric=None,
        lost=lost,
        errors=errors,
    )


def answers(*gpus: NvmlGpu, conditions: tuple[NvmlCondition, ...] = ()) -> NvmlAnswers:
    """What NVML said of these GPUs."""
    return NvmlAnswers(
        driver_version=None, nvml_version=None, gpus=tuple(gpus), conditions=conditions
    )


def to_gpu(remote: str, count: int, version: int | None = 6) -> list[NvLink]:
    """Active links to another GPU."""
    end = address(remote)
    return [NvLink(link=n, version=version, remote_type=0, remote=end) for n in range(count)]


def to_switch(count: int, version: int | None = 6) -> list[NvLink]:
    """Active links into a switch outside of the machine."""
    return [NvLink(link=n, version=version, remote_type=2, remote=None) for n in range(count)]
