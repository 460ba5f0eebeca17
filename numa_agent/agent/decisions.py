"""What was decided for the pods that are there, as binding starts from it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpusets import Inputs
from numa_agent.core.decision import decide
from numa_agent.core.pods import Pod
from numa_agent.core.schedulers.koordinator.assignment import Qos, qos


def with_pods(inputs: Inputs, pods: tuple[Pod, ...], trusted_managers: tuple[str, ...]) -> Inputs:
    """The inputs with these pods, and what their annotations and labels decide."""
    return replace(
        inputs,
        pods=pods,
        decisions={**_ours(inputs, pods), **_decisions(pods, trusted_managers)},
        lenders=frozenset(pod.uid for pod in pods if qos(pod.labels) is not Qos.LSE),
        # By Koordinator's word, which counts where it is the scheduler.
        borrowers=frozenset(pod.uid for pod in pods if qos(pod.labels) is Qos.BE),
    )


def _ours(inputs: Inputs, pods: Iterable[Pod]) -> Mapping[str, Assignment]:
    return {pod.uid: inputs.own[pod.uid] for pod in pods if pod.uid in inputs.own}


def _decisions(
    pods: Iterable[Pod], trusted_managers: tuple[str, ...]
) -> Mapping[str, Assignment | AssignmentError]:
    """What was decided for each pod that anything was decided for, or what is wrong with it."""
    found: dict[str, Assignment | AssignmentError] = {}
    for pod in pods:
        try:
            said = decide(pod, pod.managed_fields, trusted_managers)
        except AssignmentError as error:
            # Kept without its traceback, which holds on to all that it passed.
            found[pod.uid] = error.with_traceback(None)
            continue
        if said is not None:
            found[pod.uid] = said
    return found
