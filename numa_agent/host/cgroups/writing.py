"""Writing one cgroup's set, and what it means when the kernel doesn't take it."""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numa_agent.core import cpulist
from numa_agent.host.cgroups.errors import (
    CgroupError,
    GoneError,
    NeverWrittenError,
    NotSupportedError,
    OwnGroupError,
    ReadOnlyError,
    refused,
)
from numa_agent.host.cgroups.folder import Folder, opened, shown
from numa_agent.host.cgroups.mount import Mount

File = Literal["cpus", "mems"]
"""Which of a cgroup's two sets: cpuset.cpus or cpuset.mems."""

Put = Callable[[Path, str], None]
"""Writes a text into a cgroup file, by its path. Raises OSError as the kernel does."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes sets through `put`, or to the kernel below an open directory where that is None.

    `own_root` is where this process's own cgroup namespace is mounted.
    """

    put: Put | None
    own_root: Path

    def write(self, mount: Mount, parts: tuple[str, ...], file: File, ids: frozenset[int]) -> None:
        """Write one set of the cgroup that the names lead to, in one write. Raises CgroupError."""
        path = "/".join(parts)
        if not ids:
            raise NeverWrittenError(path, f"{shown(path)}: an empty set is never written")
        odd = [number for number in ids if not 0 <= number <= cpulist.MAX_ID]
        if odd:
            message = f"{shown(path)}: {odd[0]} can't be an id of a CPU or memory node"
            raise NeverWrittenError(path, message)
        name = mount.names.cpus if file == "cpus" else mount.names.mems
        cpus = cpulist.render(ids)
        with opened(mount.path, parts) as folder:
            try:
                self._put(mount, folder, name, f"{cpus}\n")
            except OSError as error:
                what = f"{mount.path}/{folder.of(name)}: {cpus} wasn't taken"
                raise self._meaning(mount, folder, what, error) from error

    def _put(self, mount: Mount, folder: Folder, name: str, text: str) -> None:
        if self.put is None:
            folder.put(name, text)
            return
        if folder.is_link(name):
            raise OSError(errno.ELOOP, "a link")
        self.put(mount.path / folder.path / name, text)

    def _meaning(self, mount: Mount, folder: Folder, what: str, error: OSError) -> CgroupError:
        path = folder.path
        if error.errno == errno.ENODEV or (
            error.errno == errno.ENOENT and folder.moved(mount.path)
        ):
            return GoneError(path, f"{what}: the cgroup has gone")
        if error.errno == errno.ENOENT:
            return NotSupportedError(
                path, f"{what}: the cpuset controller isn't enabled in this cgroup"
            )
        if error.errno == errno.EROFS:
            return ReadOnlyError(
                path,
                f"{what}: it is mounted read-only; mount the host's /sys/fs/cgroup read-write",
            )
        if error.errno == errno.EPERM and self._is_own(folder):
            return OwnGroupError(path, f"{what}: it is this agent's own cgroup")
        return refused(path, what, error)

    def _is_own(self, folder: Folder) -> bool:
        """Whether the cgroup is the root of this process's own cgroup namespace."""
        try:
            status = self.own_root.stat()
        except OSError:
            return False
        return folder.identity() == (status.st_dev, status.st_ino)
