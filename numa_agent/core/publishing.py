"""Writing one object to the API server only where the server's copy lacks something of ours.

`decide` compares with the object that the server holds, never with memory, so that a restart
writes nothing and a server with an older state is noticed. `publish` does what was decided and
gives each way to fail a name. Server-side apply:
https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from numa_agent.core.differences import differences
from numa_agent.core.documents import Document, mapping, text
from numa_agent.core.errors import ApiError
from numa_agent.core.managed_fields import (
    APPLY,
    Manager,
    Path,
    dropped,
    managers,
    managers_in,
    spoken_of,
)
from numa_agent.core.rivals import Rival, named, rivals_among, shares, untracked

__all__ = [
    "FIELD_MANAGER",
    "Action",
    "Applied",
    "Decision",
    "Objects",
    "Outcome",
    "Published",
    "Rival",
    "decide",
    "outcome_of",
    "publish",
    "too_large",
    "undeclared",
]

Json = dict[str, object]
Adopt = Callable[[Json, Json | None], Json]
"""Takes a manifest and the live object; answers the manifest with what it must keep of others."""

FIELD_MANAGER = "numa-agent"

_NOT_IN_V1ALPHA1 = frozenset({"attributes"})
"""Top-level fields of a NodeResourceTopology that its older version lacks."""


class Action(StrEnum):
    """What an object needs."""

    CREATE = "create"
    CHANGE = "change"
    NOTHING = "nothing"
    STAND_BACK = "stand-back"


class Outcome(StrEnum):
    """What became of one object; `pending`, while the moment of its write hasn't come.

    `no-crd`: the server doesn't serve the kind in this version or a field of it, or lacks its
    namespace.
    `conflict`: it was written between our look and our write. `refused`: invalid as it is.
    `unavailable`: no answer, or one that says that the server is ill.
    """

    PENDING = "pending"
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    STOOD_BACK = "stood-back"
    NO_CRD = "no-crd"
    FORBIDDEN = "forbidden"
    CONFLICT = "conflict"
    THROTTLED = "throttled"
    TOO_LARGE = "too-large"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an object needs and why: the fields that differ and who else owns fields of ours.

    `force` says that a change may take fields from another manager.
    """

    action: Action
    differing: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a server-side apply answered; the resourceVersion stays where nothing changed."""

    created: bool
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What became of an object, in words, and the seconds the server asks to be left alone."""

    outcome: Outcome
    detail: str
    retry_after: float | None = None
    rivals: tuple[Rival, ...] = ()


class Objects(Protocol):
    """The API server as a store of objects; each call raises ApiError."""

    def read(self, manifest: Document) -> Json | None:
        """The object of the manifest's kind and name, None where there is none."""

    def apply(self, manifest: Document, *, force: bool) -> Applied:
        """Server-side apply as FIELD_MANAGER; `force` takes fields that others own."""

    def set_managers(self, manifest: Document, entries: list[Json], version: str) -> Applied:
        """Replace the object's managedFields, where it has that resourceVersion."""


def decide(
    manifest: Document,
    live: Document | None,
    *,
    manager: str = FIELD_MANAGER,
    companions: Collection[str] = frozenset(),
    takeover: bool = False,
) -> Decision:
    """What the server's object needs to hold what the manifest says.

    `companions` are field managers that may own fields of ours, so that their lists are written
    over; `takeover` writes over anybody's. An object that nobody is known to own is taken for
    another's, unless it holds what we say.
    """
    if live is None:
        return Decision(action=Action.CREATE)
    ours = spoken_of(manifest)
    owners = managers(live)
    differing = named((*differences(ours, live), *_ours_dropped(owners, manager, ours)))
    others = [each for each in owners if each.name != manager]
    rivals = rivals_among(others, companions, ours)
    if not owners and differing:
        rivals = untracked(ours, live)
    if rivals and not takeover:
        return Decision(action=Action.STAND_BACK, differing=differing, rivals=rivals)
    if not differing:
        return Decision(action=Action.NOTHING, rivals=rivals)
    return Decision(
        action=Action.CHANGE,
        differing=differing,
        rivals=rivals,
        force=bool(rivals) or shares(owners, manager, ours),
    )


