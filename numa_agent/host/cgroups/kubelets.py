"""Where kubelet keeps its pods on this machine: its cgroup driver and cgroupRoot, by looking.

Both drivers' directories can be there, for kubelet leaves the old ones behind when its driver is
changed: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/configure-cgroup-driver/.
Nothing is remembered of a place where there is none, since at boot there is none yet.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod, QosClass
from numa_agent.host.cgroups.folder import Chain, Folder, Warn, reach
from numa_agent.host.cgroups.layout import (
    Layout,
    Parts,
    container_id,
    layouts,
    layouts_below,
    root_names,
)
from numa_agent.host.cgroups.reading import Reader

_DEPTH = 5
"""kubelet's cgroup, a class's, a pod's, a container's and one in it: where processes are."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """One kubelet's own cgroup, open, and how its pods are named."""

    layout: Layout
    chain: Chain


class Kubelets:
    """The layouts under which pods' cgroups are looked for.

    First come those of the cgroupRoot that kubelet's configuration names, then those found below
    the hierarchy's root, as a kubelet has that gets its cgroupRoot by a flag.
    """

    def __init__(self, cgroup_root: Callable[[], str]) -> None:
        """Take what reads kubelet's cgroupRoot."""
        self._cgroup_root = cgroup_root
        self._configured: Parts | None = None
        self._seen: tuple[Layout, ...] = ()

    def holds(self, parts: Sequence[str], warn: Warn) -> bool:
        """Whether a path is a pod's cgroup, or in one, under a layout that is known by now."""
        return any(layout.holds(parts) for layout in self._layouts(warn))

    def reach_pod(self, stack: ExitStack, root: Folder, pod: Pod, reader: Reader) -> Chain:
        """A pod's cgroup and those above it, () where there is none.

        Of two, as after a change of the driver, it is the one with processes, or else with
        containers. Raises ValueError for a uid that is none.
        """
        present = self._present(stack, root, reader)
        found = list(_pods(stack, present, pod, reader))
        if not found:
            new = self._discover(stack, root, reader)
            found = list(_pods(stack, new, pod, reader))
        if len(found) < 2:
            return found[0] if found else ()
        return max(found, key=lambda chain: liveliness(chain[-1], reader))

    def present(self, stack: ExitStack, root: Folder, reader: Reader) -> list[Kubelet]:
        """Every kubelet's cgroup that is there."""
        present = self._present(stack, root, reader)
        if not any(inhabited(kubelet.chain[-1], reader) for kubelet in present):
            self._configured = None
            present = self._present(stack, root, reader)
            present += self._discover(stack, root, reader)
        return present

    def _discover(self, stack: ExitStack, root: Folder, reader: Reader) -> list[Kubelet]:
        """The kubelets below the hierarchy's root that weren't known, which are known from now."""
        known = self._layouts(reader.warn)
        new = [
            Kubelet(layout, chain)
            for name in root.directories(reader.warn)
            for layout in layouts_below(name)
            if layout not in known
            if (chain := reach(stack, (root,), layout.kubepods, reader.warn))
        ]
        self._seen += tuple(kubelet.layout for kubelet in new)
        return new

    def _present(self, stack: ExitStack, root: Folder, reader: Reader) -> list[Kubelet]:
        return [
            Kubelet(layout, chain)
            for layout in self._layouts(reader.warn)
            if (chain := reach(stack, (root,), layout.kubepods, reader.warn))
        ]

    def _layouts(self, warn: Warn) -> tuple[Layout, ...]:
        if self._configured is None:
            try:
                self._configured = root_names(self._cgroup_root())
            except (SourceError, ValueError) as error:
                warn(f"{error}; kubelet's cgroups are looked for where they usually are")
                return (*layouts(()), *self._seen)
        configured = layouts(self._configured)
        return (*configured, *(layout for layout in self._seen if layout not in configured))


def pod_folders(
    stack: ExitStack, kubelet: Kubelet, reader: Reader
) -> Iterator[tuple[str, Folder, str]]:
    """Each pod's directory of a kubelet: the pod's uid, the open directory it is in, its name."""
    for qos in QosClass:
        for parent in qos_chain(stack, kubelet, qos, reader)[-1:]:
            for name in parent.directories(reader.warn):
                uid = kubelet.layout.pod_uid(qos, name)
                if uid is not None:
                    yield uid, parent, name


def qos_chain(stack: ExitStack, kubelet: Kubelet, qos: QosClass, reader: Reader) -> Chain:
    """The cgroup that the pods of a class are in and those above it, () where there is none."""
    rest = kubelet.layout.qos(qos)[len(kubelet.layout.kubepods) :]
    return reach(stack, kubelet.chain, rest, reader.warn)


def liveliness(pod: Folder, reader: Reader) -> tuple[bool, bool]:
    """How likely a pod's directory is in use, to be compared: by processes, then containers."""
    has_containers = any(container_id(name) for name in pod.directories(reader.warn))
    return inhabited(pod, reader), has_containers


def liveliest(places: list[tuple[Folder, str]], reader: Reader) -> str:
    """The path of the one of a pod's directories that is in use."""
    if len(places) > 1:
        with ExitStack() as stack:
            chains = [reach(stack, (parent,), (name,), reader.warn) for parent, name in places]
            there = [chain[-1] for chain in chains if chain]
            if there:
                return max(there, key=lambda folder: liveliness(folder, reader)).path
    parent, name = places[0]
    return "/".join((*parent.parts, name))


def inhabited(folder: Folder, reader: Reader, depth: int = _DEPTH) -> bool:
    """Whether a process is found in a cgroup or below it; where v2 tells it, nothing is listed."""
    told = reader.populated(folder)
    if told is not None:
        return told
    return depth > 1 and any(
        inhabited(below, reader, depth - 1) for _, below in reader.children(folder)
    )


def _pods(
    stack: ExitStack, kubelets: Sequence[Kubelet], pod: Pod, reader: Reader
) -> Iterator[Chain]:
    for kubelet in kubelets:
        rest = kubelet.layout.pod(pod)[len(kubelet.layout.kubepods) :]
        chain = reach(stack, kubelet.chain, rest, reader.warn)
        if chain:
            yield chain
