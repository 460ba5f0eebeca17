"""What is found of a container's CPUs."""

from collections.abc import Iterator

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import Topology
from numa_agent.core.verdict.facts import Facts, Node
from numa_agent.core.verdict.values import AS_DECIDED, Cause, Reason
from numa_agent.core.verdict.wording import in_force, nodes


def home_nodes(facts: Facts, topology: Topology) -> frozenset[Node] | None:
    """The nodes of the CPUs that a container runs on, None where a CPU's isn't known."""
    running = _running(facts)
    return None if not running or _homeless(running, topology) else topology.nodes_of(running)


def cpu_reasons(facts: Facts, topology: Topology) -> Iterator[Reason]:
    """Everything found, what leads to a verdict first."""
    if facts.effective is None:
        message = f"{facts.unseen}, so the CPUs in force were not seen"
        yield Reason(code="cpus-unseen", message=message)
    else:
        yield from _placed(facts, facts.effective, topology)
        yield from _fewer(facts, facts.effective, topology)
    yield from _worth_knowing(facts)


def _placed(facts: Facts, effective: CpuSet, topology: Topology) -> Iterator[Reason]:
    said = in_force(facts)
    outside = effective - facts.decided if facts.decided is not None else frozenset[int]()
    if outside:
        wanted = render(facts.decided or ())
        message = f"{said}, not {wanted}: it may run on {render(outside)}"
        yield Reason(code="cpus-outside", message=message, cause=_written(facts))
    if facts.strayed:
        message = f"{said}, but a task may run on {render(facts.strayed)}"
        yield Reason(code="tasks-outside", message=message, cause=_CLONED)
    if outside or facts.strayed:
        return
    home = home_nodes(facts, topology)
    if not effective:
        yield Reason(code="cpus-place-unknown", message=said)
    elif home is None:
        yield Reason(code="cpus-place-unknown", message=f"{said}, whose NUMA node isn't known")
    elif len(home) > 1:
        message = f"{said}, in {nodes(home)}"
        yield Reason(code="cpus-split", message=message, cause=_split(facts, topology))


_CLONED = Cause(
    code="cloned-into-cgroup",
    message="Linux up to 5.10 leaves a process that is cloned into a cgroup its former CPUs",
)


def _running(facts: Facts) -> CpuSet | None:
    """The CPUs that the tasks keep themselves to, as far as those are known; else all in force."""
    return facts.used or facts.effective


def _homeless(running: CpuSet, topology: Topology) -> CpuSet:
    return running.difference(*(node.cpus or () for node in topology.nodes))


def _written(facts: Facts) -> Cause | None:
    if facts.written is None:
        return None
    return Cause(code="foreign-writer", message=facts.written)


def _split(facts: Facts, topology: Topology) -> Cause:
    if facts.decided is None:
        return why_undecided(facts, "nobody decided CPUs for it")
    if len(topology.nodes_of(facts.decided)) > 1:
        return Cause(code=AS_DECIDED, message="as it was decided")
    return Cause(code="foreign-writer", message=facts.written or "not as it was decided")


def why_undecided(facts: Facts, otherwise: str) -> Cause:
    """Why nothing is decided of a container: it is refused, or, in those words, nobody did."""
    if facts.refused:
        message = f"what was decided for it is refused: {facts.refused}"
        return Cause(code="refused", message=message)
    return Cause(code="nobody-decided", message=otherwise)


def _fewer(facts: Facts, effective: CpuSet, topology: Topology) -> Iterator[Reason]:
    missing = (facts.decided or frozenset()) - effective
    if not missing:
        return
    message = f"CPUs {render(missing)} of those decided aren't in force"
    cause: Cause | None = None
    if facts.limit is not None:
        cause = Cause(code="ancestor-limit", message=facts.limit)
    elif not missing & topology.online:
        cause = Cause(code="cpus-offline", message="they are offline")
    yield Reason(code="cpus-fewer", message=message, cause=cause)


def _worth_knowing(facts: Facts) -> Iterator[Reason]:
    if facts.masked is not None:
        number, whole, cpus = facts.masked
        who = "every task keeps" if number == whole else f"{number} of {whole} tasks keep"
        yield Reason(
            code="tasks-masked",
            message=f"{who} to CPUs {render(cpus)}",
            cause=Cause(code="user-mask", message="a mask of its own or an inherited one"),
        )
    if facts.tasks_unseen:
        number = facts.tasks_unseen
        message = f"{number} of its tasks {'isn' if number == 1 else 'aren'}'t seen from here"
        yield Reason(code="tasks-unseen", message=message)
    if facts.cpu_quota is not None:
        message = f"a CPU quota of {facts.cpu_quota:g} CPUs may throttle it"
        yield Reason(code="cpu-quota", message=message)
