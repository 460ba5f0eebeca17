"""Texts of the languages in which CPUs are decided and asked for, and what stands for them.

A text that is JSON keeps its build, the numbers and words of its language; the names in it are
those of containers and resources. One that isn't keeps only its punctuation: it is refused for
that.
"""

import json
import re
from collections.abc import Iterator

from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Kind, Names

_WORDS = {
    *("version", "cpus", "nodes", "mems", "containers", "cpuset", "numaNodeResources", "node"),
    *("resources", "elems", "numaTopologyPolicy", "singleNUMANodeExclusive", "reservedCPUs"),
    *("applyPolicy", "cpusetExclusive"),
    *("requiredCPUBindPolicy", "preferredCPUBindPolicy", "preferredCPUExclusivePolicy"),
}
"""The members of every language that is read."""

_LOWER = {word.lower() for word in _WORDS}
_VALUES = {
    *("", "SingleNUMANode", "Restricted", "BestEffort", "Required", "Preferred"),
    *("Default", "ReservedCPUsOnly"),
    *("FullPCPUs", "SpreadByPCPUs", "ConstrainedBurst", "None", "PCPULevel", "NUMANodeLevel"),
}
_CONTAINER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MOST_DIGITS = 9
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity'
)
_PUNCTUATION = set("{}[]\":,'\\ \t\r\n-")
_Pairs = list[tuple[str, object]]


def decided(names: Names, value: str) -> str:
    """What stands for a text of one of the languages in which CPUs are decided and asked for."""
    if names.keep:
        return value
    try:
        document = json.loads(
            value,
            object_pairs_hook=_Object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_Number,
        )
        shown = iter(list(_shown(names, document, top=True)))
        return _TOKEN.sub(lambda token: next(shown) or token[0], value)
    except (ValueError, RecursionError):
        return _masked(value)


class _Object:
    """An object's members in their order, those that are given twice too."""

    def __init__(self, pairs: _Pairs) -> None:
        self.pairs = pairs


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _shown(
    names: Names, value: object, *, top: bool = False, within: str = "", known: bool = True
) -> Iterator[str | None]:
    """What stands for each name and value of a document in the text's order, None for itself.

    Of what isn't `known` nothing is kept but its build: nobody reads it, if it isn't refused.
    """
    if isinstance(value, _Object):
        for key, inner in value.pairs:
            shown, following, is_known = _member(names, key, inner, top, within)
            yield json.dumps(shown) if shown != key or not known else None
            yield from _shown(names, inner, within=following, known=known and is_known)
    elif isinstance(value, list):
        for entry in value:
            yield from _shown(names, entry, within=within, known=known)
    elif isinstance(value, _Number):
        yield None if known else "0"
    elif isinstance(value, str):
        shown = _text(names, value) if known else names.word(value)
        yield None if shown == value else json.dumps(shown)
    else:
        yield None


def _member(
    names: Names, key: str, value: object, top: bool, within: str
) -> tuple[str, str, bool]:
    """What stands for a member's name, what its value is of, and whether that is known.

    The name may be a container's or a resource's.
    """
    if key.lower() in _LOWER:
        return key, key.lower(), True
    if within == "resources":
        return words.resource(names, key), "", True
    if key.isascii() and key.isdecimal() and len(key) <= _MOST_DIGITS:
        return key, "", True
    is_container = within == "containers" or (top and isinstance(value, _Object))
    if is_container and _CONTAINER.fullmatch(key):
        return names.of(Kind.CONTAINER, key), "", True
    return names.word(key), "", False


def _text(names: Names, value: str) -> str:
    if value in _VALUES:
        return value
    kept = words.cpus(names, value)
    return kept if kept == value else words.amount(names, value)


def _masked(value: str) -> str:
    """A text that isn't JSON with its punctuation alone, and still not JSON."""
    masked = "".join(each if each in _PUNCTUATION else "x" for each in value)
    try:
        json.loads(masked)
    except (ValueError, RecursionError):
        return masked
    return "x"
