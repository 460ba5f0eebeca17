"""How text for people is set: colours, branches of a tree, sizes and plurals."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True, slots=True)
class Style:
    """How to set text off: ANSI colours on a terminal, nothing elsewhere."""

    colour: bool

    def strong(self, text: str) -> str:
        """What the eye should find first."""
        return f"\033[1m{text}\033[0m" if self.colour else text

    def faint(self, text: str) -> str:
        """What is there to be looked up."""
        return f"\033[2m{text}\033[0m" if self.colour else text

    def alarm(self, text: str) -> str:
        """What isn't as it should be."""
        return f"\033[33m{text}\033[0m" if self.colour else text


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of the tree, its details and what hangs below it."""

    title: str
    details: str = ""
    below: tuple["Branch", ...] = ()
    strong: bool = False


def drawn(branch: Branch, indent: str, last: bool, width: int, style: Style) -> Iterator[str]:
    """A branch and what hangs below it, in lines no wider than `width` where words allow."""
    title = style.strong(branch.title) if branch.strong else branch.title
    head = f"{indent}{'└' if last else '├'}─ "
    deeper = indent + ("   " if last else "│  ")
    first, *more = _wrapped(branch.details, width - len(head) - len(branch.title) - 2)
    yield f"{head}{title}  {style.faint(first)}".rstrip() if first else f"{head}{title}"
    hanging = " " * (len(branch.title) + 2)
    rail = "│" if branch.below else " "
    for line in more:
        yield f"{deeper}{rail}{hanging[1:]}{style.faint(line)}"
    for position, child in enumerate(branch.below):
        yield from drawn(child, deeper, position == len(branch.below) - 1, width, style)


def _wrapped(text: str, width: int) -> list[str]:
    """Text in lines, broken behind a space or a comma, so that CPU lists wrap too."""
    lines = [""]
    for piece in re.findall(r"[^ ,]*,? ?", text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > max(width, 20):
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def size_text(count: int | None) -> str:
    """Bytes in the largest unit that leaves a number of 1 or more, with a digit if it helps."""
    if count is None:
        return "?"
    for unit, size in _UNITS:
        if count >= size:
            amount = f"{count / size:.1f}".removesuffix(".0")
            return f"{amount} {unit}"
    return f"{count} B"


def many(things: Sequence[object] | int | None, name: str) -> str:
    """A count and its noun, in the plural unless it is one; `?` for an unknown count."""
    if things is None:
        return f"? {name}s"
    count = things if isinstance(things, int) else len(things)
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
