"""Who owns which field of an object, as the API server keeps it in metadata.managedFields.

https://kubernetes.io/docs/reference/using-api/server-side-apply/ and, for the tree of fieldsV1
(`f:` before a member's name, `k:` before a list entry's key), the FieldsV1 of
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.documents import Document, items, mapping, text

Path = tuple[str, ...]
Json = dict[str, object]

APPLY = "Apply"
OWNERS: Path = ("metadata", "ownerReferences")
SAID_OF_METADATA = ("labels", "annotations", "ownerReferences")
"""What a manifest can own of an object's metadata; its name and namespace have no owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """One entry of managedFields: who wrote, how ("Apply" or "Update"), when (RFC 3339), what."""

    name: str
    operation: str
    subresource: str | None
    time: str | None
    fields: Document


def managers(live: Document) -> tuple[Manager, ...]:
    """The field managers of an object, in the server's order; an entry without a name is none."""
    entries = (mapping(each) for each in _entries(live))
    return tuple(
        Manager(
            name=name,
            operation=text(entry.get("operation")) or "Update",
            subresource=text(entry.get("subresource")),
            time=text(entry.get("time")),
            fields=mapping(entry.get("fieldsV1")),
        )
        for entry in entries
        if (name := text(entry.get("manager"))) is not None
    )


def managers_in(version: str, live: Document) -> list[Json] | None:
    """The managedFields with every entry said in one apiVersion, None where that is so already.

    Only the version's name is changed; entries that become those of one writer are merged.
    """
    entries = [dict(mapping(each)) for each in _entries(live)]
    if all(entry.get("apiVersion") == version for entry in entries):
        return None
    found: dict[tuple[str | None, ...], Json] = {}
    for entry in entries:
        writer = tuple(text(entry.get(key)) for key in ("manager", "operation", "subresource"))
        fields = _merged(
            mapping(found.get(writer, {}).get("fieldsV1")), mapping(entry.get("fieldsV1"))
        )
        found[writer] = {**entry, "apiVersion": version, "fieldsV1": fields}
    return list(found.values())


def _entries(live: Document) -> Sequence[object]:
    return items(mapping(live.get("metadata")).get("managedFields"))


def _merged(one: Document, other: Document) -> Json:
    """The union of two trees of objects."""
    keys = [*one, *(key for key in other if key not in one)]
    return {key: _merged(mapping(one.get(key)), mapping(other.get(key))) for key in keys}


def spoken_of(manifest: Document) -> Document:
    """The part of a manifest that sets fields which can have an owner."""
    metadata = mapping(manifest.get("metadata"))
    ownable = {key: metadata[key] for key in SAID_OF_METADATA if key in metadata}
    rest = {
        key: value
        for key, value in manifest.items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    return {**rest, "metadata": ownable} if ownable else rest


def overlap(fields: Document, value: object, path: Path = ()) -> Iterator[Path]:
    """The paths of a value that a fieldsV1 tree holds as well; a list is one path, never more.

    An object that the tree holds only as such, without its members, is not ours to share.
    """
    if not isinstance(value, Mapping):
        yield path
        return
    for key, child in value.items():
        found = fields.get(f"f:{key}")
        if isinstance(found, Mapping):
            yield from overlap(found, child, (*path, key))


def dropped(fields: Document, value: object, path: Path = ()) -> Iterator[Path]:
    """The paths of a fieldsV1 tree that a value doesn't set any more.

    Of a list's entries only the owners are looked at, by uid: the rest of it is compared whole.
    """
    if path == OWNERS:
        uids = {text(mapping(each).get("uid")) for each in items(value)}
        yield from (OWNERS for key in fields if key.startswith("k:") and _uid(key) not in uids)
        return
    if not isinstance(value, Mapping):
        return
    for key, child in fields.items():
        name = key.removeprefix("f:")
        if not key.startswith("f:"):
            continue
        if name not in value:
            yield (*path, name)
        else:
            yield from dropped(mapping(child), value[name], (*path, name))


def _uid(key: str) -> str | None:
    """The uid in an entry's key, `k:{"uid":"…"}`."""
    try:
        return text(mapping(json.loads(key.removeprefix("k:"))).get("uid"))
    except ValueError:
        return None
