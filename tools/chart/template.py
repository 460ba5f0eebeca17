"""Objects with Go template in them, as text: YAML has no word for it, so marks stand in.

A mark is a string between ⟦ and ⟧. As a whole entry of a list, or as a key without value, it
becomes a line of its own; as a value, or in one, what it says stands there.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import yaml

_LINE = re.compile(r"^(?P<indent> *)(?:- )?'?⟦(?P<code>[^⟧]*)⟧(?:#\d+)?'?(?:: null)?$")
_BLOCK = re.compile(r"^(?P<indent> *(?:- )?)(?P<key>[\w.-]+): '?⟦(?P<code>toYaml [^⟧]*)⟧'?$")
_WHOLE = re.compile(r"'⟦(?P<code>[^⟧]*)⟧'")
_WITHIN = re.compile(r"⟦(?P<code>[^⟧]*)⟧")
_numbers = itertools.count(1)


def mark(code: str) -> str:
    """Go template code, in its braces where it is a value."""
    return f"⟦{code}⟧"


def block(value: str) -> str:
    """A value of the chart's, such as `.Values.resources`, as YAML in its place."""
    return mark(f"toYaml {value}")


def entries_if(condition: str, entries: list[Any]) -> list[Any]:
    """Entries of a list that are there if the condition holds."""
    return [mark(f"{{{{- if {condition} }}}}"), *entries, mark("{{- end }}")]


def keys_if(condition: str, keys: dict[str, Any]) -> dict[str, Any]:
    """Keys of an object that are there if the condition holds."""
    number = next(_numbers)
    start = f"{mark(f'{{{{- if {condition} }}}}')}#{number}"
    return {start: None, **keys, f"{mark('{{- end }}')}#{number}": None}


def rendered(objects: list[dict[str, Any]]) -> str:
    """The objects' documents, with the marks made code."""
    texts = [
        yaml.safe_dump(each, sort_keys=False, width=10_000, allow_unicode=True) for each in objects
    ]
    return "\n".join(_unmarked("---\n".join(texts))) + "\n"


def _unmarked(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if (alone := _LINE.match(line)) is not None:
            yield f"{alone['indent']}{alone['code']}"
        elif (inner := _BLOCK.match(line)) is not None:
            depth = len(inner["indent"]) + 2
            yield f"{inner['indent']}{inner['key']}:"
            yield f"{' ' * depth}{{{{- {inner['code']} | nindent {depth} }}}}"
        else:
            yield _WITHIN.sub(r"\g<code>", _WHOLE.sub(r"\g<code>", line))
