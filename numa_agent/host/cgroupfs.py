"""The cpuset controller through the cgroup filesystem: find, read and write, decide nothing.

v2: https://docs.kernel.org/admin-guide/cgroup-v2.html, v1:
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. Paths are those that kubelet and the
runtimes make: kubernetes/pkg/kubelet/cm/cgroup_manager_linux.go, and containerd's and CRI-O's
scope names.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core import cpulist
from numa_agent.core.binding import Cgroup
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Container, Pod, QosClass

_LEAF = re.compile(r"(?:cri-containerd-|crio-|docker-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
_READ = os.O_RDONLY | os.O_CLOEXEC
# No O_CREAT: it would turn "the cgroup has gone" into a permission error.
_WRITE = os.O_WRONLY | os.O_CLOEXEC

_HINTS = {
    errno.EACCES: "on cgroup v1 the set must lie within the parent's",
    errno.EBUSY: "a cgroup below it holds CPUs outside the set",
    errno.ENOENT: "the container has gone, or its cgroup has no cpuset controller",
    errno.ENODEV: "the container has gone",
    errno.EROFS: "mount the host's /sys/fs/cgroup read-write",
    errno.EINVAL: "a CPU of the set isn't online",
    errno.ERANGE: "the set names a CPU that this kernel can't have",
}


@dataclass(frozen=True, slots=True)
class _Files:
    """Where one hierarchy's cpuset files are and what they are called."""

    base: str
    cpus: str
    effective: str


_V2 = _Files("", "cpuset.cpus", "cpuset.cpus.effective")
_V1 = _Files("cpuset/", "cpuset.cpus", "cpuset.effective_cpus")


Put = Callable[[Path, str], None]
"""Writes a text into a cgroup file. Raises OSError."""


def put_to_kernel(path: Path, text: str) -> None:
    """Write a cgroup file as the kernel wants it: opened without creating it, in one write."""
    descriptor = os.open(path, _WRITE)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


class CgroupFs:
    """The cpuset hierarchy of the machine at a host root."""

    def __init__(
        self,
        host_root: Path,
        cgroup_root: Callable[[], str] = str,
        put: Put = put_to_kernel,
    ) -> None:
        """Take the host root, what gives kubelet's cgroupRoot, and what writes a file.

        `put` takes a cgroup file and its new text; it raises OSError as the kernel does.
        """
        self._put = put
        self._mount = host_root / CGROUP_DIR
        self._cgroup_root = cgroup_root

    def find(self, pod: Pod, container: Container) -> Cgroup | None:
        """The cgroup of a container by its id, None when it isn't there (any more)."""
        files = self._files()
        root = tuple(part for part in self._cgroup_root().split("/") if part)
        for pod_path in _pod_paths(pod, root):
            for name in self._names(files.base + pod_path):
                match = _LEAF.fullmatch(name)
                if match is not None and match["id"] == container.id:
                    return self._read(files, f"{files.base}{pod_path}/{name}")
        return None

    def write(self, path: str, cpus: CpuSet) -> None:
        """Write a CPU list into the cgroup at a path that `find` gave, in one write.

        Raises SourceError with the kernel's reason, and never writes an empty set.
        """
        if not cpus:
            raise SourceError(f"{path}: an empty CPU set is never written")
        name = self._mount / path / self._files().cpus
        try:
            self._put(name, f"{cpulist.render(cpus)}\n")
        except OSError as error:
            hint = _HINTS.get(error.errno or 0)
            reason = f"{error.strerror} ({hint})" if hint else f"{error.strerror}"
            raise SourceError(f"{name}: {cpulist.render(cpus)} wasn't taken: {reason}") from error

    def _files(self) -> _Files:
        if (self._mount / "cgroup.controllers").exists():
            return _V2
        if (self._mount / _V1.base / _V1.cpus).exists():
            return _V1
        raise SourceError(
            f"{self._mount}: neither cgroup v2 nor a v1 cpuset hierarchy is there; mount the"
            " host's /sys/fs/cgroup"
        )

    def _names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._mount / path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SourceError(f"{self._mount / path}: {error.strerror}") from error

    def _read(self, files: _Files, path: str) -> Cgroup:
        return Cgroup(
            path=path,
            cpus=self._cpus(f"{path}/{files.cpus}"),
            effective=self._cpus(f"{path}/{files.effective}"),
        )

    def _cpus(self, path: str) -> CpuSet | None:
        try:
            descriptor = os.open(self._mount / path, _READ)
            try:
                return cpulist.parse(os.read(descriptor, cpulist.MAX_LENGTH).decode("ascii"))
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            return None


def _pod_paths(pod: Pod, root: tuple[str, ...]) -> Iterator[str]:
    """A pod's directory as kubelet's two cgroup drivers name it, below kubelet's cgroup root."""
    qos = "" if pod.qos is QosClass.GUARANTEED else pod.qos.lower()
    parts = [*root, "kubepods", *([qos] if qos else []), f"pod{pod.cgroup_uid}"]
    yield "/".join(parts)
    slices = [part.replace("-", "_") for part in parts]
    yield "/".join(f"{'-'.join(slices[: depth + 1])}.slice" for depth in range(len(slices)))
