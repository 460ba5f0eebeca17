"""How firmware and kernel cut the machine into NUMA nodes, and what of memory they put there.

https://docs.kernel.org/mm/numa.html and https://docs.kernel.org/admin-guide/mm/numaperf.html
"""

from numa_agent.core.cpulist import render
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight, counted, listed
from numa_agent.core.topology import NodeKind, NumaNode

_NUMA = "https://docs.kernel.org/mm/numa.html"

NUMA_OFF = Rule(
    code="numa-switched-off",
    weight=Weight.FAULT,
    costs="the kernel ignores or makes up the machine's nodes: there is nothing to align to",
    source="https://docs.kernel.org/admin-guide/kernel-parameters.html",
)
INTERLEAVED = Rule(
    code="node-spans-packages",
    weight=Weight.WARNING,
    costs="one NUMA node has CPUs of several packages, so that near and far memory can't be told"
    " apart",
    source=_NUMA,
)
SEVERAL = Rule(
    code="several-nodes-per-package",
    weight=Weight.NOTE,
    costs="a pod that fits one package may not fit one of its nodes",
    source=_NUMA,
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


def _packages(seen: Examination) -> Results:
    yield from seen.mapless
    packages, nodes = seen.topology.packages, seen.topology.cpu_nodes
    if packages is None:
        yield Unseen(source="packages of CPUs", why="no file tells them")
        return
    several: list[str] = []
    spanning: list[str] = []
    for package in packages:
        inside = [node.id for node in nodes if node.cpus and node.cpus <= package.cpus]
        if len(inside) > 1:
            several.append(f"package {package.id} has nodes {render(inside)}")
    for node in nodes:
        ids = [package.id for package in packages if (node.cpus or frozenset()) & package.cpus]
        if len(ids) > 1:
            spanning.append(f"node {node.id} has CPUs of {counted(len(ids), 'package')}")
    if several:
        yield SEVERAL.found(
            "firmware",
            listed(several),
            "size pods by a node, or set sub-NUMA clustering (SNC) or nodes per socket (NPS) to 1"
            " in firmware",
        )
    if spanning:
        yield INTERLEAVED.found(
            "firmware",
            listed(spanning),
            "switch node interleaving (NPS0) off in firmware; give a guest the host's nodes",
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
            "daxctl reconfigure-device --mode=devdax keeps it for programs that ask for it; bound"
            " pods are held to their CPUs' memory (mems: with-cpus)",
        )
    if of_gpus:
        of_whom = listed([f"node {node.id} of GPU {owners[node.id]}" for node in of_gpus])
        yield PLAIN_GPU.found(
            f"nodes {render(node.id for node in of_gpus)}",
            f"online as memory: {of_whom}, {_sizes(of_gpus)}{kernel_too}",
            "options nvidia NVreg_CoherentGPUMemoryMode=driver below /etc/modprobe.d (driver 580"
            " and later) and boot again",
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
    Check(name="packages-and-nodes", rules=(INTERLEAVED, SEVERAL), look=_packages),
    Check(name="memory-only-nodes", rules=(PLAIN, PLAIN_GPU), look=_memory_nodes),
    Check(name="nodes-without-memory", rules=(WITHOUT_MEMORY,), look=_without_memory),
    Check(name="map", rules=(ODD,), look=_odd),
)
