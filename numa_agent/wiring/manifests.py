"""The documents of a YAML file that somebody wrote, decoded one by one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from numa_agent.config import ConfigError

if TYPE_CHECKING:
    from yaml import SafeLoader
    from yaml.nodes import Node

MOST_BYTES = 4 << 20
_MOST_DOCUMENTS = 1000
_MOST_VALUES = 200_000
"""Values that aliases (`*`) may make of a document."""

STDIN = "-"


def read_documents(file: str) -> Iterator[tuple[str, object]]:
    """Each document of a file, `-` being standard input, with its place in words.

    Raises ConfigError, whose message names the file, the document and the line.
    """
    content = _content(file)
    # yaml is loaded only where there is a file to read.
    import yaml

    loader = yaml.SafeLoader(content)
    # A date is a text to Kubernetes.
    loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    try:
        number = 1
        while (document := _next(loader, f"{file}: document {number}")) is not _END:
            yield f"{file}: document {number}", document
            number += 1
            if number > _MOST_DOCUMENTS:
                raise ConfigError(f"{file}: more than {_MOST_DOCUMENTS} documents")
    finally:
        loader.dispose()


_END = object()


def _next(loader: "SafeLoader", place: str) -> object:
    """The next document, _END after the last."""
    import yaml

    try:
        if not loader.check_node():
            return _END
        node = loader.get_node()
        if node is None:
            return _END
        if _written_out(node) > _MOST_VALUES:
            raise ConfigError(f"{place}: aliases (`*`) make too much of it")
        return loader.construct_document(node)
    except RecursionError:
        raise ConfigError(f"{place}: nested too deep, or in itself") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f" line {mark.line + 1}, column {mark.column + 1}:"
        what = " ".join(str(error.problem or error.context).split())
        raise ConfigError(f"{place}: it isn't YAML:{where} {what}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: it isn't YAML: {' '.join(str(error).split())}") from error
    except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
        # PyYAML's answers to `!!int x` and the like.
        raise ConfigError(f"{place}: a value doesn't fit its tag") from error


def _content(file: str) -> str:
    try:
        if file == STDIN:
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                raw = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{file}: longer than {MOST_BYTES >> 20} MiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: it isn't UTF-8 text, at byte {error.start}") from error
    _check_characters(file, text)
    return text


def _check_characters(file: str, text: str) -> None:
    import yaml

    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ConfigError(f"{file}: line {line}: a character {found[0]!r}, which YAML can't hold")


def _written_out(top: "Node") -> int:
    """How many values it is with each alias written out, up to a bound; a loop is an error."""
    sizes: dict[int, int | None] = {}

    def size(node: "Node") -> int:
        known = sizes.get(id(node), 0)
        if known is None:
            raise RecursionError
        if not known:
            sizes[id(node)] = None
            known = sizes[id(node)] = 1 + sum(map(size, _within(node)))
        return known

    return size(top)


def _within(node: "Node") -> "list[Node]":
    from yaml.nodes import MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []
