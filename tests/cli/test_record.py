"""`numa-agent record`: where it writes, what it says, and how it ends."""

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from numa_agent.cli import main
from numa_agent.host.recording.packing import Packing, packing_of
from tests.recorded import ROOT, machine
from tests.recording.replay import unpacked

SINGLE = str(machine("single-node"))


def recording(out: Path, *more: str) -> int:
    return main(["record", str(out), "--host-root", SINGLE, *more])


def tar_of(path: Path) -> tarfile.TarFile:
    """The tar in a recording, packed as its name says."""
    packing = packing_of(path.name)
    assert packing is not None
    return tarfile.open(fileobj=io.BytesIO(unpacked(path.read_bytes(), packing)), mode="r:")


def extracted(path: Path, into: Path) -> Path:
    with tar_of(path) as tar:
        tar.extractall(into, filter="data")
    return into / "recorded-machine"


@pytest.mark.parametrize(
    "name", ["node.tar.zst", "node.tzst", "node.tar.gz", "node.tgz", "node.tar"]
)
def test_a_recording_unpacks_with_tar_and_is_looked_at_as_the_help_says(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if packing_of(name) is Packing.ZSTD and shutil.which("zstd") is None:
        pytest.skip("GNU tar needs the program zstd for it")
    out = tmp_path / name
    assert recording(out) == 0
    assert capsys.readouterr().err.startswith(f"numa-agent record: {out}: ")
    command = ["tar", "xf", str(out), "-C", str(tmp_path)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
    folder = str(tmp_path / "recorded-machine")
    for words in (["topology"], ["plan"], ["render"]):
        assert main([*words, "--host-root", folder]) == 0


@pytest.mark.parametrize("end", [".tar.zst", ".tar.gz"])
def test_the_bytes_tell_no_time_no_owner_and_no_name_of_the_file(end: str, tmp_path: Path) -> None:
    out = tmp_path / f"a-name{end}"
    recording(out)
    packed = out.read_bytes()
    # Bytes 4 to 7 of a gzip member are its time (RFC 1952); a zstd frame has no place for one.
    assert end == ".tar.zst" or packed[4:8] == b"\0\0\0\0"
    assert b"a-name" not in packed[:64]
    with tar_of(out) as tar:
        members = tar.getmembers()
    assert {(each.mtime, each.uid, each.gid, each.uname, each.gname) for each in members} == {
        (0, 0, 0, "", "")
    }
    assert {each.mode for each in members if each.isfile()} == {0o644}
    packing = packing_of(out.name)
    assert packing is not None
    plain = unpacked(packed, packing)
    assert str(tmp_path).encode() not in plain
    assert SINGLE.encode() not in plain


def test_the_program_zstd_finds_one_frame_with_a_checksum_that_holds(tmp_path: Path) -> None:
    if shutil.which("zstd") is None:
        pytest.skip("needs the program zstd")
    out = tmp_path / "node.tar.zst"
    recording(out)
    subprocess.run(["zstd", "--test", "--quiet", str(out)], check=True, timeout=60)
    listed = subprocess.run(
        ["zstd", "--list", "-v", str(out)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert re.search(r"Frames: 1$", listed, re.MULTILINE), listed
    assert re.search(r"Check: XXH64", listed), listed


def test_the_help_shows_zstd_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["record", "--help"])
    said = capsys.readouterr().out
    assert said.index(".tar.zst") < said.index(".tar.gz")
    assert "tar xf node.tar.zst" in said


def test_a_file_that_is_there_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "node.tar.gz"
    out.write_text("precious")
    assert recording(out) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "precious"


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    out = tmp_path / "node.tar.gz"
    out.symlink_to(tmp_path / "elsewhere")
    assert recording(out) == 2
    assert not (tmp_path / "elsewhere").exists()


def test_the_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    out = tmp_path / "node.tar.gz"
    recording(out)
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name",
    [
        *("node.zip", "node", "node.zst", "node.gz", "node.tar.zstd", "node.tar.ZST"),
        *("node.tar.xz", "node.tar.zst.gpg", "node.tar.zst.", "tzst"),
    ],
)
def test_a_name_that_doesn_t_say_how_to_pack_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recording(tmp_path / name) == 2
    assert "end it in .tar.zst, .tzst, .tar.gz, .tgz, .tar" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "why"), [("lots", "such as 64Mi"), ("1k", "at least"), ("-1Gi", "at least")]
)
def test_a_limit_that_is_none_is_refused_and_leaves_no_file(
    limit: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recording(tmp_path / "node.tar.gz", f"--limit={limit}") == 2
    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_can_t_be_finished_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(
        ["record", str(tmp_path / "node.tar.gz"), "--host-root", str(tmp_path / "nowhere")]
    )
    assert status == 2
    assert "--host-root" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_said_and_makes_the_exit_code_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"hostRoot: {SINGLE}\nliveRoot: {SINGLE}\nkubeletConfig: /none.yaml\n")
    out = tmp_path / "node.tar"
    assert main(["record", str(out), "--config", str(settings)]) == 1
    said = capsys.readouterr().err
    assert "failed: var/lib/kubelet/config.yaml: kubelet's configuration isn't" in said
    assert "a stand-in" in (extracted(out, tmp_path) / "MANIFEST").read_text()


def test_a_map_only_is_recorded_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "map"
    os.makedirs(root / "sys/devices")
    os.symlink(f"{SINGLE}/sys/devices/system", root / "link")
    out = tmp_path / "node.tar"
    assert main(["record", str(out), "--host-root", str(root)]) == 0
    assert not (extracted(out, tmp_path) / "recorded.yaml").exists()


def test_standard_output_takes_it_as_tar_gz(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numa_agent", "record", "-", "--host-root", SINGLE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith(b"numa-agent record: standard output: ")
    (tmp_path / "out.tgz").write_bytes(done.stdout)
    assert (extracted(tmp_path / "out.tgz", tmp_path) / "recorded.yaml").is_file()


def test_a_terminal_is_spared(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    try:
        command = [sys.executable, "-m", "numa_agent", "record", "-", "--host-root", SINGLE]
        done = subprocess.run(
            command, cwd=ROOT, stdout=follower, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 2
    assert b"into a file with >" in done.stderr


def test_a_full_disk_is_said_and_leaves_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    with full.open("wb") as stream:
        command = [sys.executable, "-m", "numa_agent", "record", "-", "--host-root", SINGLE]
        done = subprocess.run(
            command, cwd=ROOT, stdout=stream, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
