"""One pass over a small machine: fakes of its cgroups and its cluster, and what a pass did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from numa_agent.agent import Kept, NodeSources, Ports, Teller, run_pass
from numa_agent.core.cgroups import (
    ContainerGroups,
    File,
    Group,
    PodGroups,
    TasksAllowed,
    Version,
)
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.drift import Drift
from numa_agent.core.errors import SourceError
from numa_agent.core.grants import PodResources
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod, PodsRead
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Report
from numa_agent.core.schedulers import kube_scheduler
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Alignment
from numa_agent.core.view import Json
from tests.machine_tree import TWO_NODES, cpus, uid
from tests.verdicts import NO_MEMORY

Ids = frozenset[int]


@dataclass
class Kernel:
    """One cgroup v2 for each pod and its container, with the kernel's rules for what is in force.

    A pod's path is its uid, its container's lies below it. What is above them may be `shrinks_to`
    once something was written.
    """

    pods: dict[str, Ids]
    parent: CpuSet
    refuses: frozenset[str]
    hidden: frozenset[str]
    shrinks_to: CpuSet
    configured: dict[str, Ids] = field(default_factory=dict)
    writes: list[tuple[str, Ids]] = field(default_factory=list)
    read_only: bool = False

    def finder(self) -> Callable[[Pod], PodGroups | None]:
        return self.find

    def find(self, pod: Pod) -> PodGroups | None:
        if pod.uid in self.hidden:
            raise SourceError(f"{pod.name}: Permission denied")
        if pod.uid not in self.pods:
            return None
        outer = self._group("kubepods", self.parent)
        own = self._group(pod.uid, self.parent)
        containers = tuple(
            ContainerGroups(
                id=each.id, group=self._group(f"{pod.uid}/{each.id}", own.effective_cpus or Ids())
            )
            for each in pod.containers
            if each.id is not None
        )
        return PodGroups(version=Version.V2, above=(outer,), group=own, containers=containers)

    def write(self, path: str, file: File, ids: Ids) -> None:
        if path in self.refuses:
            raise SourceError(f"{path}: wasn't taken")
        assert file == "cpus"
        self.writes.append((path, ids))
        self.configured[path] = ids
        self.parent = self.shrinks_to

    def memory(self, path: str, leaves: Sequence[str] = ()) -> MemoryUse | None:
        return NO_MEMORY

    def open_devices(self, path: str, leaves: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def tasks_allowed(self, path: str) -> TasksAllowed:
        return TasksAllowed(tasks=(), unseen=0)

    def check_writable(self) -> None:
        if self.read_only:
            raise SourceError("the cgroup mount is read-only")

    def lift_quota(self, path: str) -> None:
        raise AssertionError(f"{path} has no quota")

    def quota(self, path: str) -> float | None:
        return None

    def _group(self, path: str, parent: CpuSet) -> Group:
        held = self.configured.get(path, Ids())
        return Group(
            path=path,
            cpus=held,
            effective_cpus=held & parent or parent,
            mems=Ids(),
            effective_mems=Ids({0, 1}),
            populated=True,
        )


@dataclass
class Cluster:
    """Keeps what was published and says what became of it."""

    objects: list[Json] = field(default_factory=list)

    def publish(self, manifest: Json) -> Published:
        same = self.objects[-1:] == [manifest]
        changed = Outcome.CHANGED if self.objects else Outcome.CREATED
        self.objects.append(manifest)
        return Published(outcome=Outcome.UNCHANGED if same else changed, detail="")


def kernel(
    *numbers: int,
    shrinks_to: str = "0-7",
    refuses: frozenset[str] = frozenset(),
    hidden: frozenset[str] = frozenset(),
) -> Kernel:
    """Pods of these numbers that may run anywhere; some can't be written or looked for."""
    pods = {uid(number): Ids() for number in numbers}
    return Kernel(pods, cpus("0-7"), refuses, hidden, cpus(shrinks_to))


def fails(message: str) -> Callable[..., NoReturn]:
    def port(*_: object) -> NoReturn:
        raise SourceError(message)

    return port


def take(
    *pods: Pod,
    at: Kernel,
    topology: Callable[[], Topology] = lambda: TWO_NODES,
    node: Callable[[], Node] = lambda: Node(name="n1", uid="u1"),
    read_pods: Callable[[], PodsRead] | None = None,
    exclusive: Callable[[], Mapping[str, CpuSet]] = dict,
    cpu_state: Callable[[], CpuManagerState | None] | None = None,
    settings: KubeletSettings | None = KubeletSettings(),  # noqa: B008
    granted: Callable[[], PodResources | None] = lambda: None,
    publish: Callable[[Json], Published | None] | None = None,
    teller: Teller | None = None,
    problems: tuple[str, ...] = (),
) -> Report:
    """One pass over these pods, where a port given takes the place of one that works."""
    sources = NodeSources(
        topology=topology,
        node=Kept("node", node),
        pods=Kept("pods", read_pods or (lambda: PodsRead(pods, problems))),
        settings=Kept(
            "kubelet-configuration", lambda: None if settings is None else (settings, ())
        ),
        cpu_state=Kept("cpu-manager-state", cpu_state or (lambda: static_state(exclusive()))),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", granted),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    report = run_pass(ports(sources, at, publish or Cluster().publish, teller))
    if teller is None:
        return report
    teller.send_due()
    return teller.with_troubles(report)


def ports(
    sources: NodeSources,
    at: Kernel,
    publish: Callable[[Json], Published | None],
    teller: Teller | None = None,
) -> Ports:
    return Ports(
        sources=sources,
        render=kube_scheduler.publish,
        publish=publish,
        teller=teller,
        cpusets=at,
        damaged=tuple,
        drift=Drift(lambda: 0.5),
    )


def static_state(exclusive: Mapping[str, CpuSet]) -> CpuManagerState:
    """kubelet's state: the static policy's where it gave CPUs out, else policy none's."""
    entries = {uid: {"c": held} for uid, held in exclusive.items()}
    shared = cpus("0-7").difference(*exclusive.values())
    policy = "static" if entries else "none"
    return CpuManagerState(policy=policy, shared=shared, entries=entries)


def alignments(report: Report) -> list[Alignment]:
    return [proof.verdict.alignment for proof in report.proofs]


def outcomes(report: Report) -> list[Outcome | None]:
    sent = [each.published for each in report.publications]
    return [None if each is None else each.outcome for each in sent]
