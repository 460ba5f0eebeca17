from pathlib import Path

import pytest

from tests.gpu_plugin.node import Node
from tests.nvml.library import build


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake driver's library."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """A node in a short folder: a socket's path has 107 characters at most."""
    return Node(tmp_path_factory.mktemp("n"))
