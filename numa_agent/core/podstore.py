"""The pods of a node as a list and the events after it tell them.

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes

A pod may run that the server doesn't have: after a restore of etcd, or on an empty one, it was
lost, and whoever deletes a pod by force doesn't wait for its end. kubelet ends it in its own time,
while an ordinary pod leaves the server after its cgroup has gone. So a pod that a list lacks, or
an event says to be deleted, is held as long as its cgroup is there; its CPUs are nobody else's
that long.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from numa_agent.core.conditions import Condition
from numa_agent.core.documents import Document, mapping
from numa_agent.core.pod_entries import (
    Entry,
    Key,
    entry,
    key_of,
    read_entry,
    version_of,
    went_back,
)
from numa_agent.core.pods import Pod, PodRead, PodsRead, gathered

_NAMED = 5

_MOST_DELETED = 1024
"""Where nobody can tell which pods have a cgroup, as without a hierarchy, none is kept for ever.

kubelet runs 110 pods by default, and those that have ended are dropped at the next look.
"""


class TurnedBackError(ValueError):
    """The server says an older state than it said before: its etcd was restored or is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStore:
    """What is known of a node's pods at a resourceVersion.

    `held` are pods that the server doesn't have any more, by the uid in their cgroup's name; of
    those in `deleted` it said so itself, and the last list lacked the others. `pods` and `held`
    are the same objects as long as nothing that is read of a pod has changed. `turned` is the
    resourceVersion that the server went back from, None where it didn't.
    """

    version: str
    pods: Mapping[Key, PodRead]
    held: Mapping[str, Pod] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    turned: str | None = None

    def differs(self, other: "PodStore | None") -> bool:
        """Whether something that is read of a pod is another than there."""
        return other is None or self.pods is not other.pods or self.held != other.held

    def after(self, event: Document) -> "PodStore":
        """What is known after an event that isn't an ERROR.

        Raises TurnedBackError where the event is older than what is known, and ValueError for what
        is no event.
        """
        kind, item = event.get("type"), mapping(event.get("object"))
        version = version_of(item)
        if went_back(self.version, version):
            raise TurnedBackError(f"resourceVersion {version} came after {self.version}")
        if kind == "BOOKMARK":
            return replace(self, version=version)
        if kind not in ("ADDED", "MODIFIED", "DELETED"):
            raise ValueError(f"{str(kind)[:40]!r} is no watch event")
        key = key_of(item)
        if kind == "DELETED":
            return self._without(key, version)
        return self._with(key, version, read_entry(item))

    def read(self, running: frozenset[str] | None) -> PodsRead:
        """The pods, with those held that have a cgroup; `running` is None where nobody knows."""
        held = (PodRead(pod) for pod in self.still_held(running).values())
        return gathered([*self.pods.values(), *held])

    def still_held(self, running: frozenset[str] | None) -> Mapping[str, Pod]:
        """The held pods that have a cgroup, by the uid in its name."""
        if running is None:
            return self.held
        return {uid: pod for uid, pod in self.held.items() if uid in running}

    def lost(self, running: frozenset[str] | None) -> Mapping[str, Pod]:
        """Those of them that the server lost: nobody deleted them."""
        held = self.still_held(running)
        return {uid: pod for uid, pod in held.items() if uid not in self.deleted}

    def without_held(self, ended: frozenset[str]) -> "PodStore":
        """The same without the held pods of these uids."""
        if not self.held.keys() & ended:
            return self
        return self.with_held({uid: pod for uid, pod in self.held.items() if uid not in ended})

    def _with(self, key: Key, version: str, read: PodRead) -> "PodStore":
        known = self.pods.get(key)
        if known == read:
            return replace(self, version=version)
        store = replace(self, version=version, pods={**self.pods, key: read})
        if read.pod is None:
            return store
        before = None if known is None else known.pod
        if before is not None and before.cgroup_uid != read.pod.cgroup_uid:
            # It was deleted, and made anew under its name, without an event that told so.
            store = store._holding(before)
        return store.with_held(_others(store.held, read.pod))

    def _without(self, key: Key, version: str) -> "PodStore":
        if key not in self.pods:
            return replace(self, version=version)
        pods = {each: read for each, read in self.pods.items() if each != key}
        without = replace(self, version=version, pods=pods)
        pod = self.pods[key].pod
        if pod is None or _of_an_older(pod, pods):
            return without
        return without._holding(pod)

    def _holding(self, pod: Pod) -> "PodStore":
        """The same with a pod that was deleted, unless it had ended before."""
        if pod.finished:
            return self
        deleted = self.deleted | {pod.cgroup_uid}
        held = {**_others(self.held, pod), pod.cgroup_uid: pod}
        if len(deleted) > _MOST_DELETED:
            oldest = next(uid for uid in held if uid in deleted)
            del held[oldest]
        return replace(self, deleted=deleted).with_held(held)

    def with_held(self, held: Mapping[str, Pod]) -> "PodStore":
        """The same with these held pods."""
        if held is self.held:
            return self
        deleted = self.deleted & held.keys()
        turned = self.turned if held.keys() - deleted else None
        return replace(self, held=held, deleted=deleted, turned=turned)


