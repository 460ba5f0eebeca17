"""Walking a decoded JSON document whose shape can't be trusted.

Each function answers with an empty value where the document holds another type, so that reading a
foreign object needs no check at every step; what is required is checked once, by its reader.
"""

from collections.abc import Mapping, Sequence

Document = Mapping[str, object]


def mapping(value: object) -> Document:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[object]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def text(value: object) -> str | None:
    """The value if it is a string that isn't empty."""
    return value if isinstance(value, str) and value else None


def texts(value: object) -> Mapping[str, str]:
    """The members of an object whose values are strings (labels, annotations)."""
    return {key: entry for key, entry in mapping(value).items() if isinstance(entry, str)}
