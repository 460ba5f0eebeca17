"""A whole node on the fake kernel: pods with cgroups and tasks, kubelet's word and other writers.

What kubelet and the runtimes make is made as they make it: on cgroup v1 every new cgroup is filled
with its parent's sets, on v2 it inherits; under kubelet's static policy each container's directory
is written. Eight CPUs in two NUMA nodes, as in `tests.machine_tree.TWO_NODES`.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Literal

from numa_agent.core.cpulist import CpuSet, parse, render
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Container, Pod, QosClass
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.topology import Topology
from tests.kernel.kernel import Hierarchy, Kernel
from tests.kernel.versions import Version
from tests.machine_tree import container_id, machine, numa_node, uid

CPUS = frozenset(range(8))
MEMS = frozenset({0, 1})
NODES = (frozenset(range(4)), frozenset(range(4, 8)))
FILES = ("cpuset.cpus", "cpuset.mems")
NONE = CpuManagerState(policy="none", shared=CpuSet(), entries={})

Driver = Literal["cgroupfs", "systemd"]

_LEVELS = {
    QosClass.GUARANTEED: "",
    QosClass.BURSTABLE: "burstable",
    QosClass.BEST_EFFORT: "besteffort",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A kernel, its hierarchy and who makes kubelet's cgroups."""

    version: Version = "6.1"
    hierarchy: Hierarchy = "v2"
    driver: Driver = "cgroupfs"

    def __str__(self) -> str:
        return f"{self.hierarchy} on {self.version}, {self.driver}"

    def qos(self, qos: QosClass) -> list[str]:
        """The cgroups from kubelet's own to that of a class."""
        level = _LEVELS[qos]
        if self.driver == "cgroupfs":
            return ["kubepods", *([f"kubepods/{level}"] if level else [])]
        top = "kubepods.slice"
        return [top, *([f"{top}/kubepods-{level}.slice"] if level else [])]

    def pod(self, qos: QosClass, of: str) -> str:
        """A pod's cgroup by its uid."""
        above = self.qos(qos)[-1]
        if self.driver == "cgroupfs":
            return f"{above}/pod{of}"
        prefix = above.rpartition("/")[2].removesuffix(".slice")
        return f"{above}/{prefix}-pod{of.replace('-', '_')}.slice"

    def container(self, number: int) -> str:
        """The name of a container's cgroup."""
        own = container_id(number)
        return own if self.driver == "cgroupfs" else f"cri-containerd-{own}.scope"


SETUPS = (
    Setup(version="5.10", hierarchy="v2", driver="systemd"),
    Setup(version="5.10", hierarchy="v1", driver="cgroupfs"),
    Setup(version="6.1", hierarchy="v2", driver="cgroupfs"),
    Setup(version="6.1", hierarchy="v1", driver="systemd"),
    Setup(version="6.12", hierarchy="v2", driver="systemd"),
)
"""The kernels that the fake was checked against, under both drivers."""


@dataclass(slots=True, kw_only=True)
class LiveContainer:
    """One container that was started; `told` is whether the API server knows its id."""

    name: str
    number: int
    path: str
    told: bool = True
    tasks: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class LivePod:
    """One pod: what the API server says of it, and what there is of it on the node."""

    number: int
    qos: QosClass
    path: str
    names: tuple[str, ...]
    annotations: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    phase: str = "Running"
    listed: bool = True
    there: bool = False
    """Whether its cgroup is."""
    containers: dict[str, LiveContainer] = field(default_factory=dict)

    @property
    def said(self) -> Pod:
        """The pod as the API server gives it."""
        return Pod(
            namespace="shop",
            name=f"p{self.number}",
            uid=uid(self.number),
            phase=self.phase,
            started=f"2026-03-02T{self.number // 3600:02}:{self.number // 60 % 60:02}:"
            f"{self.number % 60:02}Z",
            qos=self.qos,
            annotations=self.annotations,
            labels=self.labels,
            containers=tuple(self._container(name) for name in self.names),
            demands=Demands(
                containers=tuple(
                    Demand(
                        container=name,
                        role=Role.APP,
                        requests={"memory": 1 << 20},
                        limits={"memory": 1 << 20},
                    )
                    for name in self.names
                )
            ),
        )

    def _container(self, name: str) -> Container:
        live = self.containers.get(name)
        known = live is not None and live.told
        own = container_id(live.number) if live is not None and known else None
        return Container(name=name, id=own, running=known)


