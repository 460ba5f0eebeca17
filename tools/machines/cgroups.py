"""The pods' cgroups as kubelet and the runtime make them, and what the cpuset files in them say.

https://docs.kernel.org/admin-guide/cgroup-v2.html and
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html
"""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet, render

from .identity import container_id, directory_id, sandbox_id
from .memory import ByNode, numa_stat, used_memory
from .spec import Cgroup, Container, Machine, Pod
from .tree import Tree, lines, merged

_ROOT = "sys/fs/cgroup"
_ALL = "cpuset cpu io memory hugetlb pids rdma misc"
_SYSTEM = "cpu io memory pids"
_PREFIXES = {"containerd": "cri-containerd-", "cri-o": "crio-", "docker": "docker-"}
_EMPTY: CpuSet = frozenset()


@dataclass(frozen=True, slots=True)
class Group:
    """One cgroup: its path below the hierarchy, its own sets (empty: inherits), its processes.

    `hands_on` are the controllers that it enables for its children. `memory` is a container's,
    None of other cgroups.
    """

    path: str
    cpus: CpuSet = _EMPTY
    mems: CpuSet = _EMPTY
    processes: tuple[int, ...] = ()
    hands_on: str = ""
    memory: ByNode | None = None


def cgroup_files(machine: Machine) -> Tree:
    """The cgroup tree of the machine and the mountinfo that leads to it."""
    if machine.cgroup.version == 1:
        return merged(_v1(machine), {"proc/self/mountinfo": _MOUNTS + _V1_MOUNTS})
    return merged(_v2(machine), {"proc/self/mountinfo": _MOUNTS + _V2_MOUNT})


def pod_path(machine: Machine, pod: Pod) -> str:
    """The pod's cgroup below the hierarchy's root."""
    cgroup = machine.cgroup
    name = f"pod{directory_id(machine, pod)}"
    return _path(cgroup, *_above(pod.qos), name)


def container_path(machine: Machine, pod: Pod, runtime_id: str) -> str:
    """The cgroup of one of the pod's containers, or of its sandbox."""
    cgroup = machine.cgroup
    prefix = _PREFIXES[cgroup.runtime]
    if cgroup.driver == "systemd":
        return f"{pod_path(machine, pod)}/{prefix}{runtime_id}.scope"
    # Without systemd only CRI-O keeps its prefix.
    return f"{pod_path(machine, pod)}/{prefix if cgroup.runtime == 'cri-o' else ''}{runtime_id}"


def shared_cpus(machine: Machine) -> CpuSet:
    """The CPUs that kubelet's static policy gave to no container."""
    containers = (container for pod in machine.pods for container in pod.containers)
    return machine.cpus.online.difference(*(container.exclusive for container in containers))


def _above(qos: str) -> tuple[str, ...]:
    return ("kubepods",) if qos == "Guaranteed" else ("kubepods", qos.lower())


def _path(cgroup: Cgroup, *names: str) -> str:
    """kubelet's logical name in the driver's form; systemd's slices repeat all that is above."""
    if cgroup.driver == "cgroupfs":
        return "/".join(names)
    escaped = [name.replace("-", "_") for name in names]
    slices = ("-".join(escaped[: depth + 1]) + ".slice" for depth in range(len(escaped)))
    return "/".join(slices)


def _pod_groups(machine: Machine) -> Iterator[Group]:
    """kubepods and everything in it, parents first."""
    cgroup = machine.cgroup
    yield Group(_path(cgroup, "kubepods"), cpus=machine.cpus.online, hands_on=_ALL)
    for qos in ("Burstable", "BestEffort"):
        yield Group(_path(cgroup, *_above(qos)), hands_on=_ALL)
    running = [pod for pod in machine.pods if pod.running]
    for number, pod in enumerate(running):
        yield Group(pod_path(machine, pod), cpus=pod.cpuset, hands_on=_ALL)
        first = 20000 + 100 * number
        pause = container_path(machine, pod, sandbox_id(machine, pod))
        yield Group(pause, processes=(first,))
        for process, container in enumerate(pod.containers, first + 1):
            yield _container_group(machine, pod, container, process)


def _container_group(machine: Machine, pod: Pod, container: Container, process: int) -> Group:
    path = container_path(machine, pod, container_id(machine, pod, container))
    cpus = container.exclusive or container.cpuset
    if machine.kubelet.cpu_manager == "static":
        cpus = cpus or shared_cpus(machine)
    memory = used_memory(machine, pod, container)
    mems = container.memory_nodes
    return Group(path, cpus=cpus, mems=mems, processes=(process,), memory=memory)


