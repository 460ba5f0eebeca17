"""What the recorded machines are and would publish is what was read by a person and committed."""

from pathlib import Path

import pytest

from tests.recorded import MACHINES
from tools import expected


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_a_recorded_machine_gives_what_its_expected_folder_holds(folder: Path) -> None:
    held = {file.name: file.read_text() for file in (folder / "expected").iterdir()}
    found = expected.files(folder)
    assert sorted(held) == sorted(found)
    for name, text in found.items():
        assert text == held[name], f"{folder.name}/expected/{name}: see `make fixtures`"
