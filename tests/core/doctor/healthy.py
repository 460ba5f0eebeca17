"""A node on which everything is known and nothing is wrong, and how to change it."""

from dataclasses import replace
from typing import Any

from numa_agent.core.cgroups import Version
from numa_agent.core.devices import NVIDIA, DeviceKind, Gpu, NodeSource, PciDevice
from numa_agent.core.doctor import Examination, Told
from numa_agent.core.doctor.facts import (
    AgentFacts,
    CgroupFacts,
    ClusterFacts,
    Dimm,
    KernelFacts,
    KubeletFacts,
    Kubepods,
    ServedKind,
)
from numa_agent.core.doctor.rights import rights_for
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.node import Node
from numa_agent.core.topology import CpuGroup, HugePages, NumaNode, Topology
from tests.machine_tree import cpus, machine, numa_node, pci_device

GIB = 2**30
BOOT = "0b1c2d3e-0000-4000-8000-000000000001"
ACCOUNT = "system:serviceaccount:numa-agent:numa-agent"


def told(value: Any, source: str = "somewhere") -> Told[Any]:
    return Told(source=source, value=value)


def untold(why: str = "not recorded") -> Told[Any]:
    return Told(source="somewhere", why=why)


def node(node_id: int, cpu_list: str, *, memory: int = 64 * GIB, pages: int = 4) -> NumaNode:
    pool = HugePages(size_kib=2048, total=pages, free=pages)
    return numa_node(node_id, cpu_list, memory_bytes=memory, hugepages=(pool,))


def gpu(address: str = "0000:3b:00.0", **facts: Any) -> Gpu:
    known = {
        "kind": DeviceKind.GPU,
        "vendor": NVIDIA,
        "node": 0,
        "nodes": (0,),
        "raw_numa_node": 0,
        "node_source": NodeSource.SYSFS,
    }
    memory_node = facts.pop("memory_node", None)
    device = pci_device(address, **(known | facts))
    return Gpu(device=device, cpus=None, memory_node=memory_node, nics=None, nvml=None)


def nic(address: str = "0000:5e:00.0", **facts: Any) -> PciDevice:
    known = {"kind": DeviceKind.NIC, "node": 1, "nodes": (1,), "raw_numa_node": 1}
    return pci_device(address, **(known | facts))


def topology(*nodes: NumaNode, **changes: Any) -> Topology:
    """Two packages of a node each, hardware threads of their own, a GPU and a NIC."""
    own = nodes or (node(0, "0-3"), node(1, "4-7"))
    gpus = changes.pop("gpus", (gpu(),))
    nics = changes.pop("nics", (nic(),))
    whole = replace(
        machine(*own),
        isolated=frozenset(),
        cores=tuple(frozenset({cpu}) for cpu in range(8)),
        packages=(CpuGroup(id=0, cpus=cpus("0-3")), CpuGroup(id=1, cpus=cpus("4-7"))),
        gpus=gpus,
        pci_devices=(*(each.device for each in gpus), *nics),
    )
    return replace(whole, **changes)


