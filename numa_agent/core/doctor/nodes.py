"""Whether the kernel has the machine's NUMA nodes, and what of memory is there.

https://docs.kernel.org/mm/numa.html and https://docs.kernel.org/admin-guide/mm/numaperf.html
"""

from numa_agent.core.cpulist import render
from numa_agent.core.doctor import packages
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight, listed
from numa_agent.core.topology import NodeKind, NumaNode

_NUMA = "https://docs.kernel.org/mm/numa.html"

NUMA_OFF = Rule(
    code="numa-switched-off",
    weight=Weight.FAULT,
    costs="the kernel ignores or makes up the machine's nodes: there is nothing to align to",
    source="https://docs.kernel.org/admin-guide/kernel-parameters.html",
)
PLAIN = Rule(
    code="memory-node-plain",
    weight=Weight.WARNING,
    costs="a node without CPUs is ordinary memory to everybody: what isn't bound spills into it"
    " and is slow there",
    source="https://docs.kernel.org/admin-guide/mm/memory-hotplug.html",
)
PLAIN_GPU = Rule(
    code="gpu-memory-node-plain",
    weight=Weight.WARNING,
    costs="the GPU's own memory is ordinary memory to everybody: pods without a GPU can fill it,"
    " and kubelet counts it as the node's",
    source="https://developer.nvidia.com/blog"
    "/understanding-memory-management-on-hardware-coherent-platforms/",
)
WITHOUT_MEMORY = Rule(
    code="node-without-memory",
    weight=Weight.WARNING,
    costs="every access of these CPUs goes to another node",
    source=_NUMA,
)
ODD = Rule(
    code="map-incomplete",
    weight=Weight.NOTE,
    costs="a fact of the map is missing, odd or contradicted, and is left out of decisions",
    source=_NUMA,
)

_TOLD_ELSEWHERE = ("nvml-", "pci-node-unknown", "device-node-contradicted")


def _switched_off(seen: Examination) -> Results:
    told = seen.kernel.command_line
    if told.value is None:
        yield told.unseen
        return
    for word in told.value:
        if word == "numa=off" or word.startswith("numa=fake"):
            option = word[:9]
            yield NUMA_OFF.found(
                "kernel",
                f"{told.source} has {option}",
                f"take {option} off the kernel's command line and boot again",
            )


def _memory_nodes(seen: Examination) -> Results:
    yield from seen.mapless
    owners = {
        gpu.memory_node: str(gpu.device.address)
        for gpu in seen.topology.gpus
        if gpu.memory_node is not None
    }
    plain = [node for node in seen.topology.nodes if node.kind is NodeKind.MEMORY]
    normal = seen.kernel.normal_memory
    of_gpus = [node for node in plain if node.id in owners]
    others = [node for node in plain if node.id not in owners]
    if plain and normal.value is None:
        yield normal.unseen
    kernel_too = "" if normal.value is None else _kernel_too(plain, normal.value)
    if others:
        yield PLAIN.found(
            f"nodes {render(node.id for node in others)}",
            f"online with {_sizes(others)} and without CPUs{kernel_too}",
            _fix_of_plain(seen),
        )
    if of_gpus:
        of_whom = listed([f"node {node.id} of GPU {owners[node.id]}" for node in of_gpus])
        yield PLAIN_GPU.found(
            f"nodes {render(node.id for node in of_gpus)}",
            f"online as memory: {of_whom}, {_sizes(of_gpus)}{kernel_too}",
            "options nvidia NVreg_CoherentGPUMemoryMode=driver below /etc/modprobe.d (driver 580"
            " and later) and boot again",
        )


def _fix_of_plain(seen: Examination) -> str:
    fix = (
        "daxctl reconfigure-device --mode=devdax keeps it for programs that ask for it; bound pods"
        " are held to their CPUs' memory (mems: with-cpus)"
    )
    offline = seen.topology.offline
    if not offline:
        return fix
    # The kernel lists a node's CPUs while they are online and no longer.
    return (
        f"CPUs {render(offline)} are offline, and may be this memory's: bring those back first."
        f" Where it is CXL's or the like: {fix}"
    )


def _kernel_too(nodes: list[NumaNode], normal: frozenset[int]) -> str:
    found = render(node.id for node in nodes if node.id in normal)
    return f"; has_normal_memory lists {found}, for the kernel's own data too" if found else ""


def _sizes(nodes: list[NumaNode]) -> str:
    return f"{sum(node.memory_bytes or 0 for node in nodes) // 2**30} GiB"


def _without_memory(seen: Examination) -> Results:
    yield from seen.mapless
    bare = [node.id for node in seen.topology.cpu_nodes if node.memory_bytes == 0]
    unknown = [node.id for node in seen.topology.cpu_nodes if node.memory_bytes is None]
    if bare:
        yield WITHOUT_MEMORY.found(
            f"nodes {render(bare)}",
            "it has CPUs and MemTotal is 0",
            "put memory modules into that package's slots; in a guest, give the node memory",
        )
    if unknown:
        yield Unseen(source=f"memory of nodes {render(unknown)}", why="not to be read")


def _odd(seen: Examination) -> Results:
    by_code: dict[str, list[str]] = {}
    for warning in seen.topology.warnings:
        if not warning.code.startswith(_TOLD_ELSEWHERE):
            by_code.setdefault(warning.code, []).append(warning.message)
    for code, messages in sorted(by_code.items()):
        more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
        yield ODD.found(
            code, f"{messages[0]}{more}", "`numa-agent topology` lists them; docs/topology-json.md"
        )


CHECKS = (
    Check(name="numa-switched-off", rules=(NUMA_OFF,), look=_switched_off),
    packages.CHECK,
    Check(name="memory-only-nodes", rules=(PLAIN, PLAIN_GPU), look=_memory_nodes),
    Check(name="nodes-without-memory", rules=(WITHOUT_MEMORY,), look=_without_memory),
    Check(name="map", rules=(ODD,), look=_odd),
)
