"""What is in one pod's cgroup: its containers, what is in those, and what is no container."""

from collections.abc import Iterator
from dataclasses import replace

from numa_agent.core.cgroups import ContainerGroups, PodGroups
from numa_agent.core.pods import Pod
from numa_agent.host.cgroups.errors import DriverMismatchError
from numa_agent.host.cgroups.folder import Chain, Folder
from numa_agent.host.cgroups.layout import container_id, misplaced_names
from numa_agent.host.cgroups.reading import Reader, sets_of

_SYSTEM = "system.slice"
_SERVICE = ".service"


def read_pod(chain: Chain, reader: Reader) -> PodGroups | None:
    """What is in a pod's open cgroup, the last of the chain; None when it is removed meanwhile."""
    *above, folder = chain
    containers, left_out = _containers(folder, reader)
    own = reader.group(folder)
    if reader.gone(above[-1], folder, own):
        return None
    if set(sets_of(own)) == {None}:
        reader.warn(f"{folder}: without cpuset files: the controller isn't enabled in it")
    if any(container.group.populated for container in containers):
        own = replace(own, populated=True)
    return PodGroups(
        version=reader.mount.version,
        above=tuple(reader.above(parent) for parent in above),
        group=own,
        containers=tuple(containers),
        left_out=tuple(sorted(left_out)),
        memory_used=reader.memory_used(folder) if own.mems else None,
    )


def _containers(folder: Folder, reader: Reader) -> tuple[list[ContainerGroups], list[str]]:
    """The containers in a pod's cgroup, one of an id, and the paths of what is none."""
    containers: dict[str, ContainerGroups] = {}
    left_out: list[str] = []
    for name, below in reader.children(folder):
        found = container_id(name)
        if found is None:
            left_out.append(below.path)
            continue
        group, nested = reader.subtree(below)
        if reader.gone(folder, below, group):
            continue
        newer, older = ContainerGroups(id=found, group=group, nested=nested), containers.get(found)
        if older is not None:
            # Two runtimes' names for one container: the one that is in use is it.
            if older.group.populated or not group.populated:
                newer, older = older, newer
            left_out.append(older.group.path)
        containers[found] = newer
    return list(containers.values()), left_out


def check_placed(root: Folder, pod_folder: Folder, pod: Pod, reader: Reader) -> None:
    """Raise DriverMismatchError if a running container is where a mismatched runtime puts it."""
    running = [c.id for c in pod.containers if c.running and c.id and container_id(c.id) == c.id]
    names = {name: found for found in running for name in misplaced_names(pod_folder.parts, found)}
    for place in _runtimes_places(root, reader) if names else ():
        for name, found in names.items():
            if place.has(name):
                raise DriverMismatchError(
                    pod_folder.path,
                    f"pod {pod.full_name}: its container {found} is in {place.of(name)} and not"
                    f" in the pod's own cgroup {pod_folder.path}: kubelet's cgroup driver is"
                    " systemd and the runtime's is cgroupfs; set the runtime's to systemd too"
                    " (containerd: SystemdCgroup = true)",
                )


def _runtimes_places(root: Folder, reader: Reader) -> Iterator[Folder]:
    """Where a runtime leaves containers whose cgroup's path it doesn't understand."""
    yield root
    for name, system in reader.children(root):
        if name == _SYSTEM:
            yield system
            for service, folder in reader.children(system):
                if service.endswith(_SERVICE):
                    yield folder
