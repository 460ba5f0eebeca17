"""One agent per node."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.wiring.lock import only_one


def test_a_second_one_is_refused_with_the_file_and_the_holder(tmp_path: Path) -> None:
    file = tmp_path / "run" / "numa-agent" / "lock"
    with only_one(file), pytest.raises(SourceError) as refused, only_one(file):
        pass
    said = str(refused.value)
    assert said.startswith(
        f"another numa-agent runs on this node and holds {file} (pid {os.getpid()}"
    )


def test_the_lock_is_free_when_its_holder_has_gone_however_it_went(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    script = (
        "import os, sys; from pathlib import Path; from numa_agent.wiring.lock import only_one\n"
        "with only_one(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(SourceError, match=f"pid {holder.pid} "), only_one(file):
            pass
    finally:
        holder.kill()
        holder.communicate(timeout=30)
    with only_one(file):
        pass
    with only_one(file):
        pass


@pytest.mark.parametrize("odd", ["folder", "link", "below a file"])
def test_a_lock_that_can_t_be_had_is_named_with_what_to_do(odd: str, tmp_path: Path) -> None:
    file = tmp_path / "lock"
    if odd == "folder":
        file.mkdir()
    elif odd == "link":
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_text("")
        file /= "lock"
    with pytest.raises(SourceError, match="set lockFile"), only_one(file):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_holder_wrote_is_not_believed_to_be_a_number(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with only_one(file):
        file.write_bytes(b"\xff" * 100)
        with pytest.raises(SourceError, match="another numa-agent"), only_one(file):
            pass


def test_a_disk_that_takes_no_byte_doesn_t_keep_it_from_being_held(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from numa_agent.wiring.lock import only_one\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "with only_one(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(SourceError, match=r"\(pid unknown "), only_one(file):
            pass
    finally:
        holder.kill()
        holder.communicate(timeout=30)
