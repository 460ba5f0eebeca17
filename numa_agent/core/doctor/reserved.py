"""kubelet's memory reservations and state: what keeps it from starting or makes it lie.

https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/
"""

from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_config import eviction_bytes
from numa_agent.core.kubelet_running import running

_MEMORY_MANAGER = "https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/"
_SETTINGS = "https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/"

MEMORY_NOT_ALIGNED = Rule(
    code="memory-manager-none",
    weight=Weight.NOTE,
    costs="CPUs and devices are aligned and memory isn't held to them: it is taken near the CPUs"
    " while there is some",
    source=_MEMORY_MANAGER,
)
RESERVED_DIFFERS = Rule(
    code="reserved-memory-differs",
    weight=Weight.FAULT,
    costs="kubelet doesn't start: reservedMemory of all nodes must be what Node Allocatable keeps"
    " (systemReserved, kubeReserved and the hard eviction threshold)",
    source=_MEMORY_MANAGER,
)
POLICY_DIFFERS = Rule(
    code="policy-not-in-force",
    weight=Weight.WARNING,
    costs="what the configuration says isn't what kubelet runs with, or it won't start again",
    source="https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/",
)
UNREAD = Rule(
    code="kubelet-setting-unread",
    weight=Weight.WARNING,
    costs="a setting that can't be read counts as its default here, whatever kubelet does",
    source=_SETTINGS,
)
STATE_UNREADABLE = Rule(
    code="kubelet-state-unreadable",
    weight=Weight.FAULT,
    costs="what kubelet gave out is unknown, so that no CPU is given out and nothing published",
    source="https://github.com/kubernetes/kubernetes/tree/master/pkg/kubelet/cm",
)


def _memory_manager(seen: Examination) -> Results:
    settings = seen.kubelet.settings
    if settings.value is None:
        yield settings.unseen
        return
    if settings.value.memory_manager_policy == "Static":
        yield from _static_memory(seen, settings.value)
    elif seen.several_nodes and settings.value.topology_manager_policy in (
        "single-numa-node",
        "restricted",
    ):
        yield MEMORY_NOT_ALIGNED.found(
            "kubelet",
            f"{settings.source} has memoryManagerPolicy: {settings.value.memory_manager_policy}"
            f" with topologyManagerPolicy: {settings.value.topology_manager_policy}",
            "memoryManagerPolicy: Static with reservedMemory in kubelet's configuration",
        )


def _static_memory(seen: Examination, settings: KubeletSettings) -> Results:
    if settings.eviction_memory.endswith("%"):
        return  # of the memory that kubelet saw when it started, which isn't known to the byte
    try:
        evicted = eviction_bytes(settings, 0)
    except ValueError:
        return  # a setting that can't be read is told by another check
    kept = settings.reserved.get("memory", 0) + evicted
    given = sum(node.get("memory", 0) for node in settings.reserved_memory.values())
    if given != kept and not _by_flags(seen, settings, given, kept):
        yield RESERVED_DIFFERS.found(
            "kubelet",
            f"{seen.kubelet.settings.source}: reservedMemory sums up to {given} bytes of memory,"
            f" and systemReserved, kubeReserved and evictionHard to {kept}",
            "change reservedMemory (a NUMA node each) by the difference, then restart kubelet",
        )


def _by_flags(seen: Examination, settings: KubeletSettings, given: int, kept: int) -> bool:
    """Whether kubelet runs with what the file leaves out: flags may give it.

    Its state says what it has reserved: https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
    """
    state = seen.kubelet.memory_state.value
    if state is None or state.policy != "Static":
        return False
    pools = (pools.get("memory") for pools in state.pools.values())
    runs_with = sum(pool.system_reserved for pool in pools if pool is not None)
    if not settings.reserved_memory:
        return runs_with == kept
    return "memory" not in settings.reserved and runs_with == given


def _in_force(seen: Examination) -> Results:
    kubelet = seen.kubelet
    for problem in kubelet.problems:
        yield UNREAD.found("kubelet", problem, "correct the member in kubelet's configuration")
    if kubelet.settings.value is None:
        yield kubelet.settings.unseen
        return
    cpu, memory = kubelet.cpu_state, kubelet.memory_state
    if cpu.value is None:
        yield cpu.unseen
    if memory.value is None:
        yield memory.unseen
    _, conditions = running(kubelet.settings.value, cpu.value, memory.value)
    for condition in conditions:
        yield POLICY_DIFFERS.found(
            "kubelet",
            condition.message,
            "drain the node, remove the manager's state file and restart kubelet, or set the"
            " policy back",
        )


def _states(seen: Examination) -> Results:
    for told in (seen.kubelet.cpu_state, seen.kubelet.memory_state, seen.kubelet.settings):
        if told.failed:
            yield STATE_UNREADABLE.found(
                told.source,
                told.why,
                "correct the file; a state file is written anew when it is removed and kubelet is"
                " restarted on a drained node",
            )
        elif told.value is None:
            yield told.unseen


CHECKS = (
    Check(
        name="memory-manager", rules=(MEMORY_NOT_ALIGNED, RESERVED_DIFFERS), look=_memory_manager
    ),
    Check(name="kubelet-in-force", rules=(POLICY_DIFFERS, UNREAD), look=_in_force),
    Check(name="kubelet-files", rules=(STATE_UNREADABLE,), look=_states),
)
