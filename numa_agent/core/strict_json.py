"""JSON of which nothing is guessed, and each fault of which has a place.

Refused are, besides what isn't JSON, the things that https://www.rfc-editor.org/rfc/rfc8259 leaves
open: members given twice, huge numbers, deep nesting, long texts.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from numa_agent.core.quoting import cut, meant, shown

Path = tuple[str | int, ...]

MAX_LENGTH = 32 * 1024
"""The longest text taken, in characters: 512 CPUs, named one by one, in each of ten containers.

All annotations of an object may have eight times as many, and they stay in memory."""

MAX_DEPTH = 64
_MAX_DIGITS = 18
_MAX_PATH = 120

_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r",[ \t\r\n]*([}\]])")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


class JsonError(ValueError):
    """A text or a value in it that isn't taken: where it is and why, in a short sentence.

    `position` is the index in the text where the fault is one of its syntax.
    """

    def __init__(self, where: str, why: str, position: int | None = None) -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.position = position


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands where a value can't be taken until its path is known."""

    why: str


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a document with the path to it; each method raises JsonError for another type."""

    content: object
    path: Path = ()

    def fault(self, why: str) -> JsonError:
        """What is wrong with this value, to be raised."""
        return JsonError(_rendered(self.path), why)

    def entries(self) -> Iterator[tuple[str, "Value"]]:
        """The members of an object, in the text's order."""
        if not isinstance(self.content, dict):
            raise self.fault(f"{shown(self.content)} isn't an object")
        for name, content in self.content.items():
            yield name, Value(content, (*self.path, name))

    def member(self, name: str) -> "Value | None":
        """An object's member, None where it isn't given.

        One whose name has other capitals is refused: Go's decoder would take it.
        """
        for key, value in self.entries():
            if key == name:
                return value
            if key.lower() == name.lower():
                raise value.fault(f"this member is written {name!r}")
        return None

    def only(self, names: Collection[str]) -> None:
        """Refuse an object with a member that isn't one of these."""
        for key, value in self.entries():
            if key not in names:
                raise value.fault(f"this member isn't known; {meant(key, names)}")

    def items(self) -> Sequence["Value"]:
        """The entries of an array."""
        if not isinstance(self.content, list):
            raise self.fault(f"{shown(self.content)} isn't an array")
        return [Value(entry, (*self.path, index)) for index, entry in enumerate(self.content)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.content, str):
            raise self.fault(f"{shown(self.content)} isn't a string (in quotes)")
        return self.content

    def whole(self) -> int:
        """An integer."""
        if not isinstance(self.content, int) or isinstance(self.content, bool):
            raise self.fault(f"{shown(self.content)} isn't a whole number")
        return self.content


def parse(text: str) -> Value:
    """The document that a text is. Raises JsonError with the line and column or the path."""
    if len(text) > MAX_LENGTH:
        raise JsonError("", f"it is longer than {MAX_LENGTH} characters")
    if not text.strip():
        raise JsonError("", "it is empty")
    _check_depth(text)
    try:
        content = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        raise _syntax_fault(text, error) from None
    _check(content, [])
    return Value(content)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > MAX_DEPTH:
            where = _place(text, token.start())
            why = f"more than {MAX_DEPTH} objects or arrays inside each other"
            raise JsonError(where, why, token.start())


def _object(pairs: list[tuple[str, object]]) -> object:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        return _Refused(f"member {shown(twice)} is given more than once")
    return members


def _integer(digits: str) -> object:
    if len(digits) > _MAX_DIGITS:
        return _Refused(f"number {cut(digits)} is too large")
    return int(digits)


def _number(digits: str) -> object:
    number = float(digits)
    return number if math.isfinite(number) else _Refused(f"number {cut(digits)} is too large")


def _constant(word: str) -> object:
    return _Refused(f"{word} isn't JSON")


def _check(content: object, path: list[str | int]) -> None:
    """Raise the first fault that was met while decoding, now that its path is known."""
    if isinstance(content, _Refused):
        raise JsonError(_rendered(tuple(path)), content.why)
    inner: Iterator[tuple[str | int, object]] = iter(())
    if isinstance(content, dict):
        inner = iter(content.items())
    elif isinstance(content, list):
        inner = iter(enumerate(content))
    for key, entry in inner:
        path.append(key)
        _check(entry, path)
        path.pop()


def _syntax_fault(text: str, error: json.JSONDecodeError) -> JsonError:
    # Since Python 3.13 the position is that of the comma, before that one behind it.
    at = error.pos if text[error.pos : error.pos + 1] == "," else _last_before(text, error.pos)
    comma = _TRAILING_COMMA.match(text, at) if at >= 0 else None
    if comma is not None:
        why = f"a comma before {comma[1]}, where JSON allows none: remove it"
        return JsonError(_place(text, at), why, at)
    if text[error.pos : error.pos + 1] == "'":
        why = "JSON needs double quotes, not single ones"
        return JsonError(_place(text, error.pos), why, error.pos)
    return JsonError(_place(text, error.pos), error.msg, error.pos)


def _last_before(text: str, position: int) -> int:
    """The index of the last character before a position that isn't white space, -1 without one."""
    return len(text[:position].rstrip(" \t\r\n")) - 1


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"


def _rendered(path: Path) -> str:
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_NAME.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{shown(step)}]")
    text = "".join(parts)
    return text if len(text) <= _MAX_PATH else "..." + text[3 - _MAX_PATH :]
