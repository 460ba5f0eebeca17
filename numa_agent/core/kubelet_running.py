"""What kubelet runs with: its configuration, corrected by the state that its managers keep.

A manager's state names the policy that wrote it, and kubelet doesn't start with another one:
https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/
"""

from dataclasses import replace

from numa_agent.core.conditions import Condition
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState


def running(
    read: KubeletSettings | None,
    cpu_state: CpuManagerState | None,
    memory_state: MemoryManagerState | None,
) -> tuple[KubeletSettings, tuple[Condition, ...]]:
    """The settings in force, and where the configuration says otherwise or isn't there."""
    settings = read or KubeletSettings()
    conditions = []
    if read is None:
        conditions.append(
            Condition(
                code="kubelet-settings-unknown",
                subject="kubelet",
                message="kubelet's configuration isn't where kubeadm puts it, so its Topology"
                " Manager's policy is unknown: set kubeletConfig to its path, or to configz",
            )
        )
    cpu = settings.cpu_manager_policy if cpu_state is None else cpu_state.policy
    memory = settings.memory_manager_policy if memory_state is None else memory_state.policy
    for name, said, kept in (
        ("cpuManagerPolicy", settings.cpu_manager_policy, cpu),
        ("memoryManagerPolicy", settings.memory_manager_policy, memory),
    ):
        if read is not None and said != kept:
            conditions.append(
                Condition(
                    code="policy-differs",
                    subject=name,
                    message=f"{name}: kubelet's configuration says {said}, the state that it keeps"
                    f" {kept}; the state counts",
                )
            )
    return (
        replace(settings, cpu_manager_policy=cpu, memory_manager_policy=memory),
        tuple(conditions),
    )
