"""What the operator gives, and where: the file's entries, options, the environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config.document import Written, read_entries
from numa_agent.config.kinds import LISTS, Kind, Setting, Value, expected, names, read
from numa_agent.config.settings import BY_KEY, KEYS

MAX_MISTAKES = 50
"""That are listed of a file: one of something else has a mistake in each line."""

_EXAMPLE = "hostRoot: /host"
_TRUTH = {"false": "off", "true": "on"}
"""What programs that write YAML 1.1, such as Helm, make of off and on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value that somebody gave: None, and mistakes, where it can't be used.

    `origin` is for people: `flag --host-root`, `environment NODE_NAME`, or file and line. `place`
    is what a mistake begins with: the same, with the column.
    """

    value: Value | None
    origin: str
    place: str
    mistakes: tuple[str, ...] = ()


def of_flag(setting: Setting, text: str) -> Given:
    """What an option says."""
    return _given(setting, text, f"flag {setting.flag}", setting.flag)


def of_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    """What the environment says, by the setting's key; an empty variable says nothing."""
    name = environment.get("NODE_NAME")
    if not name:
        return {}
    origin = "environment NODE_NAME"
    return {"nodeName": _given(BY_KEY["nodeName"], name, origin, origin)}


def of_file(file: Path, mistakes: list[str]) -> dict[str, Given]:
    """What the file says, by key; its mistakes are added to the list in the file's order.

    Raises ConfigError when it isn't a file of keys and values.
    """
    found: dict[str, Given] = {}
    for key, value in read_entries(file, _EXAMPLE):
        place = f"{file}:{key.line}:{key.column}"
        if len(mistakes) >= MAX_MISTAKES:
            mistakes.append(f"{place}: and so on: the first {MAX_MISTAKES} mistakes are listed")
            break
        if key.tag != "str" or key.text not in BY_KEY:
            mistakes.append(f"{place}: unknown key {key.shown}{_nearest(key)}")
        elif key.text in found:
            mistakes.append(
                f"{place}: {key.text} is given more than once, first at {found[key.text].origin}"
            )
        else:
            entry = found[key.text] = _entry(file, BY_KEY[key.text], value)
            mistakes += entry.mistakes
    return found


def _entry(file: Path, setting: Setting, written: Written) -> Given:
    origin = f"{file}:{written.line}"
    place = f"{origin}:{written.column}"
    try:
        return Given(value=_value(setting, written), origin=origin, place=place)
    except ValueError as error:
        return Given(value=None, origin=origin, place=place, mistakes=(f"{place}: {error}",))


def _given(setting: Setting, text: str, origin: str, place: str) -> Given:
    try:
        return Given(value=read(setting, text), origin=origin, place=place)
    except ValueError as error:
        return Given(value=None, origin=origin, place=place, mistakes=(f"{place}: {error}",))


def _value(setting: Setting, written: Written) -> Value:
    """What an entry means. Raises ValueError."""
    if setting.kind in LISTS and written.tag == "seq":
        return names(setting, [_name(setting, item) for item in written.items()])
    if not written.text:
        raise ValueError(f"{setting.key} must not be empty")
    word = _word(setting, written)
    if word is not None:
        return word
    if written.tag != ("int" if setting.kind is Kind.SECONDS else "str"):
        raise ValueError(_wrong_type(setting, written))
    return read(setting, written.text)


def _word(setting: Setting, written: Written) -> str | None:
    """The word that is meant; YAML 1.1 takes off and on for truth values, here they are words."""
    text = written.text
    word = _TRUTH.get(text.lower(), text) if written.tag == "bool" else text
    return word if word in setting.words else None


def _name(setting: Setting, item: Written) -> str:
    if item.tag != "str" or not item.text.strip():
        raise ValueError(f"{setting.key} must be {expected(setting)}, without {item.shown}")
    read(setting, item.text)
    return item.text


def _wrong_type(setting: Setting, written: Written) -> str:
    quotes = setting.kind in {Kind.TEXT, Kind.PATH, *LISTS} and written.tag not in _COLLECTIONS
    hint = ": put it in quotes" if quotes else ""
    return f"{setting.key} must be {expected(setting)}, not {written.shown}{hint}"


_COLLECTIONS = {"seq", "map", "null"}


def _nearest(key: Written) -> str:
    """The setting that is meant, if one is alike."""
    import difflib

    by_letters = {_letters(each): each for each in KEYS}
    near = difflib.get_close_matches(_letters(key.text), by_letters, 1) if key.tag == "str" else []
    if near:
        return f": did you mean {by_letters[near[0]]}?"
    return ": `numa-agent config --show` lists the settings"


def _letters(key: str) -> str:
    return re.sub("[^a-z0-9]", "", key[:100].lower())
