"""Cpuset hierarchies on disk for tests, with the files of one kernel version and no kernel."""

from pathlib import Path
from typing import Self

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups import CpusetTree
from tests.machine_tree import CGROUP, Tree, uid

UID = uid(1)
UID_ = UID.replace("-", "_")
HASH = "0123456789abcdef0123456789abcdef"
STATIC = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}

V2 = {
    "cpus": "cpuset.cpus",
    "mems": "cpuset.mems",
    "effective_cpus": "cpuset.cpus.effective",
    "effective_mems": "cpuset.mems.effective",
    "threads": "cgroup.threads",
}
V1 = V2 | {
    "effective_cpus": "cpuset.effective_cpus",
    "effective_mems": "cpuset.effective_mems",
    "threads": "tasks",
}
NOPREFIX = V1 | {name: name for name in ("cpus", "mems", "effective_cpus", "effective_mems")}


class Hierarchy:
    """Writes the cgroups of one cpuset hierarchy below a machine's root.

    `at` is where it is mounted there. A cgroup is written with those above it; one with
    processes makes those populated, as v2 tells.
    """

    def __init__(
        self,
        root: Path,
        version: Version = Version.V2,
        at: str | None = None,
        names: dict[str, str] | None = None,
    ) -> None:
        own = version is Version.V2
        self.machine = Tree(root)
        self.version = version
        self.at = at if at is not None else (CGROUP if own else f"{CGROUP}/cpuset")
        self.names = names or (V2 if own else V1)
        self._write("", {"effective_cpus": "0-7", "effective_mems": "0-1"})
        if own:
            self.machine.file(f"{self.at}/cgroup.controllers", "cpuset cpu io memory pids")
        else:
            self.file("", "cpus", "0-7").file("", "mems", "0-1")

    @property
    def folder(self) -> Path:
        """The directory of the hierarchy's root."""
        return self.machine.root / self.at

    def group(self, path: str, processes: tuple[int, ...] = (), **sets: str) -> Self:
        """One cgroup with the processes in it; a set that isn't given is what a new one holds."""
        for above in [str(parent) for parent in reversed(Path(path).parents)][1:]:
            if not (self.folder / above).is_dir():
                self._write(above, {})
            if processes and self.version is Version.V2:
                self._raw(above, "cgroup.events", "populated 1\nfrozen 0\n")
        self._write(path, sets)
        listed = "".join(f"{process}\n" for process in processes)
        for name in ("cgroup.procs", self.names["threads"]):
            self._raw(path, name, listed)
        if processes and self.version is Version.V2:
            self._raw(path, "cgroup.events", "populated 1\nfrozen 0\n")
        return self

    def file(self, path: str, name: str, text: str) -> Self:
        """One file of a cgroup, by what it is or by its own name."""
        return self._raw(path, self.names.get(name, name), f"{text}\n")

    def tree(self, cgroup_root: str = "", **options: object) -> CpusetTree:
        """What reads it; `cgroup_root` is kubelet's."""
        return CpusetTree(self.machine.root, lambda: cgroup_root, **options)  # type: ignore[arg-type]

    def _write(self, path: str, sets: dict[str, str]) -> None:
        new = {"effective_cpus": "0-7", "effective_mems": "0-1"}
        if path:
            own = self.version is Version.V1
            new |= {"cpus": "0-7" if own else "", "mems": "0-1" if own else ""}
        for name, text in (new | sets).items():
            self.file(path, name, text)
        self._raw(path, "cgroup.procs", "")
        self._raw(path, self.names["threads"], "")
        if path and self.version is Version.V2:
            self._raw(path, "cgroup.events", "populated 0\nfrozen 0\n")

    def _raw(self, path: str, name: str, text: str) -> Self:
        self.machine.raw(
            f"{self.at}/{path}/{name}" if path else f"{self.at}/{name}", text.encode()
        )
        return self


def both(root: Path) -> tuple[Hierarchy, Hierarchy]:
    """A v2 and a v1 hierarchy on two machines."""
    return Hierarchy(root / "v2"), Hierarchy(root / "v1", Version.V1)
