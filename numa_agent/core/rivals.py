"""Who else owns fields that a manifest of ours sets: a second publisher of one object."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from numa_agent.core.differences import leaves
from numa_agent.core.documents import Document
from numa_agent.core.managed_fields import APPLY, OWNERS, Manager, Path, overlap

_SHARED: tuple[Path, ...] = (OWNERS, ("metadata", "labels"))
"""Where others may write beside us without being a second publisher."""

_UNTRACKED = "before-first-apply"
"""The server's own name for the owner of what was written before it kept track."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another field manager that owns fields of ours; `time` is that of its last write."""

    manager: str
    operation: str
    time: str | None
    fields: tuple[str, ...]

    @property
    def label(self) -> str:
        """Manager, operation and fields in words that stay the same from write to write."""
        return f"{self.manager} ({self.operation}) owns {', '.join(self.fields)}"


def rivals_among(
    others: Collection[Manager], companions: Collection[str], ours: Document
) -> tuple[Rival, ...]:
    """The managers, but for the companions, that own fields of ours which only one can write."""
    found = (
        (each, _counted(overlap(each.fields, ours)))
        for each in others
        if each.name not in companions
    )
    return tuple(
        Rival(manager=each.name, operation=each.operation, time=each.time, fields=fields)
        for each, fields in found
        if fields
    )


def untracked(ours: Document, live: Document) -> tuple[Rival, ...]:
    """The unknown writer of an object that has lost its managedFields."""
    fields = tuple(field for field in _counted(leaves(ours)) if field in named(leaves(live)))
    return (Rival(manager=_UNTRACKED, operation="Update", time=None, fields=fields),)[
        : len(fields)
    ]


def shares(owners: Collection[Manager], manager: str, ours: Document) -> bool:
    """Whether somebody beside our applies owns a field of ours, so that only force changes it."""
    return any(
        any(overlap(each.fields, ours))
        for each in owners
        if (each.name, each.operation) != (manager, APPLY)
    )


def _counted(paths: Iterable[Path]) -> tuple[str, ...]:
    return named(path for path in paths if path[:2] not in _SHARED)


def named(paths: Iterable[Path]) -> tuple[str, ...]:
    """The paths as a person writes them, each once and sorted."""
    return tuple(sorted({".".join(path) for path in paths}))
