"""What pytest can be asked for besides its own options, and how properties are tried."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.recorded import spoilt

# A busy computer is no fault of what is tested: no example has a deadline, and none is drawn too
# slowly. Each run tries the same examples, so that a red one has its reason in what was changed.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# Others each time: --hypothesis-profile=chance.
settings.register_profile("chance", settings.get_profile("steady"), derandomize=False)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def _nobody_spoils_the_machines_of_others() -> Iterator[None]:
    yield
    assert spoilt() == []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-kernels",
        action="store_true",
        help="boot Debian's kernels 5.10 and 6.12 as well as this host's own (tests/vm)",
    )
    parser.addoption(
        "--quiet-minutes",
        type=float,
        default=1.0,
        help="how long pods come and go beside one that nobody may fight about (tests/e2e)",
    )
