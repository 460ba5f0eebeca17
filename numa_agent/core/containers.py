"""The containers of a pod as its status tells them (v1 ContainerStatus).

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodStatus
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.requests import MOST_CONTAINERS

# The id becomes part of cgroup paths, so nothing but this form may pass.
_CONTAINER_ID = re.compile(r"(?P<runtime>[a-z][a-z0-9-]*)://(?P<id>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a pod; `id` is the runtime's 64 hex digits, None before it exists.

    `runtime` is the runtime's name as kubelet has it (containerd, cri-o), "" before that.
    """

    name: str
    id: str | None
    running: bool
    runtime: str = ""


def parse_containers(
    status: Document, full_name: str, problems: list[str]
) -> tuple[Container, ...]:
    """The first ones of a v1 PodStatus; what can't be used of them is added to the problems."""
    found = _containers(status, full_name, problems)
    containers = tuple(islice(found, MOST_CONTAINERS))
    if next(found, None) is not None:
        problems.append(
            f"{full_name}: the containers after the first {MOST_CONTAINERS} are left alone"
        )
    return containers


def _containers(status: Document, full_name: str, problems: list[str]) -> Iterator[Container]:
    for group in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for entry in items(status.get(group)):
            yield _container(mapping(entry), full_name, problems)


def _container(status: Document, full_name: str, problems: list[str]) -> Container:
    name = text(status.get("name")) or "?"
    full_id = text(status.get("containerID"))
    match = _CONTAINER_ID.fullmatch(full_id) if full_id else None
    if full_id and match is None:
        problems.append(
            f"{full_name}: container {name} is left alone: its id {full_id[:100]!r} isn't a"
            " runtime's name and 64 hexadecimal digits"
        )
    return Container(
        name=name,
        id=match["id"] if match else None,
        running=isinstance(mapping(status.get("state")).get("running"), Mapping),
        runtime=match["runtime"] if match else "",
    )
