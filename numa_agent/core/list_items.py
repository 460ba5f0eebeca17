"""The items of a list in JSON, cut out one by one as the text comes.

A list may be long, and whoever makes objects makes their texts long. So no more of it is there at
a time than one item: https://kubernetes.io/docs/reference/using-api/api-concepts/#collections.
"""

import re
from collections.abc import Iterator

_MARK = re.compile(rb'["{}\[\]]')
_IN_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BEGINS = re.compile(rb'"items"[ \t\r\n]*:[ \t\r\n]*\[\Z')
_BETWEEN = b" \t\r\n,"
_MOST_FRAME = 64 * 1024
_LIST, _ITEM = 2, 3
"""How deep the list's items are, and what is in one."""


class ListItems:
    """Takes a list's text bit by bit. `frame` is the text without the items, once it has ended."""

    def __init__(self, most: int) -> None:
        """Take how many bytes an item may have; of a longer one nothing is kept."""
        self.frame = bytearray()
        self._most = most
        self._item = bytearray()
        self._size = 0
        self._depth = 0
        self._within = False
        self._in_text = self._escaped = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """The items that end in this part; None is one that was too long.

        Raises ValueError where the items aren't objects, or there is too much beside them.
        """
        at = taken = 0
        while (end := self._next(data, at)) is not None:
            at, mark = end, data[end - 1 : end]
            if mark in (b"{", b"["):
                self._depth += 1
                if self._depth == _LIST and mark == b"[":
                    self._keep(data[taken:at])
                    taken = at
                    self._within = _BEGINS.search(self.frame) is not None
                elif self._within and self._depth == _ITEM:
                    self._keep(data[taken : at - 1])
                    taken = at - 1
                    if mark == b"[":
                        raise ValueError("an item of the list is no object")
            elif mark in (b"}", b"]"):
                if self._within and self._depth == _ITEM:
                    self._add(data[taken:at])
                    taken = at
                    self._depth -= 1
                    yield self._ended()
                    continue
                if self._within and self._depth == _LIST:
                    self._keep(data[taken : at - 1])
                    taken = at - 1
                    self._within = False
                self._depth -= 1
        if self._within and self._depth >= _ITEM:
            self._add(data[taken:])
        else:
            self._keep(data[taken:])

    def _next(self, data: bytes, at: int) -> int | None:
        """The index after the next mark that isn't in a text, None where there is none."""
        while at < len(data):
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._in_text:
                found = _IN_TEXT.match(data, at)
                at = len(data) if found is None else found.end()
                if at < len(data):
                    self._escaped = data[at : at + 1] == b"\\"
                    self._in_text = self._escaped
                    at += 1
            else:
                mark = _MARK.search(data, at)
                if mark is None:
                    return None
                at = mark.end()
                if mark[0] != b'"':
                    return at
                self._in_text = True
        return None

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            self._item.clear()
        else:
            self._item += part

    def _ended(self) -> bytes | None:
        found = bytes(self._item) if self._size <= self._most else None
        self._item.clear()
        self._size = 0
        return found

    def _keep(self, part: bytes) -> None:
        """Take in what belongs to no item."""
        if self._within:
            if part.strip(_BETWEEN):
                raise ValueError("an item of the list is no object")
            return
        self.frame += part
        if len(self.frame) > _MOST_FRAME:
            raise ValueError(f"there are more than {_MOST_FRAME} bytes beside its items")
