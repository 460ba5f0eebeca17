"""Pods and containers as the API server gives them (v1 Pod).

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from numa_agent.core.containers import Container as Container
from numa_agent.core.containers import parse_containers
from numa_agent.core.controllers import controller_of
from numa_agent.core.documents import Document, items, mapping, text, texts
from numa_agent.core.pod_keys import CONFIG_HASH, MIRROR, kept_annotations, kept_labels
from numa_agent.core.requests import NO_DEMANDS, Demands, parse_demands

# The ids below become parts of cgroup paths, so nothing but these forms may pass.
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{32}")

# A resource's name may follow: OutOfnvidia.com/gpu.
_REASON = re.compile(r"[A-Za-z][\w./-]{0,120}", re.ASCII)

_FINISHED = {"Succeeded", "Failed"}


class QosClass(StrEnum):
    """The pod's quality of service, which decides where kubelet puts its cgroup."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod; containers are init, app and ephemeral ones, in that order.

    `started` is when kubelet first saw it, as RFC 3339 text in UTC, "" before that; `reason` the
    word that kubelet has for why it refused or ended it, "" for others; `demands` are
    what its spec asks for; `managed_fields` its metadata.managedFields as they are; `controller`
    is what made it, such as `ReplicaSet/web-5d6`. Of annotations and labels it has those that are
    read, and no others: numa_agent.core.pod_keys.
    """

    namespace: str
    name: str
    uid: str
    phase: str
    started: str
    qos: QosClass
    annotations: Mapping[str, str]
    containers: tuple[Container, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    demands: Demands = NO_DEMANDS
    runtime_class: str | None = None
    managed_fields: object = ()
    controller: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "annotations", kept_annotations(self.annotations))
        object.__setattr__(self, "labels", kept_labels(self.labels))

    @property
    def full_name(self) -> str:
        """Namespace and name, as people write them."""
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Whether it has ended for good and so holds nothing."""
        return self.phase in _FINISHED

    @property
    def cgroup_uid(self) -> str:
        """The uid in its cgroup's name: a static pod's is its config's hash, not its own uid.

        Only kubelet's mirror of a static pod counts: anybody may write the hash's annotation.
        """
        if MIRROR not in self.annotations:
            return self.uid
        return self.annotations.get(CONFIG_HASH, self.uid)


@dataclass(frozen=True, slots=True)
class PodsRead:
    """The pods of a list, and sentences that name what of it can't be used.

    `left_out` says whether a pod is missing, so that what is free can't be told.
    """

    pods: tuple[Pod, ...]
    problems: tuple[str, ...]
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class PodRead:
    """One pod, None where it can't be used; the rest as in PodsRead."""

    pod: Pod | None
    problems: tuple[str, ...] = ()
    left_out: bool = False


def parse_pod(item: object) -> PodRead:
    """The pod that a v1 Pod describes."""
    problems: list[str] = []
    try:
        return PodRead(_pod(mapping(item), problems), tuple(problems))
    except ValueError as error:
        # It holds nothing, and one that was never admitted lacks half its status.
        if mapping(mapping(item).get("status")).get("phase") in _FINISHED:
            return PodRead(None, tuple(problems))
        return PodRead(None, (*problems, str(error)), left_out=True)


def parse_pods(pod_list: Document) -> PodsRead:
    """The pods of a v1 PodList, those that started first ahead; a bad one costs itself alone."""
    return gathered(parse_pod(item) for item in items(pod_list.get("items")))


def gathered(read: Iterable[PodRead]) -> PodsRead:
    """All pods of a node, those that started first ahead, without those that can't be trusted."""
    found = list(read)
    pods, problems, doubtful = _without_doubles([one.pod for one in found if one.pod is not None])
    problems += [problem for each in found for problem in each.problems]
    pods.sort(key=lambda pod: (pod.started or "~", pod.namespace, pod.name, pod.uid))
    left_out = doubtful or any(each.left_out for each in found)
    return PodsRead(tuple(pods), tuple(sorted(problems)), left_out)


def _without_doubles(pods: list[Pod]) -> tuple[list[Pod], list[str], bool]:
    """The pods without static ones that claim a cgroup which is another pod's.

    Anybody may make a mirror pod, and kubelet removes it in its own time. Whether one was left out
    of which nobody knows that it is false, is told at the end.
    """
    claims: dict[str, list[Pod]] = {}
    for pod in pods:
        if not pod.finished:
            claims.setdefault(pod.cgroup_uid, []).append(pod)
    owners = {uid: _owner(rivals) for uid, rivals in claims.items()}
    kept, problems, doubtful = [], [], False
    for pod in pods:
        owner = owners.get(pod.cgroup_uid)
        if pod.finished or pod is owner or pod.cgroup_uid == pod.uid:
            kept.append(pod)
            continue
        doubtful = doubtful or owner is None
        problems.append(
            f"pod {pod.full_name} is left out: another pod names the same cgroup, {pod.cgroup_uid}"
        )
    return kept, problems, doubtful


def _owner(rivals: list[Pod]) -> Pod | None:
    """Whose a cgroup is that several pods claim: of the one that kubelet has reported first.

    It reports none that it hasn't made itself. None where it can't be told yet.
    """
    of_its_own = [pod for pod in rivals if pod.cgroup_uid == pod.uid]
    if len(rivals) == 1 or of_its_own:
        return (of_its_own or rivals)[0]
    first = min((pod.started for pod in rivals if pod.started), default=None)
    found = [pod for pod in rivals if pod.started == first]
    return found[0] if first is not None and len(found) == 1 else None


def _pod(item: Document, problems: list[str]) -> Pod:
    metadata, status = mapping(item.get("metadata")), mapping(item.get("status"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    if namespace is None or name is None:
        raise ValueError("a pod without a namespace or name is left out")
    full_name = f"pod {namespace}/{name}"
    pod = Pod(
        namespace=namespace,
        name=name,
        uid=text(metadata.get("uid")) or "",
        phase=text(status.get("phase")) or "Unknown",
        started=text(status.get("startTime")) or "",
        qos=_qos(status.get("qosClass"), full_name),
        annotations=texts(metadata.get("annotations")),
        containers=parse_containers(status, full_name, problems),
        labels=texts(metadata.get("labels")),
        demands=parse_demands(mapping(item.get("spec"))),
        runtime_class=text(mapping(item.get("spec")).get("runtimeClassName")),
        managed_fields=metadata.get("managedFields", ()),
        controller=controller_of(metadata.get("ownerReferences")),
        reason=_word(status.get("reason")),
    )
    for uid in (pod.uid, pod.cgroup_uid):
        if _UID.fullmatch(uid) is None:
            raise ValueError(f"{full_name} is left out: {uid[:80]!r} isn't a pod's uid")
    if pod.cgroup_uid != pod.uid and _HASH.fullmatch(pod.cgroup_uid) is None:
        # Another pod's uid has dashes: nobody gets at its cgroup by naming it.
        raise ValueError(f"{full_name} is left out: {pod.cgroup_uid!r} is no configuration's hash")
    return pod


def _word(value: object) -> str:
    said = text(value) or ""
    return said if _REASON.fullmatch(said) else ""


def _qos(value: object, full_name: str) -> QosClass:
    try:
        return QosClass(str(value))
    except ValueError:
        raise ValueError(f"{full_name} is left out: qosClass {value!r} isn't known") from None
