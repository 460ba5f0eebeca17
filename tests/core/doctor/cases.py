"""For each code a node on which it is found, and words that its evidence must have."""

from dataclasses import replace

from numa_agent.core.cgroups import Version
from numa_agent.core.conditions import Condition
from numa_agent.core.devices import NodeSource
from numa_agent.core.doctor import Examination, Told
from numa_agent.core.doctor.facts import Dimm, RivalSeen
from numa_agent.core.doctor.rights import Right
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.topology import TopologyWarning
from tests.core.doctor.healthy import (
    GIB,
    HEALTHY,
    KIND,
    KUBELET,
    PODS,
    RIGHTS,
    agent,
    cgroups,
    cluster,
    gpu,
    kernel,
    kubelet,
    mapped,
    nic,
    node,
    topology,
)
from tests.machine_tree import cpus, numa_node

ASSIGNING = replace(HEALTHY, scheduler="koordinator")
EVENTS = Right(group="", resource="events", verb="create")
PODS_RIGHT = Right(group="", resource="pods", verb="list")
MANY = tuple(node(each, f"{each}") for each in range(9))


def without(*rights: Right) -> dict[Right, bool]:
    return {right: right not in rights for right in RIGHTS}


def warned(code: str, subject: str = "GPU 0", message: str = "it is so") -> Examination:
    warning = TopologyWarning(code=code, subject=subject, message=f"{subject}: {message}")
    return mapped(warnings=(warning,))