class Node:
    """The node; its files are below `root` as those of a machine.

    `touched` are the cgroups in which something was made or written, until a watcher takes them.
    """

    def __init__(self, root: Path, setup: Setup) -> None:
        self.root = root
        self.setup = setup
        self.v1 = setup.hierarchy == "v1"
        self.mount = root / ("sys/fs/cgroup/cpuset" if self.v1 else "sys/fs/cgroup")
        self.kernel = Kernel(
            self.mount,
            version=setup.version,
            hierarchy=setup.hierarchy,
            cpus=CPUS,
            mems=MEMS,
        )
        self.pods: dict[int, LivePod] = {}
        self.kubelet = NONE
        self.touched: set[str] = set()
        self.groups: list[str] = []
        self._numbers = count(1)
        self._pids = count(1000)
        for qos in QosClass:
            for path in setup.qos(qos):
                if path not in self.groups:
                    self._make(path, enable=True)

    @property
    def online(self) -> CpuSet:
        return self.kernel.online_cpus

    @property
    def topology(self) -> Topology:
        """The machine's map, of which a node's CPUs are those that are online, as in sysfs."""
        nodes = [numa_node(each, render(cpus & self.online)) for each, cpus in enumerate(NODES)]
        return replace(machine(*nodes), present=CPUS)

    @property
    def listed(self) -> tuple[Pod, ...]:
        """What the API server says of the node's pods."""
        pods = [pod.said for pod in self.pods.values() if pod.listed]
        return tuple(sorted(pods, key=lambda pod: pod.started))

    # What kubelet and the runtimes do.

    def admit(
        self,
        qos: QosClass = QosClass.GUARANTEED,
        annotations: Mapping[str, str] | None = None,
        names: tuple[str, ...] = ("a",),
        labels: Mapping[str, str] | None = None,
    ) -> LivePod:
        """A pod is bound to the node; it has no cgroup yet."""
        number = next(self._numbers)
        self.pods[number] = LivePod(
            number=number,
            qos=qos,
            path=self.setup.pod(qos, uid(number)),
            names=names,
            annotations=annotations or {},
            labels=labels or {},
        )
        return self.pods[number]

    def make(self, pod: LivePod) -> None:
        """kubelet makes a pod's cgroup."""
        if not pod.there:
            self._make(pod.path, enable=True)
            pod.there = True

    def start(self, pod: LivePod, name: str, *, inner: bool = False, told: bool = True) -> bool:
        """A runtime starts a container, in a cgroup inside its own as crun does or not.

        Whether it could: where the kernel refuses what the runtime asks for, nothing is left.
        """
        self.make(pod)
        number = next(self._numbers)
        path = f"{pod.path}/{self.setup.container(number)}"
        live = LiveContainer(name=name, number=number, path=path, told=told)
        self._make(path, enable=inner)
        if inner:
            self._make(f"{path}/container")
        try:
            self._specify(pod, live)
            self._run(live, f"{path}/container" if inner else path)
        except OSError:
            self._remove(path)
            return False
        pod.containers[name] = live
        return True

    def stop(self, pod: LivePod, name: str) -> None:
        """A container ends and its cgroup goes."""
        live = pod.containers.pop(name)
        for task in live.tasks:
            self.kernel.exit(task)
        self._remove(live.path)

    def nest(self, live: LiveContainer, name: str) -> None:
        """A container's processes move into a new cgroup inside its own, and start another."""
        path = f"{live.path}/{name}"
        if path in self.groups or any(each.startswith(f"{live.path}/") for each in self.groups):
            return
        self._make(path)
        for task in live.tasks:
            if self.kernel.group_of(task) == live.path:
                self.kernel.attach(path, task)
        if not self.v1:
            self.kernel.write(live.path, "cgroup.subtree_control", "+cpuset")
        with suppress(OSError):
            self._run(live, path)

    def finish(self, pod: LivePod) -> None:
        """A pod ends for good; its cgroup is still there."""
        for name in list(pod.containers):
            self.stop(pod, name)
        pod.phase = "Succeeded"

    def remove(self, pod: LivePod) -> None:
        """A pod's cgroup goes."""
        for name in list(pod.containers):
            self.stop(pod, name)
        if pod.there:
            self._remove(pod.path)
            pod.there = False
        if not pod.listed:
            self.pods.pop(pod.number, None)

    def forget(self, pod: LivePod) -> None:
        """A pod is deleted in the API server."""
        pod.listed = False
        if not pod.there:
            self.pods.pop(pod.number, None)

    def set_kubelet(self, given: Mapping[str, CpuSet] | None) -> None:
        """kubelet's policy is none, or static with these CPUs given to pods by uid.

        A static kubelet then writes every container's directory.
        """
        if given is None:
            self.kubelet = NONE
            return
        taken = CpuSet().union(*given.values())
        self.kubelet = CpuManagerState(
            policy="static",
            shared=self.online - taken,
            entries={of: {"a": cpus} for of, cpus in sorted(given.items())},
        )
        for pod in self.pods.values():
            for live in pod.containers.values():
                with suppress(OSError):
                    self._specify(pod, live)

    # What others do.

    def write(self, path: str, file: str, text: str) -> None:
        """Somebody writes to a cgroup; the kernel may refuse it."""
        self.touched.add(path)
        with suppress(OSError):
            self.kernel.write(path, file, text)

    def restore_above(self) -> None:
        """An admin gives what is above containers all that is online, from the root down (v1)."""
        leaves = {live.path for pod in self.pods.values() for live in pod.containers.values()}
        for path in sorted(self.groups):
            if not any(path.startswith(leaf) for leaf in leaves):
                self.write(path, "cpuset.cpus", render(self.online))

    # What is to be seen.

    def ids(self, path: str, file: str) -> CpuSet:
        """A set of a cgroup as the kernel tells it."""
        return parse(self.kernel.read(path, file))

    def effective(self, path: str, file: str) -> CpuSet:
        """What is in force in a cgroup, by the name of the file that is written."""
        kind = file.removeprefix("cpuset.")
        return self.ids(path, f"cpuset.effective_{kind}" if self.v1 else f"{file}.effective")

    def tasks(self) -> dict[int, CpuSet]:
        """The CPUs that each task may use."""
        return {task: self.kernel.task_allowed(task) for task in self._tasks()}

    def _tasks(self) -> Iterator[int]:
        for pod in self.pods.values():
            for live in pod.containers.values():
                yield from live.tasks

    def copy(self, root: Path) -> "Node":
        """Another node in the same state."""
        other = Node(root, self.setup)
        for cpu in CPUS - self.online:
            other.kernel.offline(cpu)
        for path in reversed(other.groups):
            self._copy_sets(path, other)
        for path in self.groups:
            if path not in other.groups:
                other.kernel.mkdir(path)
                other.groups.append(path)
                if enabled := self._enabled(path):
                    other.kernel.write(path, "cgroup.subtree_control", enabled)
                self._copy_sets(path, other)
        other.pods = {
            number: replace(
                pod, containers={name: replace(each) for name, each in pod.containers.items()}
            )
            for number, pod in self.pods.items()
        }
        for task in self._tasks():
            other.kernel.attach(self.kernel.group_of(task), task)
        other.kubelet = self.kubelet
        return other

    def _copy_sets(self, path: str, other: "Node") -> None:
        for file in FILES:
            if (held := self.ids(path, file)) != other.ids(path, file):
                other.kernel.write(path, file, f"{render(held)}\n")

    def _enabled(self, path: str) -> str:
        if self.v1:
            return ""
        names = self.kernel.read(path, "cgroup.subtree_control").split()
        return " ".join(f"+{name}" for name in names)

    def _make(self, path: str, *, enable: bool = False) -> None:
        self.kernel.mkdir(path, enable=enable)
        self.groups.append(path)
        self.touched.add(path.rpartition("/")[0])
        if self.v1:
            self._fill(path)

    def _fill(self, path: str) -> None:
        """Copy the parent's sets into a cgroup that has none, the parent's first (v1)."""
        above = path.rpartition("/")[0]
        if above:
            self._fill(above)
        for file in FILES:
            if not self.ids(path, file) and (held := self.ids(above, file)):
                self.kernel.write(path, file, render(held))

    def _remove(self, path: str) -> None:
        for each in sorted((g for g in self.groups if f"{g}/".startswith(f"{path}/")), key=len)[
            ::-1
        ]:
            self.kernel.rmdir(each)
            self.groups.remove(each)
        self.touched.add(path.rpartition("/")[0])

    def _specify(self, pod: LivePod, live: LiveContainer) -> None:
        """Write what a static kubelet puts into a container's spec. Raises OSError."""
        if self.kubelet.policy != "static":
            return
        given = self.kubelet.by_pod.get(uid(pod.number))
        self.touched.add(live.path)
        self.kernel.write(live.path, "cpuset.cpus", render(given or self.kubelet.shared))

    def _run(self, live: LiveContainer, path: str) -> None:
        task = next(self._pids)
        try:
            self.kernel.attach(path, task)
        except OSError:
            self.kernel.exit(task)
            raise
        live.tasks.append(task)
