"""How kubelet and the runtimes name a pod's and a container's cgroup. Pure.

kubelet: kubernetes/pkg/kubelet/cm/cgroup_manager_linux.go for both drivers, and
https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/. systemd: systemd.slice(5), "-" is the
separator of levels. Scopes: containerd's internal/cri/server/helpers.go, CRI-O's
internal/config/cgmgr, cri-dockerd's core/docker_service.go.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from numa_agent.core.pods import Pod, QosClass

Parts = tuple[str, ...]
"""A cgroup's path below the hierarchy's mount, name by name."""

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_LEAF = re.compile(r"(?:cri-containerd-|crio-|docker-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
_SLICE = ".slice"
_KUBEPODS = "kubepods"
_RUNTIMES = ("cri-containerd", "crio", "docker")

QOS_LEVELS: dict[QosClass, Parts] = {
    QosClass.GUARANTEED: (),
    QosClass.BURSTABLE: ("burstable",),
    QosClass.BEST_EFFORT: ("besteffort",),
}
"""The names between kubelet's own cgroup and a pod's, by the pod's class."""


class Driver(StrEnum):
    """kubelet's `cgroupDriver`: who makes its cgroups and how they are named."""

    CGROUPFS = "cgroupfs"
    SYSTEMD = "systemd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where one kubelet keeps its pods: its cgroup driver and the names of its `cgroupRoot`."""

    driver: Driver
    root: Parts = ()

    @property
    def kubepods(self) -> Parts:
        """kubelet's own cgroup, that of all its pods."""
        return self._path(*self.root, _KUBEPODS)

    def qos(self, qos: QosClass) -> Parts:
        """The cgroup that the pods of a class are in; that of Guaranteed ones is kubelet's own."""
        return self._path(*self.root, _KUBEPODS, *QOS_LEVELS[qos])

    def pod(self, pod: Pod) -> Parts:
        """A pod's cgroup. Raises ValueError for a uid that is none, since it becomes a name."""
        uid = pod.cgroup_uid
        if _UID.fullmatch(uid) is None:
            raise ValueError(f"pod {pod.full_name}: {uid[:80]!r} isn't a pod's uid")
        return self._path(*self.root, _KUBEPODS, *QOS_LEVELS[pod.qos], f"pod{uid}")

    def pod_uid(self, qos: QosClass, name: str) -> str | None:
        """The uid in a pod's cgroup's name among those of a class, None for any other name."""
        start, end, dash = "pod", "", "-"
        if self.driver is Driver.SYSTEMD:
            start, end, dash = f"{self.qos(qos)[-1].removesuffix(_SLICE)}-pod", _SLICE, "_"
        if not (name.startswith(start) and name.endswith(end)):
            return None
        found = name[len(start) : len(name) - len(end)]
        if dash != "-":
            if "-" in found:
                return None
            found = found.replace(dash, "-")
        return found if _UID.fullmatch(found) else None

    def holds(self, parts: Sequence[str]) -> bool:
        """Whether a path is a pod's cgroup or one inside it."""
        path = tuple(parts)
        for qos in QosClass:
            above = self.qos(qos)
            depth = len(above)
            if (
                len(path) > depth
                and path[:depth] == above
                and self.pod_uid(qos, path[depth]) is not None
            ):
                return True
        return False

    def _path(self, *names: str) -> Parts:
        if self.driver is Driver.CGROUPFS:
            return names
        # Each level repeats those above it, so that a name's own dash becomes an underscore.
        levels = [name.replace("-", "_") for name in names]
        return tuple(f"{'-'.join(levels[: depth + 1])}{_SLICE}" for depth in range(len(levels)))


def root_names(cgroup_root: str) -> Parts:
    """The names of kubelet's `cgroupRoot`. Raises ValueError for one that leads elsewhere."""
    names = tuple(name for name in cgroup_root.split("/") if name)
    # What can't be printed includes NUL and what no file's name can hold.
    if not cgroup_root.isprintable() or not {".", ".."}.isdisjoint(names):
        raise ValueError(f"kubelet's cgroupRoot {cgroup_root[:80]!r} isn't a cgroup's path")
    return names


def layouts(root: Parts) -> tuple[Layout, ...]:
    """Both layouts that a kubelet of this root may have."""
    return tuple(Layout(driver=driver, root=root) for driver in Driver)


def layouts_below(name: str) -> tuple[Layout, ...]:
    """The layouts of a kubelet whose `cgroupRoot` is this one directory of the hierarchy's top.

    A node in a container (kind) has one such: https://kind.sigs.k8s.io/.
    """
    if not name.endswith(_SLICE):
        return (Layout(driver=Driver.CGROUPFS, root=(name,)),)
    stem = name.removesuffix(_SLICE)
    # A dash would be a level of its own, which no slice at the top has.
    return (Layout(driver=Driver.SYSTEMD, root=(stem,)),) if "-" not in stem else ()


def container_id(name: str) -> str | None:
    """The id in a container's cgroup's name, whatever the runtime; None for any other name.

    CRI-O's conmon carries the container's id too, and is no container.
    """
    match = _LEAF.fullmatch(name)
    return match["id"] if match else None


def misplaced_names(pod_path: Parts, of: str) -> Iterator[str]:
    """What a runtime without systemd's driver calls a container of a pod that has that driver.

    It takes the path that was meant for systemd, `slice:prefix:id`, for one directory's name.
    """
    if pod_path[-1].endswith(_SLICE):
        yield from (f"{pod_path[-1]}:{runtime}:{of}" for runtime in _RUNTIMES)
