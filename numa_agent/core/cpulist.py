"""CPU sets and the kernel's two text forms of them, the list `0-3,8` and the mask `ff,00000000`.

A CPU set (and a set of NUMA nodes) is a `frozenset[int]` of kernel ids. The list form and its
`used/group` pattern are those of Documentation/admin-guide/kernel-parameters.rst, "cpu lists":
https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

import re
from collections.abc import Collection, Iterable

CpuSet = frozenset[int]

MAX_ID = 65535
"""The largest id accepted. Linux is built for at most 8192 CPUs and 1024 nodes, so a larger id is
damage, and a range such as `0-4294967295` must not cost memory."""

MAX_NAMED = 4 * (MAX_ID + 1)
"""How many ids a list may name, repeats counted: overlapping ranges must not cost seconds."""

MAX_LENGTH = 65536
"""The longest text accepted, in characters: more than 8192 CPUs listed one by one need."""


_SPACE = " \t\n\v\f\r"
"""What the kernel skips around a list."""

_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*")


class CpuListError(ValueError):
    """A text that is not a CPU list or mask; the message shows the text and the part refused."""


def parse(text: str) -> CpuSet:
    """The set that a kernel list names: `"0-2,8"` is {0, 1, 2, 8} and `""` is the empty set.

    Besides single ids and ranges it takes the kernel's `0-31:2/4` (the first 2 of each 4) and the
    stride `0-62:2` that lscpu prints. Raises CpuListError for anything else: reversed ranges,
    negative or huge ids, empty elements, words such as `all`.
    """
    stripped = text.strip(_SPACE)
    if len(stripped) > MAX_LENGTH:
        raise CpuListError(f"CPU list of {len(stripped)} characters: more than {MAX_LENGTH}")
    if not stripped:
        return frozenset()
    ids: set[int] = set()
    named = 0
    for element in stripped.split(","):
        found = _parse_element(element, stripped)
        named += len(found)
        if named > MAX_NAMED:
            raise CpuListError(f"CPU list {_shown(stripped)} names CPUs again and again")
        ids.update(found)
    return frozenset(ids)


def parse_mask(text: str) -> CpuSet:
    """The set that a kernel bitmap names: 32-bit hexadecimal words, the highest first.

    `"00000001,80000000"` is {31, 32}. Raises CpuListError for anything else.
    """
    stripped = text.strip(_SPACE)
    if len(stripped) > MAX_LENGTH:
        raise CpuListError(f"CPU mask of {len(stripped)} characters: more than {MAX_LENGTH}")
    if _MASK.fullmatch(stripped) is None:
        raise CpuListError(f"not a CPU mask: {_shown(stripped)}")
    bits = f"{int(stripped.replace(',', ''), 16):b}"
    if len(bits) > MAX_ID + 1:
        raise CpuListError(f"CPU mask names id {len(bits) - 1}: more than {MAX_ID}")
    return frozenset(position for position, bit in enumerate(reversed(bits)) if bit == "1")


def in_several(sets: Iterable[CpuSet]) -> CpuSet:
    """The CPUs that are in more than one of these sets."""
    seen: set[int] = set()
    several: set[int] = set()
    for cpus in sets:
        several |= seen & cpus
        seen |= cpus
    return frozenset(several)


def render(cpus: Iterable[int]) -> str:
    """The shortest kernel list of a set, ascending, so that parse(render(cpus)) == cpus."""
    parts: list[str] = []
    first = last = None
    for cpu in sorted(frozenset(cpus)):
        if last is not None and cpu == last + 1:
            last = cpu
            continue
        if first is not None and last is not None:
            parts.append(_range(first, last))
        first = last = cpu
    if first is not None and last is not None:
        parts.append(_range(first, last))
    return ",".join(parts)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _parse_element(element: str, text: str) -> Collection[int]:
    if element.isascii() and element.isdigit():
        return (_id(element, text),)
    span, colon, pattern = element.partition(":")
    low, dash, high = span.partition("-")
    if not dash:
        raise CpuListError(f"not a CPU list: {_shown(text)} (at {_shown(element)})")
    first, last = _id(low, text), _id(high, text)
    if first > last:
        raise CpuListError(f"reversed range {_shown(element)} in CPU list {_shown(text)}")
    if not colon:
        return range(first, last + 1)
    used_text, slash, group_text = pattern.partition("/")
    if slash:
        used, group = _id(used_text, text), _id(group_text, text)
    else:
        used, group = 1, _id(used_text, text)
    if not 0 < used <= group:
        raise CpuListError(f"pattern {_shown(element)} takes {used} of each {group} CPUs")
    return [cpu for cpu in range(first, last + 1) if (cpu - first) % group < used]


def _id(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise CpuListError(f"not a CPU list: {_shown(text)} (at {_shown(digits)})")
    if len(digits) > 9 or int(digits) > MAX_ID:
        raise CpuListError(f"id {_shown(digits)} in CPU list {_shown(text)}: more than {MAX_ID}")
    return int(digits)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
