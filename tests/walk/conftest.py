"""How far the walks went, for the line at the end of the test run."""

from collections import Counter

import pytest


class Tally:
    """What was done in all walks: a green run over nothing would look alike."""

    def __init__(self) -> None:
        self.steps = 0
        self.writes = 0
        self.kinds: Counter[str] = Counter()
        self.walks: Counter[str] = Counter()

    def took(self, what: str) -> None:
        self.kinds[what] += 1

    def ended(self, setup: str) -> None:
        self.walks[setup] += 1


TALLY = Tally()


@pytest.fixture(scope="session")
def walk_tally() -> Tally:
    """Where a walk says what it did."""
    return TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many steps were walked."""
    if TALLY.steps:
        kinds = TALLY.kinds
        terminalreporter.write_line(
            f"walk: {TALLY.steps} steps in {sum(TALLY.walks.values())} walks on"
            f" {len(TALLY.walks)} kernels: {kinds['passes']} passes, {TALLY.writes} writes,"
            f" {kinds['crashes']} crashes ({kinds['compared']} compared with none),"
            f" {kinds['foreign write']} foreign writes, {kinds['hears']} looks between passes"
        )
