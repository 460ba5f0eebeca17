"""Where the tests' servers listen."""

from pathlib import Path

import pytest


@pytest.fixture
def kubelet_socket(tmp_path: Path) -> Path:
    """A place for a socket, where nothing is yet."""
    return tmp_path / "kubelet.sock"
