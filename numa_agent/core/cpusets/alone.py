"""Pods that are somebody else's to bind.

CRI-O's high-performance hooks write the cpusets of pods with these annotations:
https://github.com/cri-o/cri-o/blob/main/docs/crio.conf.5.md. The containers of Kata and gVisor are
processes of another kernel: https://kubernetes.io/docs/concepts/containers/runtime-class/.
"""

from numa_agent.core.cgroups import Version
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets.values import Inputs, LeftAlone, Options
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pod_keys import BIND as BIND
from numa_agent.core.pod_keys import crio_binds
from numa_agent.core.pods import Pod

_CRIO_RUNTIME = "cri-o"


def left_alone(pod: Pod, inputs: Inputs, options: Options) -> LeftAlone | None:
    """Why a pod isn't ours to bind whatever was decided for it, None where it is ours."""
    if pod.annotations.get(BIND) == "off":
        return _alone(pod, "opted-out", f"its annotation {BIND} is off")
    for key, value in sorted(pod.annotations.items()):
        if crio_binds(key, value) and _may_be_crio(inputs):
            return _alone(pod, "crio", f"CRI-O's hooks bind it: it has the annotation {key}")
    runtime = pod.runtime_class
    if runtime is not None and runtime not in options.runtime_classes:
        known = ", ".join(sorted(options.runtime_classes))
        message = f"its RuntimeClass is {runtime}; processes of the host have {known}"
        return _alone(pod, "runtime-class", message)
    exclusive = kubelet_gave(pod, inputs.kubelet)
    if exclusive:
        return _alone(
            pod, "kubelet-exclusive", f"kubelet's static CPU manager gave it {render(exclusive)}"
        )
    if inputs.kubelet_static and inputs.version is Version.V1:
        return _alone(
            pod,
            "kubelet-static",
            "kubelet's static CPU manager writes the same file of each container: on cgroup v1"
            " there is no other that binds it",
        )
    return None


def _may_be_crio(inputs: Inputs) -> bool:
    """Whether the node's runtime is CRI-O, or no container tells yet which one it is.

    With another runtime nobody gets away from being bound by CRI-O's annotations.
    """
    runtimes = {each.runtime for pod in inputs.pods for each in pod.containers} - {""}
    return not runtimes or _CRIO_RUNTIME in runtimes


def kubelet_gave(pod: Pod, state: CpuManagerState | None) -> CpuSet:
    """The CPUs that kubelet's static policy gave a pod, empty where none.

    kubelet up to 1.17 knows its containers alone.
    """
    if state is None or state.policy != "static":
        return frozenset()
    given = state.by_pod
    keys = (pod.cgroup_uid, *(each.id for each in pod.containers if each.id is not None))
    return frozenset[int]().union(*(given.get(key, ()) for key in keys))


def _alone(pod: Pod, code: str, message: str) -> LeftAlone:
    return LeftAlone(
        pod=pod, code=code, message=f"pod {pod.full_name} is left as it is: {message}"
    )