def publish(
    objects: Objects,
    manifest: Json,
    *,
    adopt: Adopt = lambda manifest, _live: manifest,
    takeover: bool = False,
    companions: Collection[str] = frozenset(),
) -> Published:
    """Read the server's object, and write ours where that is needed: two requests as a rule.

    A change names the resourceVersion that it was decided on, so that it never undoes a write
    that came in between. A third request is needed where another manager wrote through a version
    that lacks a field of the object: the server then refuses every apply with status 500, until
    that manager's entry names a version that has it. ValueError for a kind that isn't ours.
    """
    try:
        live = objects.read(manifest)
        wanted = adopt(manifest, live)
        decision = decide(wanted, live, takeover=takeover, companions=companions)
        if live is None or decision.action is Action.CREATE:
            objects.apply(wanted, force=False)
            return Published(outcome=Outcome.CREATED, detail="the object was made")
        if decision.action is Action.STAND_BACK:
            return _stood_back(decision)
        if decision.action is Action.NOTHING:
            detail = "the server holds it already"
            return Published(outcome=Outcome.UNCHANGED, detail=detail, rivals=decision.rivals)
        return _changed(objects, wanted, live, decision)
    except ApiError as error:
        outcome = outcome_of(error)
        return Published(outcome=outcome, detail=str(error), retry_after=error.retry_after)


def outcome_of(error: ApiError) -> Outcome:
    """The name of a failure, by its HTTP status."""
    status = error.status
    if too_large(status, str(error)):
        return Outcome.TOO_LARGE
    if undeclared(status, str(error)):
        return Outcome.NO_CRD
    # A definition that is being deleted answers 405.
    known = {401: Outcome.FORBIDDEN, 403: Outcome.FORBIDDEN, 404: Outcome.NO_CRD}
    known |= {405: Outcome.NO_CRD, 409: Outcome.CONFLICT, 429: Outcome.THROTTLED}
    default = Outcome.UNAVAILABLE if error.unavailable else Outcome.REFUSED
    return default if status is None else known.get(status, default)


def too_large(status: int | None, message: str) -> bool:
    """Whether the answer is about the object's size.

    A store that refuses an object for its size is told by its words, since the server passes them
    on as an internal error: https://etcd.io/docs/latest/dev-guide/limit/
    """
    words = ("request is too large", "larger than max")
    return status == 413 or (status == 500 and any(each in message for each in words))


def undeclared(status: int | None, message: str) -> bool:
    """Whether the server's definition lacks a field, which it takes for an error of its own."""
    return status == 500 and "field not declared in schema" in message


def _ours_dropped(owners: Collection[Manager], manager: str, ours: Document) -> Iterator[Path]:
    """What our applies set once and the manifest sets no more; the next apply removes it."""
    for each in owners:
        if (each.name, each.operation, each.subresource) == (manager, APPLY, None):
            yield from dropped(each.fields, ours)


def _changed(objects: Objects, wanted: Json, live: Json, decision: Decision) -> Published:
    version = text(mapping(live.get("metadata")).get("resourceVersion")) or ""
    entries = managers_in(str(wanted.get("apiVersion")), live)
    if entries is not None and not _NOT_IN_V1ALPHA1.isdisjoint({*wanted, *live}):
        version = objects.set_managers(wanted, entries, version).resource_version
    metadata = {**mapping(wanted.get("metadata")), "resourceVersion": version}
    applied = objects.apply({**wanted, "metadata": metadata}, force=decision.force)
    fields = ", ".join(decision.differing)
    if applied.resource_version == version:
        detail = f"the server keeps its own value of {fields}"
        return Published(outcome=Outcome.UNCHANGED, detail=detail, rivals=decision.rivals)
    return Published(outcome=Outcome.CHANGED, detail=fields, rivals=decision.rivals)


def _stood_back(decision: Decision) -> Published:
    whose = "; ".join(
        f"{rival.label}, last written {rival.time or 'at an unknown time'}"
        for rival in decision.rivals
    )
    detail = f"another publisher writes this object: {whose}"
    return Published(outcome=Outcome.STOOD_BACK, detail=detail, rivals=decision.rivals)
