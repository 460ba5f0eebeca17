from pathlib import Path

import pytest

from tools.machines.__main__ import SPECS, generate
from tools.machines.tree import Tree


@pytest.fixture(scope="session")
def machines() -> dict[str, Tree]:
    return generate(SPECS)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return Path(__file__).parents[2] / "fixtures" / "sysfs"