SETTINGS = KubeletSettings(
    cpu_manager_policy="static",
    cpu_manager_options={"full-pcpus-only": "true"},
    memory_manager_policy="Static",
    topology_manager_policy="single-numa-node",
    topology_manager_scope="pod",
    reserved_cpus=cpus("0,4"),
    reserved={"cpu": 2000, "memory": 924 * 2**20},
    reserved_memory={0: {"memory": 512 * 2**20}, 1: {"memory": 512 * 2**20}},
)
KUBELET = KubeletFacts(
    settings=told(SETTINGS, "var/lib/kubelet/config.yaml"),
    problems=(),
    cpu_state=told(CpuManagerState(policy="static", shared=cpus("0-7"), entries={})),
    memory_state=told(MemoryManagerState(policy="Static", pools={}, entries={})),
)
KERNEL = KernelFacts(
    command_line=told(("quiet", "numa_balancing=disable"), "proc/cmdline"),
    numa_balancing=told(0),
    zone_reclaim=told(0),
    huge_pages=told("madvise"),
    huge_page_defrag=told("madvise"),
    swap_bytes=told(0),
    nohz_full=told(frozenset()),
    governors=told({"performance": cpus("0-7")}),
    cpu_driver=told("acpi-cpufreq"),
    services=told({}),
    tuned_profile=untold(),
    normal_memory=told(frozenset({0, 1})),
    dimms=told((Dimm(locator="A1", kind="DDR5", size_bytes=32 * GIB, speed_mts=4800),) * 4),
)
PODS = Kubepods(path="kubepods.slice", populated=True, handed_on=True, writable=True)
CGROUPS = CgroupFacts(
    version=told(Version.V2, "sys/fs/cgroup"),
    read_only=told(value=False),
    kubepods=told((PODS,), "sys/fs/cgroup"),
    isolated=told(frozenset()),
)
NODE = Node(name="n", uid="u", boot_id=BOOT)
RIGHTS = rights_for("kube-scheduler", events=True, token_reviews=True, configz=True, gpu_map=True)
KIND = ServedKind(
    group_version="topology.node.k8s.io/v1alpha2", plural="noderesourcetopologies", served=True
)
CLUSTER = ClusterFacts(
    unreachable=None,
    user=told(ACCOUNT),
    rights=told(dict.fromkeys(RIGHTS, True)),
    kinds=told((KIND,)),
    clock_ahead=told(-9.0),
    node=told(NODE),
    rivals=told(()),
)
AGENT = AgentFacts(running=told(value=True), failures=told(()), conditions=told(()))

HEALTHY = Examination(
    scheduler="kube-scheduler",
    own_policy=None,
    topology=topology(),
    nvml_asked=True,
    kernel=KERNEL,
    cgroups=CGROUPS,
    kubelet=KUBELET,
    boot_id=told(BOOT),
    cluster=CLUSTER,
    agent=AGENT,
)


def kernel(seen: Examination = HEALTHY, **changes: Any) -> Examination:
    """The node with other settings of the kernel; each is a value that is told."""
    facts = {name: told(value, f"the file of {name}") for name, value in changes.items()}
    return replace(seen, kernel=replace(seen.kernel, **facts))


def kubelet(seen: Examination = HEALTHY, **changes: Any) -> Examination:
    """The node with other settings of kubelet, whose state agrees with them."""
    settings = replace(SETTINGS, **changes)
    facts = KubeletFacts(
        settings=told(settings, "var/lib/kubelet/config.yaml"),
        problems=(),
        cpu_state=told(
            CpuManagerState(policy=settings.cpu_manager_policy, shared=cpus("0-7"), entries={})
        ),
        memory_state=told(
            MemoryManagerState(policy=settings.memory_manager_policy, pools={}, entries={})
        ),
    )
    return replace(seen, kubelet=facts)


def cgroups(seen: Examination = HEALTHY, **changes: Any) -> Examination:
    """The node with other cgroups; each is a value that is told."""
    facts = {name: told(value, "sys/fs/cgroup") for name, value in changes.items()}
    return replace(seen, cgroups=replace(seen.cgroups, **facts))


def cluster(seen: Examination = HEALTHY, **changes: Any) -> Examination:
    """The node with another cluster; each is a value that is told, but for `unreachable`."""
    facts: dict[str, Any] = {
        name: value if name == "unreachable" else told(value) for name, value in changes.items()
    }
    return replace(seen, cluster=replace(seen.cluster, **facts))


def agent(seen: Examination = HEALTHY, **changes: Any) -> Examination:
    """The node with another agent; each is a value that is told."""
    facts = {name: told(value) for name, value in changes.items()}
    return replace(seen, agent=replace(seen.agent, **facts))


def mapped(*nodes: NumaNode, **changes: Any) -> Examination:
    """The node with another map."""
    return replace(HEALTHY, topology=topology(*nodes, **changes))
