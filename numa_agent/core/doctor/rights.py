"""The rights that the agent needs in the API server; manifests/ grants these and no others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Right:
    """One verb on one resource; the group is "" for the core, the namespace "" for all."""

    group: str
    resource: str
    verb: str
    namespace: str = ""

    @property
    def label(self) -> str:
        """It in words: `patch noderesourcetopologies.topology.node.k8s.io`."""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {f'{self.resource}.{self.group}'.rstrip('.')}{where}"


TOPOLOGIES = ("topology.node.k8s.io", "v1alpha2", "noderesourcetopologies")
DEVICES = ("scheduling.koordinator.sh", "v1alpha1", "devices")

_WRITE = ("get", "create", "patch")
EVENTS = frozenset(Right(group="", resource="events", verb=verb) for verb in ("create", "patch"))
"""What Events are made with: without them everything else goes on."""


def kinds_for(scheduler: str) -> tuple[tuple[str, str, str], ...]:
    """The custom kinds that are published in a scheduler's language: group, version, plural."""
    return (TOPOLOGIES, DEVICES) if scheduler == "koordinator" else (TOPOLOGIES,)


def rights_for(
    scheduler: str,
    *,
    events: bool,
    token_reviews: bool,
    configz: bool,
    gpu_map: bool,
    marks: bool = False,
    evictions: bool = False,
) -> tuple[Right, ...]:
    """The rights that a configuration needs, sorted."""
    found = {*_rights("", "nodes", ("get",)), *_rights("", "pods", ("list", "watch"))}
    for group, _, plural in kinds_for(scheduler):
        found.update(_rights(group, plural, _WRITE))
    if events:
        found |= EVENTS
    if token_reviews:
        found.update(_rights("authentication.k8s.io", "tokenreviews", ("create",)))
        found.update(_rights("authorization.k8s.io", "subjectaccessreviews", ("create",)))
    if configz:
        found.update(_rights("", "nodes/proxy", ("get",)))
    if gpu_map:
        found.update(_rights("", "configmaps", _WRITE, "kube-system"))
    if marks:
        found.update(_rights("", "pods", ("patch",)))
    if evictions:
        found.update(_rights("", "pods/eviction", ("create",)))
    return tuple(sorted(found))


def _rights(
    group: str, resource: str, verbs: Iterable[str], namespace: str = ""
) -> Iterator[Right]:
    return (
        Right(group=group, resource=resource, verb=verb, namespace=namespace) for verb in verbs
    )
