"""Where an object that is wanted differs from the one that is there, compared as JSON."""

from collections.abc import Iterator, Mapping

from numa_agent.core.documents import items, mapping, text
from numa_agent.core.managed_fields import OWNERS, Path


def differences(wanted: object, live: object, path: Path = ()) -> Iterator[Path]:
    """The paths whose value the live object lacks or holds otherwise.

    An object's members are compared one by one where `wanted` has them, a list whole, and owners
    by their uid.
    """
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            yield from differences(value, mapping(live).get(key), (*path, key))
    elif path == OWNERS:
        theirs = {text(mapping(each).get("uid")): each for each in items(live)}
        for owner in items(wanted):
            if any(differences(owner, theirs.get(text(mapping(owner).get("uid"))))):
                yield path
    elif not _same(wanted, live):
        yield path


def _same(wanted: object, live: object) -> bool:
    """Compare as JSON does: true is not 1, and a tuple is a list."""
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return wanted.keys() == live.keys() and all(
            _same(wanted[key], live[key]) for key in wanted
        )
    if isinstance(wanted, list | tuple) and isinstance(live, list | tuple):
        return len(wanted) == len(live) and all(map(_same, wanted, live))
    return isinstance(wanted, bool) == isinstance(live, bool) and wanted == live


def leaves(value: object, path: Path = ()) -> Iterator[Path]:
    """The paths of everything in a value that isn't an object."""
    if not isinstance(value, Mapping):
        yield path
        return
    for key, child in value.items():
        yield from leaves(child, (*path, key))
