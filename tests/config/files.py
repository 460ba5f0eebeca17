"""Configuration files that tests write."""

import contextlib
from pathlib import Path

import pytest

from numa_agent.config import ConfigError, load


def written(folder: Path, content: str | bytes) -> Path:
    """A configuration file of that content."""
    path = folder / "config.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mistakes_of(path: Path | None, flags: dict[str, str | None] | None = None) -> list[str]:
    """What is wrong, without the file's name before the line."""
    with pytest.raises(ConfigError) as caught:
        load(path, flags or {}, {})
    head, *lines = str(caught.value).splitlines()
    assert head == "the configuration has mistakes:"
    assert [line.strip() for line in lines] == [*caught.value.mistakes]
    return [line.removeprefix(f"{path}:") for line in caught.value.mistakes]


def accepted(path: Path) -> bool:
    """Whether the parser takes the file."""
    with contextlib.suppress(ConfigError):
        load(path, {}, {})
        return True
    return False
