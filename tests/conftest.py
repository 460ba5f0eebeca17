"""What pytest can be asked for besides its own options."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-kernels",
        action="store_true",
        help="boot Debian's kernels 5.10 and 6.12 as well as this host's own (tests/vm)",
    )