def _v2(machine: Machine) -> Tree:
    groups = [
        Group("", processes=(2,), hands_on=_ALL),
        Group("init.scope", processes=(1,)),
        Group("system.slice", hands_on=_SYSTEM),
        Group("system.slice/containerd.service", processes=(1200,)),
        Group("system.slice/kubelet.service", processes=(1300,)),
        *_pod_groups(machine),
    ]
    by_path = {group.path: group for group in groups}
    return merged(
        *(_v2_files(machine, group, by_path) for group in groups),
        *(_memory_files(machine, group, _ROOT) for group in groups),
    )


def _memory_files(machine: Machine, group: Group, root: str) -> Tree:
    if group.memory is None:
        return {}
    return {f"{root}/{group.path}/memory.numa_stat": numa_stat(machine, group.memory)}


def _v2_files(machine: Machine, group: Group, by_path: dict[str, Group]) -> Tree:
    """A cgroup's files; cpuset's are there only where the parent hands that controller on."""
    folder = f"{_ROOT}/{group.path}".rstrip("/")
    controllers = _parent(group, by_path).hands_on if group.path else _ALL
    files = merged(
        lines(folder, {"cgroup.controllers": controllers}),
        _list(f"{folder}/cgroup.subtree_control", group.hands_on.split(), " "),
        _list(f"{folder}/cgroup.procs", group.processes, "\n"),
    )
    if "cpuset" not in controllers.split():
        return merged(files, lines(folder, {"cgroup.type": "domain"}))
    cpus, mems = _effective(machine, group, by_path)
    effective = {"cpuset.cpus.effective": render(cpus), "cpuset.mems.effective": render(mems)}
    if not group.path:
        return merged(files, lines(folder, effective))
    own = {"cpuset.cpus": render(group.cpus), "cpuset.mems": render(group.mems)}
    return merged(files, lines(folder, {"cgroup.type": "domain", **own, **effective}))


def _list(path: str, items: list[str] | tuple[int, ...], separator: str) -> Tree:
    """The kernel writes no newline into an empty one of these: the file has no bytes at all."""
    text = separator.join(map(str, items))
    return {path: f"{text}\n" if text else ""}


def _parent(group: Group, by_path: dict[str, Group]) -> Group:
    return by_path[group.path.rpartition("/")[0]]


def _effective(machine: Machine, group: Group, by_path: dict[str, Group]) -> tuple[CpuSet, CpuSet]:
    """The own sets within the parent's effective ones, or those where nothing would be left."""
    if not group.path:
        return machine.cpus.online, machine.memory_nodes
    cpus, mems = _effective(machine, _parent(group, by_path), by_path)
    return cpus & group.cpus or cpus, mems & group.mems or mems


def _v1(machine: Machine) -> Tree:
    """The cpuset hierarchy, in which nothing inherits: every cgroup holds full sets of its own."""
    groups = [Group("", processes=(1, 2, 1200, 1300)), *_pod_groups(machine)]
    return merged(
        *(_v1_files(machine, group) for group in groups),
        *(_memory_files(machine, group, f"{_ROOT}/memory") for group in groups),
    )


def _v1_files(machine: Machine, group: Group) -> Tree:
    folder = f"{_ROOT}/cpuset/{group.path}".rstrip("/")
    cpus = render(group.cpus or machine.cpus.online)
    mems = render(group.mems or machine.memory_nodes)
    sets = {"cpus": cpus, "mems": mems, "effective_cpus": cpus, "effective_mems": mems}
    return merged(
        lines(folder, {f"cpuset.{name}": value for name, value in sets.items()}),
        _list(f"{folder}/cgroup.procs", group.processes, "\n"),
    )


_MOUNTS = """\
21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
22 21 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:2 - sysfs sysfs rw
23 21 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
"""
_V2_MOUNT = (
    "26 22 0:24 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4"
    " - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
)
_FLAGS = "rw,nosuid,nodev,noexec,relatime"
_V1_MOUNTS = "".join(
    f"{row}\n"
    for row in (
        "26 22 0:24 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:4 - tmpfs tmpfs ro,mode=755",
        f"27 26 0:25 / /sys/fs/cgroup/systemd {_FLAGS} shared:5 - cgroup cgroup rw,name=systemd",
        f"28 26 0:26 / /sys/fs/cgroup/memory {_FLAGS} shared:6 - cgroup cgroup rw,memory",
        f"29 26 0:27 / /sys/fs/cgroup/cpuset {_FLAGS} shared:7 - cgroup cgroup rw,cpuset",
        f"30 26 0:28 / /sys/fs/cgroup/pids {_FLAGS} shared:8 - cgroup cgroup rw,pids",
    )
)
