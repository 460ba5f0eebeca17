"""The cpuset hierarchy of a machine: where pods' cgroups are, what they hold, and writing them.

It finds, reads and writes, and decides nothing but what is never written.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from numa_agent.config import CGROUP_DIR
from numa_agent.core.cgroups import Group, PodGroups, TasksAllowed
from numa_agent.core.errors import SourceError
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.pods import Pod, QosClass
from numa_agent.host.cgroups.device_files import read_allowed_devices, read_open_devices
from numa_agent.host.cgroups.errors import (
    GoneError,
    NeverWrittenError,
    ReadOnlyError,
    refused,
)
from numa_agent.host.cgroups.folder import (
    GONE,
    Chain,
    Folder,
    Warn,
    names_of,
    open_mount,
    opened,
    shown,
)
from numa_agent.host.cgroups.hidden import Hidden
from numa_agent.host.cgroups.kubelets import Kubelets, liveliest, pod_folders, qos_chain
from numa_agent.host.cgroups.memory import read_maps, read_memory
from numa_agent.host.cgroups.mount import PROC_DIR, Mount, find_mount
from numa_agent.host.cgroups.pods import check_placed, read_pod
from numa_agent.host.cgroups.quota import lift_quota, read_quota
from numa_agent.host.cgroups.reading import Reader, sets_of
from numa_agent.host.cgroups.tasks import read_allowed
from numa_agent.host.cgroups.writing import File, Put, Writer


def _unheard(_: str) -> None:
    pass


class CpusetTree:
    """The cpuset hierarchy of the machine at a host root; paths are those below its mount.

    Every method raises SourceError where there is no hierarchy with the controller. One thread
    uses it at a time, but for `mount`, which any may ask.
    """

    def __init__(
        self,
        host_root: Path,
        cgroup_root: Callable[[], str] = str,
        put: Put | None = None,
        *,
        warn: Warn = _unheard,
        own_root: Path = Path("/", CGROUP_DIR),
    ) -> None:
        """Take the host root, what reads kubelet's cgroupRoot, and what writes a file.

        Without `put` the kernel is written to. `warn` takes a sentence for each file or directory
        that is damaged, a link or past a bound, and so is left out. `own_root` is where this
        process's own cgroup namespace is mounted.
        """
        self._host_root = host_root
        self._warn = warn
        self._kubelets = Kubelets(cgroup_root)
        self._writer = Writer(put, own_root)
        self._mount: Mount | None = None

    def mount(self) -> Mount:
        """The hierarchy, as it was found; it is looked for again as long as there is none."""
        # Another thread may ask meanwhile, and find that it has gone.
        found = self._mount
        if found is None or not os.path.isdir(found.path):
            self._mount = None
            self._mount = found = find_mount(self._host_root)
        return found

    def check_writable(self) -> None:
        """Raise ReadOnlyError when the hierarchy is mounted read-only; nothing is written."""
        mount = self.mount()
        if mount.read_only():
            raise ReadOnlyError(
                "", f"{mount.path}: mounted read-only; mount the host's /sys/fs/cgroup read-write"
            )

    def find(self, pod: Pod) -> PodGroups | None:
        """A pod's cgroups, None when it has none (any more); no other pod's are looked at.

        Raises DriverMismatchError when its containers are elsewhere, and SourceError for a uid
        that is none.
        """
        return self.finder()(pod)

    def finder(self) -> Callable[[Pod], PodGroups | None]:
        """What does the same for many pods at once: what is above them is read for the first."""
        return partial(self._find, self._reader())

    def _find(self, reader: Reader, pod: Pod) -> PodGroups | None:
        with ExitStack() as stack:
            chain = self._chain(stack, pod, reader)
            if not chain:
                return None
            found = read_pod(chain, reader)
            if found is not None and not found.containers:
                check_placed(chain[0], chain[-1], pod, reader)
            return found

    def locate(self, pod: Pod) -> str | None:
        """The path of a pod's cgroup, None when it has none (any more); nothing in it is read."""
        reader = self._reader()
        with ExitStack() as stack:
            chain = self._chain(stack, pod, reader)
            return chain[-1].path if chain else None

    def pod_directories(self) -> Mapping[str, str]:
        """The path of every pod's cgroup by the uid in its name (`Pod.cgroup_uid`).

        Where a pod has two, as after a change of kubelet's driver, it is the one in use.
        """
        reader = self._reader()
        with ExitStack() as stack:
            root = stack.enter_context(open_mount(reader.mount.path))
            places: dict[str, list[tuple[Folder, str]]] = {}
            for kubelet in self._kubelets.present(stack, root, reader):
                for uid, parent, name in pod_folders(stack, kubelet, reader):
                    places.setdefault(uid, []).append((parent, name))
            return {uid: liveliest(places[uid], reader) for uid in sorted(places)}

    def parents(self) -> tuple[str, ...]:
        """The paths of the cgroups in which pods' appear: kubelet's own and those of its classes.

        They are what a watcher watches (inotify(7)).
        """
        reader = self._reader()
        with ExitStack() as stack:
            root = stack.enter_context(open_mount(reader.mount.path))
            chains = [
                qos_chain(stack, kubelet, qos, reader)
                for kubelet in self._kubelets.present(stack, root, reader)
                for qos in QosClass
            ]
            return tuple(chain[-1].path for chain in chains if chain)

    def read(self, path: str) -> Group:
        """One cgroup. Raises GoneError when it isn't there (any more)."""
        reader = self._reader()
        mount = reader.mount.path
        with opened(mount, names_of(path)) as folder:
            group = reader.group(folder)
            if path and None in sets_of(group) and folder.moved(mount):
                raise GoneError(path, f"{mount}/{folder}: it was removed while it was read")
            return group

    def tasks_allowed(self, path: str) -> TasksAllowed:
        """Where each task of one cgroup may run and take memory, by the host root's procfs.

        Raises GoneError when the cgroup isn't there (any more).
        """
        mount = self.mount()
        with opened(mount.path, names_of(path)) as folder:
            try:
                found = read_allowed(folder, mount.names.threads, self._host_root / PROC_DIR)
            except OSError as error:
                what = f"{mount.path}: the tasks of {folder} can't be read"
                if error.errno in GONE:
                    raise GoneError(path, f"{what}: it has gone") from error
                raise refused(path, what, error) from error
        if found.tasks or found.unseen:
            return found
        return replace(found, unseen=self._hidden(mount).tasks(path) or 0)

    def quota(self, path: str) -> float | None:
        """The CPUs' worth of time that a cgroup may use, None where it isn't bounded or told."""
        try:
            return read_quota(self.mount(), self._host_root, path)
        except (OSError, SourceError):
            return None

    def memory(self, path: str, leaves: Sequence[str] = ()) -> MemoryUse | None:
        """Where the memory of a cgroup is, None where neither its account nor, where `leaves` are
        named, the page tables of their processes are seen from here.
        """
        try:
            mount = self.mount()
            found = read_memory(mount, self._host_root, path)
            if found is None and leaves:
                found = read_maps(mount, self._host_root / PROC_DIR, leaves)
        except GoneError:
            return None
        except (OSError, SourceError, ValueError) as error:
            self._warn(f"{shown(path)}: where its memory is can't be read: {error}")
            return None
        return found

    def open_devices(self, path: str, leaves: Sequence[str]) -> frozenset[str]:
        """The names below /dev of the devices that a cgroup may use alone, or that the processes
        of `leaves` hold open: what of that is seen from here.
        """
        try:
            mount = self.mount()
            allowed = read_allowed_devices(mount, self._host_root, path)
            return allowed | read_open_devices(mount, self._host_root / PROC_DIR, leaves)
        except (OSError, SourceError):
            return frozenset()

    def lift_quota(self, path: str) -> None:
        """Let a pod's cgroup, or one in it, use all the time of its CPUs. Raises CgroupError."""
        self._check_ours(path)
        try:
            lift_quota(self.mount(), self._host_root, path, self._writer.put)
        except OSError as error:
            raise refused(path, f"the CPU quota of {shown(path)} wasn't lifted", error) from error

    def write(self, path: str, file: File, ids: frozenset[int]) -> None:
        """Write a set into a pod's cgroup or one inside it, in one write.

        Its path is one that was found here, or is below the cgroupRoot that kubelet's
        configuration names. Raises NeverWrittenError for an empty set and for any other cgroup,
        and else a CgroupError that says what the kernel's refusal means.
        """
        self._check_ours(path)
        self._writer.write(self.mount(), names_of(path), file, ids)

    def _check_ours(self, path: str) -> None:
        if not self._kubelets.holds(names_of(path), self._warn):
            raise NeverWrittenError(
                path, f"{shown(path)}: no pod's cgroup below kubelet's own: never written"
            )

    def _chain(self, stack: ExitStack, pod: Pod, reader: Reader) -> Chain:
        root = stack.enter_context(open_mount(reader.mount.path))
        try:
            return self._kubelets.reach_pod(stack, root, pod, reader)
        except ValueError as error:
            raise SourceError(str(error)) from error

    def _reader(self) -> Reader:
        mount = self.mount()
        return Reader(mount, self._warn, self._hidden(mount))

    def _hidden(self, mount: Mount) -> Hidden:
        return Hidden(mount, self._host_root, self._host_root / PROC_DIR)
