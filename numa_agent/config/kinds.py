"""What a setting's value may be: text in, value out."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from numa_agent.core.shape import MOST_SHAPES, SHAPE

Value = str | tuple[str, ...]
"""A setting's value as it is written: a text, or a list of names."""

LOWEST_SECONDS = 5
HIGHEST_SECONDS = 3600

SHOWN = 60
"""So many characters of a wrong value are shown."""

PORT = "(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
ADDRESS = rf"(?:[0-9A-Za-z.-]{{1,253}}|\[[0-9A-Za-z.:]{{2,45}}\]):{PORT}"
"""A name or IPv4 address, or an IPv6 address in brackets, and a port, as in RFC 3986."""

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
RESOURCE = rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9_.-]{{0,61}}[A-Za-z0-9])?"
NO_RESOURCE = r"^[^/]{245}|^requests\.|kubernetes\.io/"
"""A domain and a name, as kubelet takes it from a device plugin: `requests.` before it must still
be a name, and kubernetes.io is nobody else's.
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources"""

CONTROL = re.compile("[\x00-\x1f\x7f]")
_ADDRESS = re.compile(ADDRESS, re.ASCII)
_RESOURCE = re.compile(RESOURCE, re.ASCII)
_NO_RESOURCE = re.compile(NO_RESOURCE, re.ASCII)
_SHAPE = re.compile(SHAPE, re.ASCII)
_SECONDS = re.compile("[1-9][0-9]{0,8}")


class Kind(Enum):
    """What a setting's value may be, besides the words that the setting allows.

    A file of this process's own is a Path in Config, a path on the machine is text there.
    """

    WORD = "no other value"
    TEXT = "text"
    PATH = "a path"
    OWN_FILE = "the absolute path of a file"
    MACHINE_PATH = "an absolute path"
    ADDRESS = "an address and a port"
    SECONDS = f"a whole number from {LOWEST_SECONDS} to {HIGHEST_SECONDS}"
    NAMES = "a list of names"
    SHAPES = "a list of shapes"
    RESOURCE = "an extended resource"


LISTS = frozenset({Kind.NAMES, Kind.SHAPES})
"""Those of several values: a list, or one text with commas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting: its name in the file (`key`) and in Config (`field`), and what it may be.

    `default` is as the file would have it, None where nothing is set. `on` is the word that is
    true, for a setting whose field is a truth value. `example` is what a value that is none of
    the words looks like. `live` says whether a running agent takes a change.
    """

    key: str
    field: str
    kind: Kind
    meaning: str
    default: str | None = None
    words: tuple[str, ...] = ()
    on: str | None = None
    example: str = ""
    live: bool = False

    @property
    def flag(self) -> str:
        """The option of this setting, for those commands that have it."""
        return "--" + re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", self.key)


def read(setting: Setting, text: str) -> Value:
    """The value that a text means. Raises ValueError, whose message names the setting."""
    key = setting.key
    if not text.strip():
        raise ValueError(f"{key} must not be empty")
    if CONTROL.search(text):
        what = "a NUL byte" if "\0" in text else "control characters"
        raise ValueError(f"{key} must not hold {what}: {_shown(text)}")
    if not _can_name_a_file(text):
        raise ValueError(f"{key} holds what no file name can: {_shown(text)}")
    if text not in setting.words and not _FITS[setting.kind](text):
        raise ValueError(f"{key} must be {expected(setting)}, not {_shown(text)}")
    return names(setting, text.split(",")) if setting.kind in LISTS else text


def names(setting: Setting, texts: Iterable[str]) -> tuple[str, ...]:
    """The names in a list. Raises ValueError when there are none: that would mean everybody."""
    found = tuple(text.strip() for text in texts if text.strip())
    if not found:
        raise ValueError(f"{setting.key} must not be empty: name one, or leave it out")
    if setting.kind is Kind.SHAPES:
        _check_shapes(setting, found)
    return found


def _check_shapes(setting: Setting, found: tuple[str, ...]) -> None:
    for text in found:
        if _SHAPE.fullmatch(text) is None:
            raise ValueError(f"{setting.key} must be {expected(setting)}, without {_shown(text)}")
    if len(found) > MOST_SHAPES:
        raise ValueError(f"{setting.key} has {len(found)} shapes: {MOST_SHAPES} are the most")


def converted(setting: Setting, value: Value | None) -> object:
    """The value as Config has it."""
    if value is None:
        return () if setting.kind in LISTS else None
    if setting.on is not None:
        return value == setting.on
    if isinstance(value, tuple):
        return value
    if setting.kind is Kind.SECONDS:
        return int(value)
    return Path(value) if setting.kind in {Kind.PATH, Kind.OWN_FILE} else value


def expected(setting: Setting) -> str:
    """The values that a setting may have, as a part of a sentence."""
    choices = [*setting.words]
    if setting.kind is not Kind.WORD:
        example = f", such as {setting.example}" if setting.example else ""
        choices.append(f"{setting.kind.value}{example}")
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _can_name_a_file(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _is_seconds(text: str) -> bool:
    return bool(_SECONDS.fullmatch(text)) and LOWEST_SECONDS <= int(text) <= HIGHEST_SECONDS


def _is_extended(text: str) -> bool:
    return bool(_RESOURCE.fullmatch(text)) and _NO_RESOURCE.search(text) is None


_FITS: Mapping[Kind, Callable[[str], bool]] = {
    Kind.WORD: lambda _: False,
    Kind.TEXT: lambda _: True,
    Kind.PATH: lambda _: True,
    Kind.OWN_FILE: lambda text: text.startswith("/"),
    Kind.MACHINE_PATH: lambda text: text.startswith("/"),
    Kind.ADDRESS: lambda text: _ADDRESS.fullmatch(text) is not None,
    Kind.SECONDS: _is_seconds,
    Kind.NAMES: lambda _: True,
    Kind.SHAPES: lambda _: True,
    Kind.RESOURCE: _is_extended,
}
