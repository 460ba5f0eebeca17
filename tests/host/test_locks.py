"""Whether the agent's lock is held, without trying it."""

import fcntl
from pathlib import Path

from numa_agent.host.locks import read_held


def test_a_lock_is_held_while_its_holder_has_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    assert read_held(file, "lock").value is False
    with file.open("w") as held:
        assert read_held(file, "lock").value is False
        fcntl.flock(held, fcntl.LOCK_EX)
        assert read_held(file, "lock").value is True
        # To look doesn't take it.
        assert read_held(file, "lock").value is True
    assert read_held(file, "lock").value is False


def test_without_the_kernel_s_list_it_isn_t_known(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.touch()
    told = read_held(file, "lock", tmp_path / "none")
    assert told.value is None
    assert "No such file" in told.why


def test_a_lock_in_what_is_no_folder_isn_t_known(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_held(tmp_path / "file" / "lock", "lock").why == "Not a directory"
