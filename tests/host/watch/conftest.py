"""A watch on the machine that the tests run on."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from numa_agent.host.watch import Watch


@pytest.fixture
def watch() -> Iterator[Watch]:
    with closing(Watch()) as watch:
        yield watch
