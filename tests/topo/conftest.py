"""How much of the published matrices came out right, said at the end of the test run."""

from collections import Counter

import pytest


class Tally:
    """What was compared, by matrix."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.cpus: dict[str, int] = {}
        self.cells: dict[str, int] = {}
        self.undecidable: Counter[str] = Counter()


TALLY = Tally()


@pytest.fixture(scope="session")
def tally() -> Tally:
    """Where a test says what it compared."""
    return TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was compared: a green run over nothing would look alike."""
    if not TALLY.places:
        return
    undecidable = ", ".join(f"{n} in {number}" for number, n in sorted(TALLY.undecidable.items()))
    terminalreporter.write_line(
        f"topo: {len(TALLY.places)} matrices, {sum(TALLY.places.values())} GPU places right,"
        f" {sum(TALLY.cpus.values())} CPU sets right, {sum(TALLY.cells.values())} cells right,"
        f" {TALLY.undecidable.total()} cells undecidable ({undecidable})"
    )