def listed(pod_list: Document, before: PodStore | None) -> PodStore:
    """What is known after a v1 PodList, given what was; its items may be Entries.

    Raises ValueError for what is no such list.
    """
    version = version_of(pod_list)
    found = pod_list.get("items")
    if pod_list.get("kind") != "PodList" or not isinstance(found, list):
        raise ValueError("the answer is no list of pods")
    pods: dict[Key, PodRead] = {}
    for item in found:
        each = item if isinstance(item, Entry) else entry(mapping(item))
        known = None if before is None else before.pods.get(each.key)
        pods[each.key] = known if known is not None and known == each.read else each.read
    if before is None:
        return PodStore(version=version, pods=pods)
    turned = before.version if went_back(before.version, version) else before.turned
    held = dict(_lacking(before, pods))
    store = PodStore(
        version=version,
        pods=before.pods if pods == before.pods else pods,
        deleted=before.deleted,
        turned=turned,
    )
    return store.with_held(held)


def lost_pods(held: Mapping[str, Pod], turned: str | None, version: str) -> tuple[Condition, ...]:
    """Say which pods still run here that the server no longer has."""
    if not held:
        return ()
    names = sorted(pod.full_name for pod in held.values())
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    why = "were removed by force, or etcd was restored?"
    if turned is not None:
        why = (
            f"its state went back from resourceVersion {turned} to {version}:"
            " was etcd restored, or is it another cluster?"
        )
    message = (
        f"{len(names)} pods run here that the API server no longer has ({shown}); {why}"
        " Their CPUs stay theirs until their cgroups are gone"
    )
    return (Condition(code="pods-lost", subject="pods", message=message),)


def _lacking(before: PodStore, pods: Mapping[Key, PodRead]) -> Iterator[tuple[str, Pod]]:
    """The pods that were known, haven't finished and aren't in a list, by their cgroup's uid."""
    here = {read.pod.cgroup_uid for read in pods.values() if read.pod is not None}
    unread = {key for key, read in pods.items() if read.pod is None}
    for key, read in before.pods.items():
        pod = read.pod
        if pod is None or pod.finished or key in unread:
            continue
        if pod.cgroup_uid not in here:
            yield pod.cgroup_uid, pod
    yield from ((uid, pod) for uid, pod in before.held.items() if uid not in here)


def _of_an_older(pod: Pod, pods: Mapping[Key, PodRead]) -> bool:
    """Whether a pod's cgroup is another one's that started before: then it was a false mirror."""
    found = (read.pod for read in pods.values() if read.pod is not None)
    return any(
        each.cgroup_uid == pod.cgroup_uid and "" < each.started <= (pod.started or "~")
        for each in found
    )


def _others(held: Mapping[str, Pod], pod: Pod) -> Mapping[str, Pod]:
    """The held pods without the one whose cgroup is this pod's."""
    if pod.cgroup_uid not in held:
        return held
    return {uid: each for uid, each in held.items() if uid != pod.cgroup_uid}
