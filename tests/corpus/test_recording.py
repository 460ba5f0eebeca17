"""A recording of a real machine has the same map, names mapped back."""

from pathlib import Path

import pytest

from tests.corpus.machines import expected
from tests.recording.replay import COMMANDS, answers, mapped_back, record

TOPOLOGY = {"topology": COMMANDS["topology"]}


# Every fourth: all of them take two minutes.
@pytest.mark.parametrize("name", sorted(expected())[::4])
def test_the_map_of_a_recording_is_the_machine_s(
    name: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = corpus / name
    made = record(root, tmp_path)
    assert made.left_out == {}
    found = answers(made.folder, capsys, TOPOLOGY)["topology"]
    assert mapped_back(found, made.names) == answers(root, capsys, TOPOLOGY)["topology"]
