"""The spellings of a CPU or node list that a kernel takes, with its errors for the others.

"CPU lists" of https://docs.kernel.org/admin-guide/kernel-parameters.html says what is meant;
what is taken beyond that is measured.
"""

import errno
from dataclasses import dataclass

from numa_agent.core.cpulist import CpuSet
from tests.kernel.refusals import refused

SPACE = " \t\n\v\f\r"

_END = "\0"
_MAX_NUMBER = 2**32


@dataclass(frozen=True, slots=True)
class _Region:
    """The first `used` of every `group` ids from `first` to `last`."""

    first: int
    last: int
    used: int
    group: int


class ListParser:
    """Reads lists of ids below `bits`; `words` is whether `all` and `N` are taken (from 5.13)."""

    def __init__(self, *, bits: int, words: bool) -> None:
        self._bits = bits
        self._words = words

    def parse(self, text: str) -> CpuSet:
        """The set that `text` names. Raises OSError with EINVAL, ERANGE or EOVERFLOW."""
        text = text.partition(_END)[0] + _END
        ids: set[int] = set()
        at: int | None = 0
        while at is not None:
            while text[at] in SPACE + ",":
                at += 1
            if text[at] == _END:
                break
            region, at = self._region(text, at)
            ids.update(self._ids(region))
        return frozenset(ids)

    def _region(self, text: str, at: int) -> tuple[_Region, int | None]:
        """One element and where to go on; nowhere after an element that a line end follows."""
        if self._words and text[at : at + 3].lower() == "all":
            first, last, at = 0, self._bits - 1, at + 3
        else:
            first, at = self._number(text, at)
            last = first
            if not _ends_element(text[at]):
                last, at = self._number(text, _past(text, at, "-"))
        if _ends_element(text[at]):
            whole = (last + 1) % _MAX_NUMBER
            return _Region(first, last, whole, whole), None if text[at] in "\n\0" else at
        used, at = self._number(text, _past(text, at, ":"))
        group, at = self._number(text, _past(text, at, "/"))
        return _Region(first, last, used, group), at

    def _number(self, text: str, at: int) -> tuple[int, int]:
        if self._words and text[at] == "N":
            return self._bits - 1, at + 1
        end = at
        while text[end] in "0123456789":
            end += 1
        if end == at:
            raise refused(errno.EINVAL)
        # Of a text of thousands of digits only that it is too long matters.
        if end - at > 4000 or int(text[at:end]) >= _MAX_NUMBER:
            raise refused(errno.EOVERFLOW)
        return int(text[at:end]), end

    def _ids(self, region: _Region) -> list[int]:
        if region.first > region.last or region.group == 0 or region.used > region.group:
            raise refused(errno.EINVAL)
        if region.last >= self._bits:
            raise refused(errno.ERANGE)
        ids = range(region.first, region.last + 1)
        return [id_ for id_ in ids if (id_ - region.first) % region.group < region.used]


def _ends_element(character: str) -> bool:
    return character in SPACE + "," + _END


def _past(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise refused(errno.EINVAL)
    return at + 1
