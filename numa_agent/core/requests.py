"""What a pod asks for, by Kubernetes' own rules for init containers, sidecars and whole pods.

https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
and https://kubernetes.io/docs/concepts/workloads/pods/pod-level-resources/ (KEP-2837).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.node import amounts, native

MOST_CONTAINERS = 256
"""Of one pod: the API server takes thousands, and any that is kept costs memory."""

_MOST_RESOURCES = 32
"""That one container asks for; a request for none of what no node has is taken, too."""

_MOST_CLAIMS = 32


class Role(StrEnum):
    """What a container is in its pod."""

    INIT = "init"
    """Runs to its end before the next one starts."""
    SIDECAR = "sidecar"
    """An init container with restartPolicy Always: runs as long as the pod."""
    APP = "app"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one container asks for and may have: cpu in thousandths, the rest in whole units.

    `claims` are its pod's names of the resource claims that it uses, each once.
    """

    container: str
    role: Role
    requests: Mapping[str, int]
    limits: Mapping[str, int] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """A pod's containers' requests in their order, its own and its overhead."""

    containers: tuple[Demand, ...] = ()
    pod: Mapping[str, int] | None = None
    overhead: Mapping[str, int] | None = None
    pod_limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def memory_limit(self) -> int | None:
        """The bytes that all containers together may have, None where one is without a limit."""
        if "memory" in self.pod_limits:
            return self.pod_limits["memory"]
        staying = [each.limits.get("memory") for each in self.containers if each.role != Role.INIT]
        if not staying or None in staying:
            return None
        return sum(size for size in staying if size is not None)

    def of(self, container: str) -> Mapping[str, int]:
        """What a container asks for or may have, be it by what its whole pod does."""
        found = {**(self.pod or {}), **self.pod_limits}
        for demand in self.containers:
            if demand.container == container:
                _raise(found, demand.limits)
                _raise(found, demand.requests)
        return found

    def claims_of(self, container: str) -> tuple[str, ...]:
        """The resource claims that a container uses, by its pod's names for them."""
        found = (each.claims for each in self.containers if each.container == container)
        return next(found, ())

    def effective(self) -> Mapping[str, int]:
        """What the pod needs at its greediest moment: what a scheduler counts.

        An init container runs beside the sidecars that started before it. The pod's own requests
        stand for those of its containers, by resource.
        """
        running: dict[str, int] = {}
        peak: dict[str, int] = {}
        for demand in self.containers:
            if demand.role is Role.SIDECAR:
                _add(running, demand.requests)
            elif demand.role is Role.INIT:
                _raise(peak, _sum(running, demand.requests))
        for demand in self.containers:
            if demand.role is Role.APP:
                _add(running, demand.requests)
        _raise(peak, running)
        peak |= self.pod or {}
        return _sum(peak, self.overhead or {})


NO_DEMANDS = Demands()


def parse_demands(spec: Document) -> Demands:
    """The demands of a v1 PodSpec; what can't be read is taken as not asked for."""
    before, apps = items(spec.get("initContainers")), items(spec.get("containers"))
    containers = [_demand(mapping(entry), Role.APP) for entry in apps[:MOST_CONTAINERS]]
    containers[:0] = [
        _demand(mapping(entry), Role.SIDECAR if _stays(mapping(entry)) else Role.INIT)
        for entry in before[: MOST_CONTAINERS - len(containers)]
    ]
    own = mapping(spec.get("resources"))
    return Demands(
        containers=tuple(containers),
        pod=_requests(own) if own else None,
        pod_limits=_bounded(amounts(own.get("limits"))),
        overhead=amounts(spec.get("overhead")) or None,
    )


def _stays(container: Document) -> bool:
    return container.get("restartPolicy") == "Always"


def _demand(container: Document, role: Role) -> Demand:
    return Demand(
        container=text(container.get("name")) or "?",
        role=role,
        requests=_requests(mapping(container.get("resources"))),
        limits=_bounded(amounts(mapping(container.get("resources")).get("limits"))),
        claims=_claims(mapping(container.get("resources"))),
    )


def _claims(resources: Document) -> tuple[str, ...]:
    # Several requests of one claim are entries of their own. One that can't be read counts, too.
    listed = items(resources.get("claims"))[:_MOST_CLAIMS]
    return tuple(dict.fromkeys(text(mapping(each).get("name")) or "?" for each in listed))


def _requests(resources: Document) -> Mapping[str, int]:
    # The API server fills in a request that only a limit gives; a recorded pod may lack it.
    return _bounded({**amounts(resources.get("limits")), **amounts(resources.get("requests"))})


def _bounded(found: Mapping[str, int]) -> Mapping[str, int]:
    """The amounts, of very many names those of Kubernetes' own resources and what there is."""
    if len(found) <= _MOST_RESOURCES:
        return found
    names = sorted(found, key=lambda name: (not native(name), not found[name], name))
    return {name: found[name] for name in names[:_MOST_RESOURCES]}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _raise(peak: dict[str, int], moment: Mapping[str, int]) -> None:
    for name, count in moment.items():
        peak[name] = max(peak.get(name, 0), count)


def _sum(*parts: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        _add(total, part)
    return total
