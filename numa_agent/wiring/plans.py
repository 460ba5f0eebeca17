"""What a pass would write, and what would take it back, by the pass's own reading."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from numa_agent.agent import Planned, binding, bound_of
from numa_agent.config import Config, ConfigError
from numa_agent.core.cpusets import BIND, Step, restore_steps
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write
from numa_agent.host.decisions import DecisionsFile
from numa_agent.host.recorded import is_recorded
from numa_agent.wiring.lock import TakenError, only_one
from numa_agent.wiring.looking import looking
from numa_agent.wiring.sources import node_name

_OPTED_OUT = "opted-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is wanted and not so yet, None where it can't be told, and why sources failed."""

    planned: Planned | None
    failures: tuple[str, ...]


def plan_once(config: Config) -> Plan:
    """What a pass would write now; nothing is written. Raises SourceError without a map."""
    with looking(config) as look:
        planned = bound_of(look.ports, look.now, look.planned, look.failures)
    return Plan(planned=planned, failures=tuple(look.failures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The writes that took bindings back, why other pods have none, and why sources failed."""

    writes: tuple[Write, ...]
    untouched: Mapping[str, str]
    failures: tuple[str, ...]


def restore_once(config: Config, pod_name: str | None) -> Restored:
    """Give one pod (namespace/name), or all that are ours, everything that is in force around it.

    With all of them the agent's own decisions are forgotten, too.

    kubelet's static CPU manager keeps its pods and containers, and pods that are somebody else's
    are left alone; one that opted out is restored where it is named. Nothing is written while
    kubelet's state isn't known. Raises ConfigError where no such pod runs here, and SourceError
    where an agent runs here that would bind a pod again: one that opted out it leaves alone.
    """
    with ExitStack() as stack:
        busy = _busy(config, stack)
        if busy is not None and pod_name is None:
            raise busy
        look = stack.enter_context(looking(config))
        ports, failures = look.ports, look.failures
        planned = bound_of(ports, look.now, look.planned, failures)
        if planned is None:
            return Restored(writes=(), untouched={}, failures=tuple(failures))
        chosen = _chosen(planned.inputs.pods, pod_name)
        if busy is not None and not _opted_out(planned, chosen):
            raise busy
        writes: list[Write] = []
        untouched: dict[str, str] = {}
        for pod in chosen:
            steps = _steps(planned, pod, named=pod_name is not None)
            if isinstance(steps, str):
                untouched[pod.full_name] = steps
                continue
            writes += _written(ports.cpusets, steps)
        if pod_name is None and not failures and all(write.error is None for write in writes):
            _forget(config, failures)
    return Restored(writes=tuple(writes), untouched=untouched, failures=tuple(failures))


def _forget(config: Config, failures: list[str]) -> None:
    """Remove what was decided here, all of which was taken back."""
    try:
        DecisionsFile(config.decisions_path).forget()
    except SourceError as error:
        failures.append(str(error))


def _busy(config: Config, stack: ExitStack) -> SourceError | None:
    """Keep agents from starting until the stack ends; why not, where one runs already."""
    if is_recorded(config.host_root):
        return None
    node_name(config)
    try:
        stack.enter_context(only_one(config.lock_path))
    except TakenError as error:
        found = SourceError(
            f"what is taken back now would be bound again at once: {error}. In a cluster, apply"
            " the component `restore` in place of the agent (docs/upgrade-and-uninstall.md), or"
            f' opt one pod out by the annotation {BIND}: "off" and name it with --pod'
        )
        found.__cause__ = error
        return found
    return None


def _opted_out(planned: Planned, chosen: Iterable[Pod]) -> bool:
    out = {each.pod.uid for each in planned.desired.left_alone if each.code == _OPTED_OUT}
    return all(pod.uid in out for pod in chosen)


def _chosen(pods: Iterable[Pod], name: str | None) -> list[Pod]:
    live = [pod for pod in pods if not pod.finished]
    if name is None:
        return live
    return [named(live, name)]


def named(pods: Iterable[Pod], name: str) -> Pod:
    """The pod of this name (namespace/name). Raises ConfigError where none is it."""
    by_name = {pod.full_name: pod for pod in pods}
    if name not in by_name:
        listed = ", ".join(sorted(by_name)[:10]) or "none"
        raise ConfigError(f"no pod {name} runs here; write NAMESPACE/NAME (here: {listed})")
    return by_name[name]


def _steps(planned: Planned, pod: Pod, *, named: bool) -> tuple[Step, ...] | str:
    """The writes that restore a pod, or why there are none."""
    alone = next((each for each in planned.desired.left_alone if each.pod.uid == pod.uid), None)
    if alone is not None and not (named and alone.code == _OPTED_OUT):
        return alone.message.removeprefix(f"pod {pod.full_name} ")
    inputs = planned.inputs
    if inputs.kubelet is not None and pod.cgroup_uid in inputs.kubelet.by_pod:
        return "is left as it is: kubelet's static CPU manager gave it CPUs of its own"
    groups = inputs.observed.get(pod.uid)
    if groups is None:
        return "has no cgroup here"
    parent = groups.above[-1] if groups.above else groups.group
    steps = restore_steps(
        pod,
        groups,
        cpus=parent.effective_cpus or frozenset(),
        mems=parent.effective_mems or frozenset(),
        pod_level_only=inputs.kubelet_static,
    )
    return steps or "has all that is in force around it"


def _written(cpusets: binding.Cpusets, steps: Iterable[Step]) -> Iterator[Write]:
    for step in steps:
        try:
            cpusets.write(step.path, step.file, step.after)
        except GoneError:
            continue
        except SourceError as error:
            yield Write(step=step, error=str(error))
            return
        yield Write(step=step, error=None)