CASES: dict[str, tuple[Examination, str]] = {
    "numa-switched-off": (kernel(command_line=("quiet", "numa=off")), "has numa=off"),
    "node-spans-packages": (mapped(node(0, "0-7")), "node 0 has CPUs of 2 packages"),
    "several-nodes-per-package": (
        mapped(node(0, "0-1"), node(1, "2-3"), node(2, "4-7")),
        "package 0 has nodes 0-1",
    ),
    "memory-node-plain": (
        mapped(node(0, "0-3"), node(1, "4-7"), numa_node(2, "", memory_bytes=16 * GIB)),
        "online with 16 GiB and without CPUs",
    ),
    "gpu-memory-node-plain": (
        mapped(
            node(0, "0-3"),
            node(1, "4-7"),
            numa_node(2, "", memory_bytes=96 * GIB),
            gpus=(gpu(memory_node=2),),
        ),
        "node 2 of GPU 0000:3b:00.0, 96 GiB",
    ),
    "node-without-memory": (mapped(node(0, "0-3"), node(1, "4-7", memory=0)), "MemTotal is 0"),
    "map-incomplete": (warned("damaged-file", "/sys/x", "the file is empty"), "/sys/x"),
    "memory-unbalanced": (
        mapped(node(0, "0-3"), node(1, "4-7", memory=48 * GIB)),
        "node 0 65536 MiB, node 1 49152 MiB",
    ),
    "hugepages-on-some-nodes": (
        mapped(node(0, "0-3"), node(1, "4-7", pages=0)),
        "node 0 4, node 1 0",
    ),
    "dimms-mixed": (
        kernel(
            dimms=(
                Dimm(locator="A1", kind="DDR5", size_bytes=32 * GIB, speed_mts=4800),
                Dimm(locator="A2", kind="DDR5", size_bytes=32 * GIB, speed_mts=4400),
            )
        ),
        "1 of 4400 MT/s, 1 of 4800 MT/s",
    ),
    "gpu-place-unknown": (
        mapped(gpus=(gpu(node=None, nodes=(), raw_numa_node=-1),)),
        "0000:3b:00.0 (numa_node -1)",
    ),
    "nic-place-unknown": (
        mapped(nics=(nic(node=None, nodes=(), raw_numa_node=None),)),
        "0000:5e:00.0 (numa_node isn't there)",
    ),
    "device-place-ambiguous": (
        mapped(
            gpus=(gpu(node=None, nodes=(0, 1), raw_numa_node=-1, node_source=NodeSource.NVML),)
        ),
        "0000:3b:00.0 (nodes 0-1 by nvml, numa_node -1)",
    ),
    "device-place-contradicted": (warned("device-node-contradicted"), "it is so"),
    "nvml-version-mismatch": (warned("nvml-version-mismatch", "nvml"), "it is so"),
    "gpu-unusable": (warned("nvml-gpu-lost"), "it is so"),
    "persistence-off": (warned("nvml-persistence-off"), "it is so"),
    "nvml-incomplete": (warned("nvml-library-missing", "nvml"), "it is so"),
    "cpus-offline": (mapped(present=cpus("0-9")), "present are 0-9, online 0-7"),
    "isolated-cpus-allocatable": (mapped(isolated=cpus("6-7")), "isolated are 6-7"),
    "isolated-cpus-reserved": (mapped(isolated=cpus("4-5")), "reservedSystemCPUs 0,4"),
    "nohz-full-not-isolated": (kernel(nohz_full=cpus("2-3")), "is 2-3, isolated are none"),
    "cpus-partitioned-off": (cgroups(isolated=cpus("3")), "sys/fs/cgroup is 3"),
    "cpu-governors-differ": (
        kernel(governors={"performance": cpus("0-3"), "schedutil": cpus("4-7")}),
        "performance on CPUs 0-3, schedutil on CPUs 4-7",
    ),
    "cpu-governor-slowest": (
        kernel(governors={"powersave": cpus("0-7")}),
        "by the driver acpi-cpufreq",
    ),
    "irqbalance-running": (kernel(services={"irqbalance": "process 7"}), "process 7"),
    "tuned-running": (
        kernel(services={"tuned": "process 8"}, tuned_profile="cpu-partitioning"),
        "process 8, with the profile cpu-partitioning",
    ),
    "numa-balancing-on": (kernel(numa_balancing=1), "numa_balancing is 1"),
    "memory-tiering-on": (kernel(numa_balancing=2), "numa_balancing is 2"),
    "zone-reclaim-on": (kernel(zone_reclaim=1), "zone_reclaim is 1"),
    "thp-always": (kernel(huge_pages="always"), "huge_pages is always"),
    "thp-defrag-always": (kernel(huge_page_defrag="always"), "defrag is always"),
    "swap-on": (kernel(swap_bytes=8 * GIB), "SwapTotal 8192 MiB"),
    "topology-manager-too-many-nodes": (
        mapped(*MANY, packages=()),
        "9 NUMA nodes are online, and var/lib/kubelet/config.yaml has topologyManagerPolicy:"
        " single-numa-node with max-allowable-numa-nodes 8 (default)",
    ),
    "topology-manager-would-not-start": (
        replace(kubelet(topology_manager_policy="none"), topology=topology(*MANY, packages=())),
        "topologyManagerPolicy: none",
    ),
    "topology-manager-not-aligning": (
        kubelet(topology_manager_policy="best-effort"),
        "topologyManagerPolicy: best-effort",
    ),
    "topology-manager-by-container": (
        kubelet(topology_manager_scope="container"),
        "topologyManagerScope: container",
    ),
    "kubelet-admits-too": (ASSIGNING, "the scheduler (koordinator) places pods"),
    "kubelet-assigns-too": (ASSIGNING, "the scheduler (koordinator) assigns CPUs"),
    "kubelet-writes-the-same-files": (
        cgroups(ASSIGNING, version=Version.V1),
        "cpuManagerPolicy: static",
    ),
    "kubelet-pins-nothing": (kubelet(cpu_manager_policy="none"), "cpuManagerPolicy: none"),
    "static-policy-spreads": (
        kubelet(
            cpu_manager_options={
                "full-pcpus-only": "true",
                "distribute-cpus-across-numa": "true",
            }
        ),
        "has distribute-cpus-across-numa",
    ),
    "static-policy-splits-cores": (
        replace(
            kubelet(cpu_manager_options={}),
            topology=topology(cores=(cpus("0-1"), cpus("2-3"), cpus("4-5"), cpus("6-7"))),
        ),
        "a core has 2 threads",
    ),
    "memory-manager-none": (kubelet(memory_manager_policy="None"), "memoryManagerPolicy: None"),
    "reserved-memory-differs": (
        kubelet(reserved_memory={0: {"memory": GIB}, 1: {"memory": GIB}}),
        "sums up to 2147483648 bytes of memory, and systemReserved, kubeReserved and evictionHard"
        " to 1073741824",
    ),
    "policy-not-in-force": (
        replace(
            HEALTHY,
            kubelet=replace(
                KUBELET,
                cpu_state=Told(
                    source="var/lib/kubelet/cpu_manager_state",
                    value=CpuManagerState(policy="none", shared=frozenset(), entries={}),
                ),
            ),
        ),
        "says static, the state that it keeps none",
    ),
    "kubelet-setting-unread": (
        replace(HEALTHY, kubelet=replace(KUBELET, problems=("config.yaml: bad",))),
        "config.yaml: bad",
    ),
    "kubelet-state-unreadable": (
        replace(
            HEALTHY,
            kubelet=replace(
                KUBELET, cpu_state=Told(source="its file", why="it is empty", failed=True)
            ),
        ),
        "it is empty",
    ),
    "cpuset-hierarchy-missing": (
        replace(
            HEALTHY,
            cgroups=replace(
                HEALTHY.cgroups, version=Told(source="cgroups", why="no hierarchy", failed=True)
            ),
        ),
        "no hierarchy",
    ),
    "cgroup-v1": (cgroups(version=Version.V1), "version 1"),
    "cgroups-read-only": (cgroups(read_only=True), "mounted read-only"),
    "cgroups-not-permitted": (
        cgroups(kubepods=(replace(PODS, writable=False),)),
        "kubepods.slice/cpuset.cpus",
    ),
    "kubelet-cgroup-missing": (cgroups(kubepods=()), "neither kubepods nor kubepods.slice"),
    "kubelet-cgroups-of-two-drivers": (
        cgroups(kubepods=(replace(PODS, path="kubepods", populated=False), PODS)),
        "kubepods and kubepods.slice; with processes: kubepods.slice",
    ),
    "cpuset-not-handed-on": (
        cgroups(kubepods=(replace(PODS, handed_on=False),)),
        "cgroup.subtree_control of kubepods.slice lacks cpuset",
    ),
    "api-server-unreachable": (cluster(unreachable="it refuses"), "it refuses"),
    "right-missing": (cluster(rights=without(PODS_RIGHT)), "may not list pods"),
    "right-for-events-missing": (cluster(rights=without(EVENTS)), "may not create events"),
    "asked-as-somebody-else": (cluster(user="admin"), "takes us for admin"),
    "crd-missing": (cluster(kinds=(replace(KIND, served=False),)), "v1alpha2"),
    "second-publisher": (
        cluster(rivals=(RivalSeen(name="NodeResourceTopology n", label="nfd owns zones"),)),
        "nfd owns zones",
    ),
    "clock-skewed": (cluster(clock_ahead=-61.0), "61 s behind"),
    "node-is-another-machine": (
        replace(HEALTHY, boot_id=Told(source="boot_id", value="another")),
        "boot_id is another",
    ),
    "agent-not-running": (agent(running=False), "no process that is seen from here holds"),
    "source-failing": (agent(failures=("podresources: refused",)), "podresources: refused"),
    "pass-condition": (
        agent(conditions=(Condition(code="x-differs", subject="x", message="1 or 2"),)),
        "x-differs: 1 or 2",
    ),
}
