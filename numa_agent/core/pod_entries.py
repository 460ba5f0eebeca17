"""One pod as a list or a watch event holds it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.pod_keys import DECIDING
from numa_agent.core.pods import PodRead, parse_pod

Key = tuple[str, str]
"""Namespace and name; for an object that lacks one, nothing and its uid."""

_MOST_DIGITS = 20
_OWNED = tuple(f"f:{key}" for key in DECIDING)
_MOST_OWNERS = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """A pod by the key that tells it from the others."""

    key: Key
    read: PodRead


def entry(item: Document) -> Entry:
    """What a v1 Pod describes."""
    return Entry(key_of(item), read_entry(item))


def listed_entry(text: bytes | None) -> Entry:
    """What an item of a list describes by its JSON; None is one that was too long to be read.

    So no more than one pod is ever there in full: a list of 110 decoded at once left 6 MiB behind
    for good, this way it is 0.5 (benchmarks/podwatch).

    Raises ValueError and RecursionError where it isn't JSON.
    """
    if text is not None:
        return entry(mapping(json.loads(text)))
    problem = "a pod is left out: its description is longer than any object should be"
    return Entry(("", ""), PodRead(None, (problem,), left_out=True))


def read_entry(item: Document) -> PodRead:
    """The pod that a v1 Pod describes, with no more of its managedFields than is read of them."""
    read = parse_pod(item)
    if read.pod is None:
        return read
    owners = _annotation_owners(read.pod.managed_fields)
    return replace(read, pod=replace(read.pod, managed_fields=owners))


def key_of(item: Document) -> Key:
    """What tells an object from the others of its kind."""
    metadata = mapping(item.get("metadata"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    if namespace is None or name is None:
        return "", text(metadata.get("uid")) or ""
    return namespace, name


def version_of(document: Document) -> str:
    """An object's or a list's resourceVersion. Raises ValueError for one without."""
    version = text(mapping(document.get("metadata")).get("resourceVersion"))
    if version is None:
        raise ValueError("there is no metadata.resourceVersion")
    return version


def went_back(before: str, now: str) -> bool:
    """Whether a resourceVersion is older than one that the same server said before.

    They compare as numbers: https://kep.k8s.io/5504. Any others are not compared.
    """
    return _is_number(before) and _is_number(now) and int(now) < int(before)


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdecimal() and len(version) <= _MOST_DIGITS


def _annotation_owners(managed_fields: object) -> tuple[Document, ...]:
    """The entries of managedFields that own an annotation which decides, without all else in them.

    That is all that is read of them; the rest is the greater part of an object, and changes
    whenever kubelet reports a status. A manager beyond the first 64 counts as none that owns.
    """
    found: list[Document] = []
    for each in map(mapping, items(managed_fields)):
        of_metadata = mapping(mapping(each.get("fieldsV1")).get("f:metadata"))
        annotations = mapping(of_metadata.get("f:annotations"))
        # Each is a leaf, whatever a server might put below it.
        owned: Document = {key: {} for key in _OWNED if _is_leaf(annotations.get(key))}
        if owned and len(found) < _MOST_OWNERS:
            kept = {key: each[key] for key in ("manager", "operation") if key in each}
            found.append({**kept, "fieldsV1": {"f:metadata": {"f:annotations": owned}}})
    return tuple(found)


def _is_leaf(value: object) -> bool:
    return isinstance(value, Mapping)
