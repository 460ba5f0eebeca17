"""Pods from manifests as people write them: Pods, lists, and what makes pods from a template.

https://kubernetes.io/docs/concepts/workloads/controllers/
"""

import re
from collections.abc import Iterable, Iterator

from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.pods import Pod, parse_pod
from numa_agent.core.quoting import meant
from numa_agent.core.simulating.checking import (
    ManifestError,
    Written,
    check,
    qos_of,
    shown,
    what,
)

MOST_PODS = 500
"""Of all documents together: each replica is one."""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_REPLICAS = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
    "CronJob": "parallelism",
    "DaemonSet": None,
}
_KINDS = ("Pod", "PodList", "List", *_REPLICAS)


def pods_of(documents: Iterable[tuple[str, object]], known: Iterable[Pod] = ()) -> tuple[Pod, ...]:
    """The pods of decoded documents, in order; each with the place that an error names.

    Empty documents are passed over. A pod without a namespace is in `default`, as kubectl has it.
    `known` are pods that are there already, whose names nobody else can have. Raises
    ManifestError.
    """
    names = {pod.full_name: "it runs here already" for pod in known if not pod.finished}
    found: list[Pod] = []
    for place, document in documents:
        if document is None:
            continue
        for where, item in _items(place, document):
            for written in _written(where, item, len(found)):
                pod = _pod(written, len(found))
                if pod.full_name in names:
                    written.fail(f"pod {pod.full_name} is there twice: {names[pod.full_name]}")
                names[pod.full_name] = f"first in {written.place}"
                found.append(pod)
    return tuple(found)


def _items(place: str, document: object) -> Iterator[tuple[str, Document]]:
    """A document, or the items of a list."""
    if not isinstance(document, dict):
        raise ManifestError(f"{place}: {what(document)} where a Pod was expected")
    kind = text(document.get("kind"))
    if kind is None:
        raise ManifestError(f"{place}: it has no kind: a Pod has `apiVersion: v1`, `kind: Pod`")
    if not kind.endswith("List"):
        yield f"{place} ({kind[:60]})", document
        return
    if not isinstance(document.get("items"), list):
        raise ManifestError(f"{place}: a {kind[:60]} without items")
    for number, item in enumerate(items(document["items"]), 1):
        if not isinstance(item, dict):
            raise ManifestError(f"{place}, item {number}: {what(item)} where a Pod was expected")
        # kubectl's own lists name each item's kind, the API's only their own.
        own = text(item.get("kind")) or kind.removesuffix("List") or "?"
        yield f"{place}, item {number} ({own[:60]})", {**item, "kind": own}


def _written(place: str, item: Document, before: int) -> Iterator[Written]:
    kind = text(item.get("kind")) or ""
    if kind not in _KINDS or kind.endswith("List"):
        raise ManifestError(
            f"{place}: {shown(kind)} makes no pods; {meant(kind, _KINDS)}: take it out of the file"
        )
    metadata = _object(place, "metadata", item.get("metadata"))
    spec = _object(place, "spec", item.get("spec"))
    name = _name(place, metadata, before)
    if kind == "Pod":
        yield Written(place=place, metadata=metadata, spec=spec, name=name)
        return
    at = "spec"
    if kind == "CronJob":
        at = "spec.jobTemplate.spec"
        job = _object(place, "spec.jobTemplate", spec.get("jobTemplate"))
        spec = _object(place, at, job.get("spec"))
    template = _object(place, f"{at}.template", spec.get("template"))
    inner = mapping(template.get("metadata"))
    namespace = metadata.get("namespace")
    for number in range(_replicas(place, kind, spec, before)):
        yield Written(
            place=place,
            metadata={**inner, "namespace": namespace},
            spec=_object(place, f"{at}.template.spec", template.get("spec")),
            name=f"{name}-{number}",
        )


def _object(place: str, what: str, value: object) -> Document:
    if not isinstance(value, dict):
        raise ManifestError(f"{place}: it has no {what}" if value is None else _not(place, what))
    return value


def _not(place: str, what: str) -> str:
    return f"{place}: its {what} isn't an object"


def _name(place: str, metadata: Document, before: int) -> str:
    given, begin = metadata.get("name"), metadata.get("generateName")
    if given is None and isinstance(begin, str) and begin:
        given = f"{begin}{before}"
    if given is None or given == "":
        raise ManifestError(f"{place}: it has no name: write metadata.name")
    if not isinstance(given, str):
        raise ManifestError(f"{place}: its name {shown(given)} isn't text: put it in quotes")
    if not _NAME.fullmatch(given):
        raise ManifestError(
            f"{place}: its name {shown(given)} isn't one: small letters, digits, - and . are"
        )
    return given


def _replicas(place: str, kind: str, spec: Document, before: int) -> int:
    member = _REPLICAS[kind]
    number = 1 if member is None else _whole(place, member, spec.get(member))
    if member == "parallelism" and spec.get("completions") is not None:
        # So many run at once at most.
        number = min(number, _whole(place, "completions", spec["completions"]))
    if before + number > MOST_PODS:
        raise ManifestError(
            f"{place}: more than {MOST_PODS} pods in all, of which {number} here: a node has room"
            " for far fewer"
        )
    return number


def _whole(place: str, member: str, value: object) -> int:
    """A number of pods; one that isn't given is 1."""
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ManifestError(f"{place}: its {member} {shown(value)} isn't a whole number")
    return value


def _pod(written: Written, number: int) -> Pod:
    """The pod that the API server would make of it, before kubelet has seen it."""
    if number >= MOST_PODS:
        written.fail(f"more than {MOST_PODS} pods in all: a node has room for far fewer")
    check(written)
    namespace = written.metadata.get("namespace") or "default"
    if not isinstance(namespace, str) or not _NAME.fullmatch(namespace):
        written.fail(f"its namespace {shown(namespace)} isn't one")
    read = parse_pod(
        {
            "metadata": {
                "namespace": namespace,
                "name": written.name,
                "uid": f"00000000-0000-4000-8000-{number:012x}",
                "annotations": written.metadata.get("annotations"),
                "labels": written.metadata.get("labels"),
            },
            "spec": written.spec,
            "status": {"phase": "Pending", "qosClass": qos_of(written.spec).value},
        }
    )
    if read.pod is None:
        written.fail("; ".join(read.problems) or "it can't be read")
    return read.pod
