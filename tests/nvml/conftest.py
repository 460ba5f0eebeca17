from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.answers import document_of
from tests.nvml.child import Child, child
from tests.nvml.library import build, write


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake library of a new driver."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def driver(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A process with a new driver's library, whose answers each test writes anew."""
    answers = tmp_path_factory.mktemp("answers") / "nvml.txt"
    with child(answers, LD_LIBRARY_PATH=str(library.parent)) as process:
        yield process


@pytest.fixture
def eight() -> Any:
    """NVML's answers on the machine with eight GPUs, to be changed at will."""
    return document_of("two-socket-8gpu")


@pytest.fixture
def answers(eight: Any, tmp_path: Path) -> Path:
    """The file of a library that answers for the machine with eight GPUs."""
    path = tmp_path / "nvml.txt"
    write(path, eight)
    return path
