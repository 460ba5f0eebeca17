"""What a pass would write, and what would take it back, by the pass's own reading."""

from collections.abc import Iterable
from dataclasses import dataclass

from numa_agent.agent import NodeSources, Planned, binding, planned_of, read_all
from numa_agent.config import Config, ConfigError
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpusets import Step, restore_steps
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.pods import Pod, PodsRead
from numa_agent.core.report import Write
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import ports_of, reaching


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is wanted and not so yet, None where it can't be told, and why sources failed."""

    planned: Planned | None
    failures: tuple[str, ...]


def plan_once(config: Config) -> Plan:
    """What a pass would write now; nothing is written. Raises SourceError without a map."""
    with asking_nvml(config) as ask, reaching(config) as cluster:
        ports = ports_of(config, ask, cluster, None)
        now = read_all(ports.sources)
        failures = now.failures
        planned = planned_of(ports, now, failures)
    return Plan(planned=planned, failures=tuple(failures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The writes that took bindings back, the pods that had none, and why sources failed."""

    writes: tuple[Write, ...]
    untouched: tuple[str, ...]
    failures: tuple[str, ...]


def restore_once(config: Config, pod_name: str | None) -> Restored:
    """Give one pod (namespace/name), or all, everything that is in force around it.

    Containers that kubelet's static CPU manager writes are left to it. Raises ConfigError where no
    such pod runs here.
    """
    with asking_nvml(config) as ask, reaching(config) as cluster:
        ports = ports_of(config, ask, cluster, None)
        failures: list[str] = []
        chosen = _chosen(_pods(ports.sources, failures), pod_name)
        observed = binding.observe(ports.cpusets, chosen, failures)
        writes: list[Write] = []
        untouched: list[str] = []
        for pod in chosen:
            groups = observed.get(pod.uid)
            steps = () if groups is None else _steps(pod, groups)
            if not steps:
                untouched.append(pod.full_name)
            for step in steps:
                write = _written(ports.cpusets, step)
                writes.append(write)
                if write.error is not None:
                    break
    return Restored(writes=tuple(writes), untouched=tuple(untouched), failures=tuple(failures))


def _pods(sources: NodeSources, failures: list[str]) -> tuple[Pod, ...]:
    reading = sources.pods.read()
    if reading.error is not None:
        failures.append(reading.error)
    values: tuple[PodsRead, ...] = reading.values
    return values[0].pods if values else ()


def _chosen(pods: Iterable[Pod], name: str | None) -> list[Pod]:
    live = [pod for pod in pods if not pod.finished]
    if name is None:
        return live
    found = [pod for pod in live if pod.full_name == name]
    if not found:
        listed = ", ".join(sorted(pod.full_name for pod in live)[:10]) or "none"
        raise ConfigError(
            f"no pod {name} runs on this node; write NAMESPACE/NAME (here: {listed})"
        )
    return found


def _steps(pod: Pod, groups: PodGroups) -> tuple[Step, ...]:
    parent = groups.above[-1] if groups.above else groups.group
    return restore_steps(
        pod,
        groups,
        cpus=parent.effective_cpus or frozenset(),
        mems=parent.effective_mems or frozenset(),
    )


def _written(cpusets: binding.Cpusets, step: Step) -> Write:
    try:
        cpusets.write(step.path, step.file, step.after)
    except GoneError:
        return Write(step=step, error=None)
    except SourceError as error:
        return Write(step=step, error=str(error))
    return Write(step=step, error=None)
