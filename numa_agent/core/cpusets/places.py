"""The cgroups of one pod as a tree, each with what is wanted of its files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numa_agent.core.cgroups import ContainerGroups, File, Group, MemSet, PodGroups, Version
from numa_agent.core.cpusets.sides import (
    FILES,
    NONE,
    Ids,
    Side,
    found_in,
    pod_side,
    still,
    v1_side,
    v2_side,
)
from numa_agent.core.cpusets.values import PodTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One cgroup of the tree; `container` is its name or id, "" for the pod's own directory.

    `inner_mems` are the memory nodes that cgroups inside it have configured.
    """

    path: str
    container: str
    reason: str
    sides: Mapping[File, Side]
    children: "tuple[Place, ...]" = ()
    inner_mems: MemSet = NONE

    def bound(self, file: File) -> bool:
        """Whether the file has a set of its own, before or after, here or further in."""
        side = self.sides[file]
        return bool(side.held or side.want) or any(each.bound(file) for each in self.children)


def places(target: PodTarget, groups: PodGroups) -> tuple[Place, ...]:
    """The trees that are written: the pod's directory (v2), or its containers' each (v1)."""
    # Before Linux 6.1 the kernel refuses a pod's set that is narrower than kubelet's in it.
    containers = () if target.pod_level_only else groups.containers
    wanted: dict[File, Ids | None] = {"cpus": target.cpus, "mems": target.mems}
    if groups.version is Version.V1:
        # Where the runtime hasn't filled the pod's directory yet, the kernel refuses all of them.
        held = {file: found_in(groups.group, file)[0] or NONE for file in FILES}
        above = {file: still(ids, ids) for file, ids in held.items()}
        return tuple(_container(target, each, above, groups.version) for each in containers)
    alike = not target.containers
    sides = {file: pod_side(groups, file, wanted[file], alike=alike) for file in FILES}
    return (
        Place(
            path=groups.group.path,
            container="",
            reason=target.reason,
            sides=sides,
            children=tuple(_container(target, each, sides, groups.version) for each in containers),
            inner_mems=_mems(
                inner for each in groups.containers for inner in (each.group, *each.nested)
            ),
        ),
    )


def _container(
    target: PodTarget, container: ContainerGroups, above: Mapping[File, Side], version: Version
) -> Place:
    own = target.containers.get(container.id)
    names = {each.id: each.name for each in target.pod.containers}
    asked: dict[File, Ids | None] = dict.fromkeys(FILES)
    if version is Version.V1:
        # On v2 the pod's directory says it for them.
        asked = {"cpus": target.cpus, "mems": target.mems}
    if own is not None:
        asked = {"cpus": own.cpus or asked["cpus"], "mems": own.mems or asked["mems"]}
    return _place(
        container.group,
        container.nested,
        above,
        asked,
        version,
        container=names.get(container.id, container.id),
        reason=target.reason if own is None else own.reason,
    )


def _place(
    group: Group,
    inner: tuple[Group, ...],
    above: Mapping[File, Side],
    asked: Mapping[File, Ids | None],
    version: Version,
    *,
    container: str,
    reason: str,
    nested: bool = False,
    touched: bool = False,
) -> Place:
    touched = touched or any(side.want != side.held for side in above.values())
    sides = {
        file: (v1_side if version is Version.V1 else v2_side)(
            found_in(group, file), above[file], asked[file], nested=nested, touched=touched
        )
        for file in FILES
    }
    children = tuple(
        _place(
            child,
            tuple(each for each in inner if each.path.startswith(f"{child.path}/")),
            sides,
            dict.fromkeys(FILES),
            version,
            container=container,
            reason=reason,
            nested=True,
            touched=touched,
        )
        for child in inner
        if child.path.rpartition("/")[0] == group.path
    )
    return Place(
        path=group.path,
        container=container,
        reason=reason,
        sides=sides,
        children=children,
        inner_mems=_mems(inner),
    )


def _mems(groups: Iterable[Group]) -> MemSet:
    return NONE.union(*(group.mems or NONE for group in groups))
