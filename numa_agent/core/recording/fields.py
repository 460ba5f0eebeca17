"""What of a document comes into a recording: the members that a pass reads and no others.

A shape is a dict (an object's members), a list of one shape (an array), an Entries (an object
whose keys are names) or a leaf, which answers with what stands for a value. A value of another
type than its shape's comes in as the emptiest one of its type, so that who reads the recording
stumbles where the pass does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Kind, Names

Leaf = Callable[[Names, object], object]
Text = Callable[[Names, str], str]


@dataclass(frozen=True, slots=True)
class Entries:
    """An object with names for keys; `value` may depend on the key, None leaves the entry out."""

    key: Text
    value: "Callable[[str], Shape | None]"


Shape = Mapping[str, object] | Sequence[object] | Entries | Leaf


def reduced(shape: object, value: object, names: Names) -> object:
    """What of a value comes into the recording."""
    if isinstance(shape, Entries):
        return _entries(shape, value, names)
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return mistyped(names, value)
        return {
            key: reduced(shape[key], inner, names) for key, inner in value.items() if key in shape
        }
    if isinstance(shape, Sequence):
        if not isinstance(value, list | tuple):
            return mistyped(names, value)
        return [reduced(shape[0], inner, names) for inner in value]
    assert callable(shape)
    return shape(names, value)


def _entries(shape: Entries, value: object, names: Names) -> object:
    if not isinstance(value, Mapping):
        return mistyped(names, value)
    found: dict[str, object] = {}
    for key, inner in value.items():
        within = shape.value(key) if isinstance(key, str) else None
        if within is not None:
            found[shape.key(names, key)] = reduced(within, inner, names)
    return found


def mistyped(names: Names, value: object) -> object:
    """What stands for a value of an unexpected type."""
    if isinstance(value, str):
        return names.word(value)
    if isinstance(value, Mapping):
        return {}
    if isinstance(value, list | tuple | set | frozenset):
        return []
    if value is None or isinstance(value, bool | int | float):
        return value
    return names.word(str(value))


def text(shown: Text) -> Leaf:
    """A leaf that is a text."""
    return lambda names, value: (
        shown(names, value) if isinstance(value, str) else mistyped(names, value)
    )


def name(kind: Kind) -> Leaf:
    """A leaf that is a name; the empty one is none."""
    return text(lambda names, value: names.of(kind, value) if value else value)


def one_of(*known: str) -> Leaf:
    """A leaf that is one of a few words."""
    return text(lambda names, value: words.listed(names, value, known))


def number(names: Names, value: object) -> object:
    """A leaf that is a number; one of 64 bits is a text in protobuf's JSON."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return value if digits.isascii() and digits.isdecimal() else names.word(value)
    return mistyped(names, value)


def flag(names: Names, value: object) -> object:
    """A leaf that is true or false."""
    return mistyped(names, value)


QUANTITY = text(words.amount)
AMOUNTS = Entries(words.resource, lambda _: QUANTITY)
"""A list of resources with their quantities."""


def both_spellings(shape: object) -> object:
    """A shape by the names of protobuf's fields, with those of its JSON mapping as well."""
    if isinstance(shape, Mapping):
        inner = {key: both_spellings(each) for key, each in shape.items()}
        return {**inner, **{_camel(key): each for key, each in inner.items()}}
    if isinstance(shape, list):
        return [both_spellings(shape[0])]
    return shape


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(part.capitalize() for part in rest)
