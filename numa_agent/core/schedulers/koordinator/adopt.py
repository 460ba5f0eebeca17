"""What others wrote into lists that an apply replaces whole, kept.

The lists of both objects have no x-kubernetes-list-type, so that server-side apply takes each for
one value: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy.
"""

from collections.abc import Iterator, Sequence

from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.schedulers.koordinator import device, topology
from numa_agent.core.view import Json

_NEVER_IN_ZONES = "koordinator.sh/gpu"
"""koordlet takes it for its own and never writes it: where it is there, it updates without end."""

_OUR_TYPES = {"gpu", "rdma"}

_OUR_MEMBERS = {"type", "id", "minor", "health", "resources", "topology", "vfGroups", "conditions"}


def adopt(manifest: Json, live: Document | None) -> Json:
    """The manifest with what the object in the cluster holds of others, None where there is none.

    Of a NodeResourceTopology those are resources in zones (koord-manager's batch resources); of a
    Device its devices of other types, members of devices that we don't write, and the conditions
    that don't contradict a device's health, with their times.
    """
    if live is None:
        return manifest
    if manifest.get("kind") == topology.KIND:
        theirs = _by_name(live.get("zones"))
        zones = [_zone(mapping(zone), theirs) for zone in items(manifest.get("zones"))]
        return {**manifest, "zones": zones}
    if manifest.get("kind") == device.KIND:
        spec = mapping(manifest.get("spec"))
        devices = _devices(items(spec.get("devices")), mapping(live.get("spec")).get("devices"))
        return {**manifest, "spec": {**spec, "devices": devices}}
    return manifest


def _by_name(entries: object) -> dict[str, Document]:
    """Entries of a list by their name, the first of two; those without one are left out."""
    found: dict[str, Document] = {}
    for entry in map(mapping, items(entries)):
        name = text(entry.get("name"))
        if name is not None:
            found.setdefault(name, entry)
    return found


def _zone(zone: Document, theirs: dict[str, Document]) -> Json:
    live = theirs.get(str(zone.get("name")), {})
    resources = _by_name(live.get("resources")) | _by_name(zone.get("resources"))
    resources.pop(_NEVER_IN_ZONES, None)
    return {**zone, "resources": [dict(resources[name]) for name in sorted(resources)]}


def _devices(ours: Sequence[object], live: object) -> list[Json]:
    theirs = [mapping(entry) for entry in items(live)]
    # The first wins, as a list of two with one id isn't ours to settle.
    by_id = {(entry.get("type"), text(entry.get("id"))): entry for entry in reversed(theirs)}
    own = [mapping(entry) for entry in ours]
    merged = [
        _device(entry, by_id.get((entry.get("type"), text(entry.get("id"))), {})) for entry in own
    ]
    foreign = [dict(entry) for entry in theirs if entry.get("type") not in _OUR_TYPES]
    return sorted((*merged, *foreign), key=_order)


def _order(entry: Json) -> tuple[str, int, str]:
    minor = entry.get("minor")
    return str(entry.get("type")), minor if isinstance(minor, int) else -1, str(entry.get("id"))


def _device(own: Document, live: Document) -> Json:
    kept = {key: value for key, value in live.items() if key not in _OUR_MEMBERS}
    conditions = list(_conditions(live, healthy=own.get("health") is True))
    return {**own, **kept, **({"conditions": conditions} if conditions else {})}


def _conditions(live: Document, *, healthy: bool) -> Iterator[Json]:
    """The conditions by type, without a Healthy that says something else."""
    listed = [mapping(entry) for entry in items(live.get("conditions"))]
    for entry in sorted(listed, key=lambda entry: str(entry.get("type"))):
        says = {"True": True, "False": False}.get(str(entry.get("status")))
        if entry.get("type") != "Healthy" or says is healthy:
            yield dict(entry)
