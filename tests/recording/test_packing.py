"""A recording is packed as it is written, and a library that can't do it is said."""

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from numa_agent.host.recording.packing import Packing, packer, packing_of
from tests.recorded import ROOT, machine
from tests.recording.replay import unpacked

PACKED = pytest.mark.parametrize("packing", list(Packing), ids=lambda each: each.value[0])
LIBRARY = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
SINGLE = str(machine("single-node"))
CHUNK = 64 << 10
"""What the compressors may hold back at most, in bytes, is a few of these."""


def packed(data: bytes, packing: Packing) -> bytes:
    stream = io.BytesIO()
    with packer(packing)(stream) as file:
        file.write(data)
    return stream.getvalue()


@PACKED
@pytest.mark.parametrize("size", [0, 1, 10_240, 3 << 20])
def test_what_is_unpacked_is_what_was_packed(packing: Packing, size: int) -> None:
    data = random.Random(1).randbytes(size // 2) + bytes(size - size // 2)
    assert unpacked(packed(data, packing), packing) == data


@PACKED
def test_the_stream_stays_open_for_its_owner_to_close(packing: Packing) -> None:
    stream = io.BytesIO()
    with packer(packing)(stream) as file:
        file.write(b"whole")
    assert not stream.closed


@PACKED
def test_the_same_bytes_are_packed_to_the_same_bytes(packing: Packing) -> None:
    data = random.Random(2).randbytes(100_000)
    assert packed(data, packing) == packed(data, packing)


@PACKED
def test_bytes_leave_as_they_come(packing: Packing) -> None:
    stream, source = io.BytesIO(), random.Random(3)
    with packer(packing)(stream) as file:
        for number in range(1, 129):
            file.write(source.randbytes(CHUNK))
            assert stream.tell() >= (number - 5) * CHUNK


@pytest.mark.parametrize("where", [0.2, 0.5, 0.9])
def test_a_bit_that_turned_on_the_way_is_noticed(where: float) -> None:
    data = random.Random(4).randbytes(200_000)
    whole = bytearray(packed(data, Packing.ZSTD))
    # Of bytes that don't compress the frame has copies, so that only the checksum can tell.
    whole[int(len(whole) * where)] ^= 1
    with pytest.raises(Exception, match=r"checksum|corrupt"):
        unpacked(bytes(whole), Packing.ZSTD)


def test_a_frame_that_was_cut_is_noticed() -> None:
    whole = packed(random.Random(5).randbytes(200_000), Packing.ZSTD)
    for size in (len(whole) - 1, len(whole) // 2):
        with pytest.raises(Exception, match="ended before the end-of-stream"):
            unpacked(whole[:size], Packing.ZSTD)


@PACKED
def test_a_full_disk_is_an_error_of_the_system_s(packing: Packing) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    with (
        pytest.raises(OSError, match="No space left"),
        full.open("wb") as stream,
        packer(packing)(stream) as file,
    ):
        file.write(random.Random(6).randbytes(1 << 20))


@pytest.mark.parametrize(
    ("name", "packing"),
    [
        ("node.tar.zst", Packing.ZSTD),
        ("/some.tar/node.tzst", Packing.ZSTD),
        ("a.tar.gz.tar.zst", Packing.ZSTD),
        ("node.tar.gz", Packing.GZIP),
        ("node.tgz", Packing.GZIP),
        ("a.tar.zst.tar", Packing.NONE),
        ("node.tar.zst.bak", None),
        ("node.tar.bz2", None),
        ("tar", None),
        ("", None),
    ],
)
def test_the_end_of_the_name_alone_says_how(name: str, packing: Packing | None) -> None:
    assert packing_of(name) is packing


LOADED = """
import io, json, sys
from numa_agent.host.recording.packing import Packing, packer
with packer(Packing[sys.argv[1]])(io.BytesIO()) as file:
    file.write(b"x")
print(json.dumps([name for name in sys.modules if "zstd" in name]))
"""


@PACKED
def test_only_who_packs_by_zstd_loads_its_library(packing: Packing) -> None:
    command = [sys.executable, "-c", LOADED, packing.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (LIBRARY in json.loads(done.stdout)) is (packing is Packing.ZSTD), done.stdout


def place(folder: Path, name: str, data: bytes) -> None:
    """Put a module where Python finds it before the library's own."""
    if sys.version_info >= (3, 14):
        # compression.zstd's half in C: the other is found beside gzip's.
        (folder / name.replace("zstd", "_zstd")).write_bytes(data)
        return
    (folder / "backports").mkdir()
    (folder / "backports/__init__.py").touch()
    (folder / "backports" / name).write_bytes(data)


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (
        lambda folder: place(folder, "zstd.py", b"raise ModuleNotFoundError('no _zstd')"),
        "no _zstd",
    ),
    "for another processor": (
        lambda folder: place(folder, "zstd.so", b"\x7fELF" + bytes(60)),
        "zstd.so: ",
    ),
    "cut": (lambda folder: place(folder, "zstd.so", b""), "file too short"),
    "with an old libzstd": (
        lambda folder: place(folder, "zstd.py", b"raise RuntimeError('zstd is too old')"),
        "zstd is too old",
    ),
    "another by the same name": (
        lambda folder: place(folder, "zstd.py", b""),
        "cannot import name",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_library_that_doesn_t_load_is_said_with_the_way_out(kind: str, tmp_path: Path) -> None:
    shadow, out = tmp_path / "shadow", tmp_path / "out"
    shadow.mkdir()
    out.mkdir()
    breaks, why = BROKEN[kind]
    breaks(shadow)

    def recording(name: str) -> "subprocess.CompletedProcess[str]":
        words = ["record", str(out / name), "--host-root", SINGLE]
        environment = {**os.environ, "PYTHONPATH": f"{shadow}:{ROOT}"}
        return subprocess.run(
            [sys.executable, "-m", "numa_agent", *words],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    done = recording("node.tar.zst")
    assert done.returncode == 2
    assert done.stderr.startswith("numa-agent record: error: can't pack by zstd, "), done.stderr
    assert why in done.stderr
    assert "name a file that ends in .tar.gz instead" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(out.iterdir()) == []
    assert recording("node.tar.gz").returncode == 0
