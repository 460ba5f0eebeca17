"""The list of what is in a recording, by what rule, and of what isn't and why: MANIFEST."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAME = "MANIFEST"
FORMAT = "numa-agent.manifest/v1"
MOST_LEFT_OUT = 1000
"""Lines on what is left out; the rest is counted."""
_LONGEST = 120

_NAMES_REPLACED = """\
Names, uids, ids and serial numbers are replaced by pseudonyms. One name has one pseudonym, and
their order is that of the names; the key that they were made with is kept nowhere. PCI addresses,
CPU and node numbers, sizes, times, products' names and the words of Kubernetes and the schedulers
are as they were.
"""
_NAMES_KEPT = "Names, uids, ids and serial numbers are as they were (--keep-names).\n"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One file, link or directory: its path, its bytes, and what of it was kept."""

    path: str
    size: int
    rule: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that a pass reads and that isn't in the recording, and why."""

    path: str
    why: str


def render(
    version: str, recorded: Sequence[Recorded], left_out: Iterable[LeftOut], *, keep_names: bool
) -> str:
    """The manifest's text."""
    lines = [
        f"{FORMAT}, numa-agent {version}",
        "",
        _NAMES_KEPT if keep_names else _NAMES_REPLACED,
        f"{len(recorded)} files, links and directories: bytes, what is kept, path",
    ]
    lines += [f"{each.size}\t{each.rule}\t{_shown(each.path)}" for each in recorded]
    lines += ["", *_left_out(list(left_out))]
    return "\n".join(lines) + "\n"


def _left_out(left_out: Sequence[LeftOut]) -> Iterable[str]:
    if not left_out:
        yield "nothing is left out"
        return
    yield f"left out: {len(left_out)}"
    for each in left_out[:MOST_LEFT_OUT]:
        yield f"{_shown(each.path[:_LONGEST])}: {each.why}"
    rest = Counter(each.why for each in left_out[MOST_LEFT_OUT:])
    yield from (f"and {count} more: {why}" for why, count in sorted(rest.items()))


def _shown(path: str) -> str:
    """A path on one line: a name may hold anything, and none may look like another's line."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in path)
