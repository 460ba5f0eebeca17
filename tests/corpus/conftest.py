"""The recorded machines that lie outside the project, unpacked once a session."""

import tarfile
from pathlib import Path

import pytest

from tests.corpus.machines import CORPUS


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with one machine's root a folder; skips where the corpus isn't there."""
    archive = CORPUS / "machines.tar.xz"
    if not archive.is_file():
        pytest.skip(f"the corpus of recorded machines is absent ({archive})")
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    return folder


class Tally:
    """How much was compared, for the line at the end of the test run."""

    def __init__(self) -> None:
        self.facts: dict[str, int] = {}

    def add(self, machine: str, facts: int) -> None:
        self.facts[machine] = facts


TALLY = Tally()


@pytest.fixture(scope="session")
def corpus_tally() -> Tally:
    """Where a test says how many facts it compared."""
    return TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many machines and facts were compared: a green run over nothing would look alike."""
    if TALLY.facts:
        failed = sum(
            "test_expected" in report.nodeid for report in terminalreporter.stats.get("failed", [])
        )
        terminalreporter.write_line(
            f"corpus: {len(TALLY.facts)} machines, {sum(TALLY.facts.values())} facts compared,"
            f" {failed} machines wrong"
        )
