"""YAML files of keys and values, as they are written, with where each is written.

Nothing is converted (https://yaml.org/type/), so that no entry costs another and each can be named
as it is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numa_agent.config.kinds import SHOWN
from numa_agent.config.model import ConfigError

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 64 * 1024
"""Many times what settings need; to read as much takes half a second."""

MAX_DEPTH = 16
"""Of lists and mappings in each other; settings need two. YAML's composer recurses for each."""

_TAGS = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Written:
    """A key or value of a file, read from it only when asked: an alias may repeat long ones."""

    node: "yaml.Node"
    content: str

    @property
    def text(self) -> str:
        """A scalar's text; what isn't one is as it is written, shortened."""
        value = self.node.value
        return value if isinstance(value, str) else self.shown

    @property
    def tag(self) -> str:
        """What YAML 1.1 takes it for: str, bool, int, null, seq, map, …, or a tag of the file."""
        return str(self.node.tag).removeprefix(_TAGS)

    @property
    def shown(self) -> str:
        """How it is written, on one line and not too long."""
        start, end = self.node.start_mark.index, self.node.end_mark.index
        line = " ".join(self.content[start : min(end, start + 4 * SHOWN)].split())
        return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"

    @property
    def line(self) -> int:
        """From 1."""
        return int(self.node.start_mark.line) + 1

    @property
    def column(self) -> int:
        """From 1."""
        return int(self.node.start_mark.column) + 1

    def items(self) -> Iterator["Written"]:
        """The members of a list."""
        for item in self.node.value:
            yield Written(item, self.content)


def read_entries(file: Path, example: str) -> list[tuple[Written, Written]]:
    """The keys and values of a file in its order, those that are there twice too.

    Raises ConfigError, with line and column, when the file can't be read or isn't YAML of keys
    and values, such as the example.
    """
    import yaml

    content = _read_text(file)
    try:
        document = _composed(content)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{file}:{_where(error)}: isn't YAML: {_why(error)}") from error
    except yaml.reader.ReaderError as error:
        line, column = _line_and_column(content, error.position)
        why = f"the character {chr(error.character)!r} isn't allowed"
        raise ConfigError(f"{file}:{line}:{column}: isn't YAML: {why}") from error
    if document is None or document.tag == f"{_TAGS}null":
        return []
    if not isinstance(document, yaml.MappingNode):
        mark = document.start_mark
        place = f"{file}:{mark.line + 1}:{mark.column + 1}"
        raise ConfigError(f"{place}: expected keys and values, such as {example}")
    return [(Written(key, content), Written(value, content)) for key, value in document.value]


def _read_text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        # ValueError is a NUL in the file's name.
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{file}: can't be read: {why}") from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{file}: is larger than {MAX_BYTES // 1024} KiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = _line_and_column(before, len(before))
        byte = f"byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{file}:{line}:{column}: isn't UTF-8: {byte}") from error


def _line_and_column(content: str, index: int) -> tuple[int, int]:
    return content.count("\n", 0, index) + 1, index - content.rfind("\n", 0, index)


def _composed(content: str) -> "yaml.Node | None":
    """The one document. Raises YAMLError, also when it nests deeper than its composer may."""
    import yaml

    # The loader in Python, on any build, so that a mistake has the same words everywhere.
    loader = yaml.SafeLoader(content)
    try:
        _measure(loader)
    except (ValueError, OverflowError) as error:
        # The library doesn't look for this one: \Uffffffff.
        mark, what = loader.get_mark(), "an escape of a character that doesn't exist"
        raise yaml.MarkedYAMLError(problem=what, problem_mark=mark) from error
    return yaml.compose(content, Loader=yaml.SafeLoader)


def _measure(loader: "yaml.SafeLoader") -> None:
    """Go through the document, which takes no recursion. Raises as _composed."""
    import yaml

    depth = 0
    while loader.check_event():
        event = loader.get_event()  # type: ignore[no-untyped-call]
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            deep = f"lists and mappings are more than {MAX_DEPTH} deep in each other"
            raise yaml.MarkedYAMLError(problem=deep, problem_mark=event.start_mark)


def _where(error: "yaml.MarkedYAMLError") -> str:
    mark = error.problem_mark or error.context_mark
    return "1:1" if mark is None else f"{mark.line + 1}:{mark.column + 1}"


def _why(error: "yaml.MarkedYAMLError") -> str:
    """The library's words, and what helps against the usual mistakes."""
    problem = " ".join(part for part in (error.context, error.problem) if part)
    if "'\\t'" in problem:
        return f"{problem}; indent with spaces, not with tabs"
    if "but found another document" in problem:
        return f"{problem}; the settings are one document, without a second ---"
    return problem
