"""A fake of one cgroup hierarchy with the cpuset controller: system calls on a folder.

    kernel = Kernel(tmp_path / "cgroup", version="6.1", hierarchy="v2",
                    cpus=frozenset(range(8)), mems=frozenset({0, 1}))
    kernel.mkdir("kubepods", enable=True)
    kernel.attach("kubepods", 4711)
    kernel.put(tmp_path / "cgroup/kubepods/cpuset.cpus", "2-3\n")
    assert kernel.task_allowed(4711) == {2, 3}

What one reads, one reads from the folder's files, which always say what the kernel would. What one
writes goes through `put`, which is what the product takes in place of its own writing, and is
refused with the kernel's errno. Groups are named by their path from the root, "" being the root.
"""

import errno
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from numa_agent.core.cpulist import CpuSet
from tests.kernel.cpusets import Cpusets
from tests.kernel.files import Texts, v1_texts, v2_texts
from tests.kernel.folder import Folder
from tests.kernel.groups import Cpuset, Group
from tests.kernel.refusals import refused
from tests.kernel.tree import Tree
from tests.kernel.versions import RULES, Version
from tests.kernel.writes import Writer, around

Hierarchy = Literal["v2", "v1"]

CONTROLLERS = ("cpuset", "cpu", "memory")


class Kernel:
    """One cgroup hierarchy below `root`. Calls from several threads are taken one by one."""

    def __init__(
        self,
        root: Path,
        *,
        version: Version,
        hierarchy: Hierarchy,
        cpus: CpuSet,
        mems: CpuSet,
        possible: CpuSet = frozenset(),
        possible_mems: CpuSet = frozenset(),
        controllers: tuple[str, ...] = CONTROLLERS,
        prefix: str = "cpuset.",
    ) -> None:
        """Take the machine: its online CPUs, its nodes with memory, and what else may come.

        On v2 the root hands all `controllers` down. `prefix` is "" for v1 mounted with noprefix.
        """
        self.root = root
        self._v2 = hierarchy == "v2"
        self._prefix = prefix
        self._lock = threading.RLock()
        top = Group("", None)
        self._cpusets = Cpusets(
            top,
            RULES[version],
            v2=self._v2,
            online=cpus,
            possible=possible | cpus,
            mems=mems,
            possible_mems=possible_mems | mems,
        )
        self._tree = Tree(top, self._cpusets, controllers, v2=self._v2)
        self._writer = Writer(self._tree, self._cpusets)
        if self._v2:
            top.subtree_control = frozenset(controllers)
        self._folder = Folder(root)
        self._show(top)

    @property
    def online_cpus(self) -> CpuSet:
        """The machine's online CPUs."""
        return self._cpusets.online

    def mkdir(self, path: str, *, enable: bool = False) -> None:
        """Make a group, its parent being there. `enable` hands its controllers down as well.

        Raises OSError with EEXIST, ENOENT or EINVAL.
        """
        with self._lock:
            group = self._tree.mkdir(path)
            self._show(group)
            if enable and self._v2:
                names = self._tree.controllers(group)
                self.write(path, "cgroup.subtree_control", " ".join(f"+{name}" for name in names))

    def rmdir(self, path: str) -> None:
        """Remove a group. Raises OSError with ENOENT or EBUSY."""
        with self._lock:
            group = self._tree.rmdir(path)
            self._folder.remove(group.path)
            if group.threaded and group.parent is not None:
                self._show(*group.parent.subtree)

    def start(self, pid: int) -> None:
        """Start a task in the root group."""
        with self._lock:
            self._tree.start(pid)
            self._show(self._tree.root)

    def attach(self, path: str, pid: int) -> None:
        """Write a task's pid to a group's `cgroup.procs`, started first if need be.

        Raises OSError with ENOENT, ENOSPC, EBUSY or EOPNOTSUPP.
        """
        with self._lock:
            if not self._tree.knows(pid):
                self.start(pid)
            self.write(path, "cgroup.procs", str(pid))

    def exit(self, pid: int) -> None:
        """End a task. Raises OSError with ESRCH."""
        with self._lock:
            self._show(*around(self._tree.exit(pid)))

    def set_affinity(self, pid: int, cpus: CpuSet) -> None:
        """What sched_setaffinity(2) does. Raises OSError with ESRCH or EINVAL."""
        with self._lock:
            group, task = self._tree.task(pid)
            self._cpusets.ask(task, group, cpus)

    def offline(self, cpu: int) -> None:
        """Take a CPU away."""
        self._set_online(self.online_cpus - {cpu})

    def online(self, cpu: int) -> None:
        """Give a CPU back."""
        self._set_online(self.online_cpus | {cpu})

    def task_allowed(self, pid: int) -> CpuSet:
        """Cpus_allowed_list of a task. Raises OSError with ESRCH."""
        return self._tree.task(pid)[1].cpus

    def task_mems(self, pid: int) -> CpuSet:
        """Mems_allowed_list of a task. Raises OSError with ESRCH."""
        return self._tree.task(pid)[1].mems

    def group_of(self, pid: int) -> str:
        """The path of a task's group. Raises OSError with ESRCH."""
        return self._tree.task(pid)[0].path

    def read(self, path: str, file: str) -> str:
        """What a file of a group says. Raises OSError with ENOENT or EOPNOTSUPP."""
        with self._lock:
            group = self._tree.find(path)
            texts = self._texts(group)
            if file not in texts:
                raise refused(errno.ENOENT, f"{path}/{file}")
            if file == "cgroup.procs" and group.threaded:
                raise refused(errno.EOPNOTSUPP, f"{path}/{file}")
            return texts[file]

    def get(self, path: Path) -> str:
        """What the file at a path of the folder says. Raises OSError."""
        return self.read(*self._named(path))

    def write(self, path: str, file: str, text: str) -> None:
        """Write to a file of a group, in one write. Raises OSError with the kernel's errno."""
        self.put(self.root / path / file, text)

    def put(self, path: Path, text: str) -> None:
        """Write to the file at a path of the folder, opened without creating it, in one write."""
        with self.open(path) as file:
            file.write(text)

    def open(self, path: Path) -> "OpenFile":
        """The file at a path of the folder, open for writing. Raises OSError."""
        # The real open has the real refusals, and tells watches of the file what it should.
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            with self._lock:
                above, name = self._named(path)
                group = self._tree.find(above)
                return OpenFile(self, descriptor, group, group.cpuset, name)
        except OSError:
            os.close(descriptor)
            raise

    def write_open(self, file: "OpenFile", text: str) -> None:
        """One write to an open file. Raises OSError."""
        with self._lock:
            changed = self._writer.write(file.group, file.cpuset, file.name, text)
            self._show(*changed)
            if text:
                # A watch of the file sees a user's write even when it changes nothing.
                said = self._texts(file.group)[self._shown(file.name)].encode()
                os.pwrite(file.descriptor, said, 0) if said else os.ftruncate(file.descriptor, 0)

    def _set_online(self, online: CpuSet) -> None:
        with self._lock:
            if online == self.online_cpus:
                return
            changed = set()
            for group in self._cpusets.set_online(online):
                if group.tasks:
                    changed |= {*around(group), *around(self._tree.rescue(group))}
            self._show(*changed)

    def _named(self, path: Path) -> tuple[str, str]:
        """The group's path and the plain name of the file at a path of the folder."""
        real = path.resolve()
        if not real.is_relative_to(self.root.resolve()):
            raise refused(errno.EXDEV, str(path))
        relative = real.relative_to(self.root.resolve())
        above = relative.parent.as_posix()
        return "" if above == "." else above, self._plain(relative.name)

    def _plain(self, name: str) -> str:
        """A file's name as it would be with the prefix."""
        bare = not self._prefix and "." not in name and name != "tasks"
        return f"cpuset.{name}" if bare else name

    def _shown(self, name: str) -> str:
        """A file's name as it is in the folder."""
        return self._prefix + name.removeprefix("cpuset.") if name.startswith("cpuset.") else name

    def _texts(self, group: Group) -> Texts:
        texts = v2_texts(self._tree, group) if self._v2 else v1_texts(group)
        return {self._shown(name): text for name, text in texts.items()}

    def _show(self, *groups: Group) -> None:
        """Write on disk what changed."""
        for group in {*groups, *self._cpusets.touched}:
            self._folder.show(group.path, self._texts(group))
        self._cpusets.touched.clear()


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file of a group that is open for writing; close it, or use it as a context."""

    _kernel: Kernel
    descriptor: int
    group: Group
    cpuset: Cpuset | None
    """The group's cpuset when the file was opened: another one has other files."""
    name: str

    def write(self, text: str) -> None:
        """Write once. Raises OSError, ENODEV when the group or the controller has gone."""
        self._kernel.write_open(self, text)

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
