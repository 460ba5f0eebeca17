"""How a message shows what it refuses: quoted, cut to a length, with the nearest known word."""

import json
from collections.abc import Collection
from difflib import get_close_matches
from itertools import islice

_MAX_SHOWN = 60
_MAX_NAMED = 8
_LONGEST_MISSPELT = 60


def shown(value: object) -> str:
    """A value in a sentence, at most 60 characters of it."""
    if isinstance(value, str):
        return cut(repr(value[:_MAX_SHOWN]))
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return cut(json.dumps(value))


def excerpt(text: str, position: int | None, size: int = 200) -> str:
    """The text in quotes, of a long one the part around a position, or its start without one."""
    start = max(0, min((position or 0) - size * 3 // 4, len(text) - size))
    part = repr(text[start : start + size])
    if start == 0 and len(text) <= size and len(part) <= size + 2:
        return part
    before, after = "..." if start else "", "..." if start + size < len(text) else ""
    return f"{before}{part if len(part) <= size + 2 else part[:size] + '...'}{after}"


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known word that a misspelt one most likely stands for."""
    # Comparing words takes the product of their lengths.
    if len(word) > _LONGEST_MISSPELT:
        return None
    lower = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), lower, n=1)
    return lower[close[0]] if close else None


def meant(word: str, known: Collection[str]) -> str:
    """The end of a sentence on a word that isn't known: the nearest one that is, or the first."""
    close = nearest(word, known)
    if close is not None:
        return f"did you mean {close!r}?"
    more = ", ..." if len(known) > _MAX_NAMED else ""
    return f"known are {', '.join(islice(known, _MAX_NAMED))}{more}"


def cut(text: str) -> str:
    """A text of at most 60 characters: the start of a longer one."""
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
