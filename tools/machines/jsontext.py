"""JSON that people can read and compare: a value stays on one line as long as it fits."""

import json

_WIDTH = 96


def render_json(value: object) -> str:
    """The value as JSON with one final newline; keys keep their order."""
    return _render(value, 0, 0) + "\n"


def _render(value: object, indent: int, column: int) -> str:
    """The value's text, which starts at `column` of a line indented by `indent`."""
    flat = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or column + len(flat) < _WIDTH:
        return flat
    inner = indent + 1
    if isinstance(value, dict):
        keys = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        parts = [
            key + _render(item, inner, inner + len(key))
            for key, item in zip(keys, value.values(), strict=True)
        ]
        return _block("{", [f"{part}," for part in parts], indent, "}")
    if any(isinstance(item, dict | list) for item in value):
        parts = [_render(item, inner, inner) for item in value]
        return _block("[", [f"{part}," for part in parts], indent, "]")
    return _block("[", _filled([json.dumps(item) + "," for item in value]), indent, "]")


def _block(opening: str, rows: list[str], indent: int, closing: str) -> str:
    rows[-1] = rows[-1].removesuffix(",")
    inside = "".join(f"{' ' * (indent + 1)}{row}\n" for row in rows)
    return f"{opening}\n{inside}{' ' * indent}{closing}"


def _filled(words: list[str]) -> list[str]:
    """The words put on as few rows as fit."""
    rows = [words[0]]
    for word in words[1:]:
        if len(rows[-1]) + len(word) + 1 < _WIDTH - 16:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return rows
