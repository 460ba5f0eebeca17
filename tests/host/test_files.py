"""Reading one kernel file: missing is None, damage is None and a warning with the path."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from numa_agent.core.topology import TopologyWarning
from numa_agent.host.sysfs.files import Directory, number, number_or_none


@pytest.fixture
def warnings() -> list[TopologyWarning]:
    return []


@pytest.fixture
def root(tmp_path: Path, warnings: list[TopologyWarning]) -> Iterator[Directory]:
    with Directory.root(tmp_path, warnings) as directory:
        yield directory


def test_a_file_s_text_is_what_stands_before_its_newline(
    root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "file").write_bytes(b" 0-3\nrest\n")
    assert root.text("file") == " 0-3\nrest"
    assert warnings == []


def test_an_empty_line_is_a_text(root: Directory, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\n")
    assert root.text("file") == ""


@pytest.mark.parametrize("nuls", [1, 5])
def test_the_nuls_that_old_kernels_left_behind_a_newline_are_none_of_the_text(
    nuls: int, root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "file").write_bytes(b"0-3\n" + b"\0" * nuls)
    assert root.text("file") == "0-3"
    assert warnings == []


@pytest.mark.parametrize("name", ["file", "folder/file"])
def test_a_missing_file_is_none_without_a_warning(
    name: str, root: Directory, warnings: list[TopologyWarning]
) -> None:
    assert root.text(name) is None
    assert root.names(name) == ()
    assert root.directory(name) is None
    assert root.link(name) is None
    assert root.value(name, number) is None
    assert warnings == []


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def process_memory(path: Path) -> None:
    # Its first page is never mapped, so that reading it is an I/O error, for root too.
    path.symlink_to("/proc/self/mem")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "the file is empty"),
    "cut": (lambda path: path.write_bytes(b"0-1"), "doesn't end with a newline"),
    "cut in its last line": (lambda path: path.write_bytes(b"0\n1"), "doesn't end with a newline"),
    "binary": (lambda path: path.write_bytes(bytes(range(256)) + b"\n"), "isn't text"),
    "not ASCII": (lambda path: path.write_bytes("0-3\u00e9\n".encode()), "isn't text"),
    "NUL inside": (lambda path: path.write_bytes(b"0\0-3\n"), "isn't text"),
    "NULs alone": (lambda path: path.write_bytes(b"\0\0"), "the file is empty"),
    "NUL behind a cut": (lambda path: path.write_bytes(b"0-3\0"), "doesn't end with a newline"),
    "70 KB": (lambda path: path.write_bytes(b"1," * 35_000 + b"1\n"), "longer than 65536 bytes"),
    "a folder": (lambda path: path.mkdir(), "Is a directory"),
    "a loop of links": (loop, "Too many levels of symbolic links"),
    "unreadable": (process_memory, "Input/output error"),
    "a FIFO": (os.mkfifo, "the file is empty"),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_none_and_one_warning_that_names_it(
    kind: str, root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    make, why = DAMAGE[kind]
    make(tmp_path / "file")
    assert root.text("file") is None
    (warning,) = warnings
    assert warning.subject == "/file"
    assert warning.message.startswith("/file: ")
    assert why in warning.message
    assert warning.message.endswith("; taken as unknown")
    assert warning.code in {"damaged-file", "unreadable-file"}


def test_a_file_in_place_of_a_folder_is_told_of(
    root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "file").write_bytes(b"x\n")
    assert root.names("file") == ()
    assert root.directory("file") is None
    assert root.text("file/inner") is None
    subjects = [(warning.code, warning.subject) for warning in warnings]
    assert subjects == [("unreadable-file", f"/{name}") for name in ("file", "file", "file/inner")]
    assert all("Not a directory" in warning.message for warning in warnings)


def test_a_loop_in_place_of_a_folder_is_told_of(
    root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    loop(tmp_path / "folder")
    assert root.names("folder") == ()
    assert root.directory("folder") is None
    assert len(warnings) == 2


def test_names_are_ascending_and_of_any_folder_below(root: Directory, tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / "folder" / name).mkdir(parents=True)
    assert root.names("folder") == ["a", "b", "c"]
    assert root.names() == ["folder"]


def test_a_folder_s_files_are_named_from_the_root(
    root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    (tmp_path / "one" / "two" / "file").touch()
    outer = root.directory("one")
    assert outer is not None
    with outer:
        inner = outer.directory("two")
        assert inner is not None
        with inner:
            assert inner.text("file") is None
    assert [warning.subject for warning in warnings] == ["/one/two/file"]


def test_a_link_says_where_it_points_and_a_folder_is_no_link(
    root: Directory, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("../devices/pci0000:00")
    assert root.link("link") == "../devices/pci0000:00"
    assert root.link("folder") is None


def test_a_text_that_its_parser_refuses_is_none_and_a_warning(
    root: Directory, tmp_path: Path, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "file").write_bytes(b"seven\n")
    assert root.value("file", number) is None
    (warning,) = warnings
    assert warning.message == "/file: not a number: 'seven'; taken as unknown"


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("12", 12), ("-1", -1), ("007", 7), ("9" * 18, 10**18 - 1)]
)
def test_a_number_is_decimal_digits(text: str, value: int) -> None:
    assert number(text) == value
    assert number_or_none(text) == (value if value >= 0 else None)


@pytest.mark.parametrize(
    "text", ["", "-", "--1", "+1", "1.0", "0x1", " 1", "1 ", "1_0", "\u00b2", "9" * 19]
)
def test_any_other_text_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        number(text)


def test_a_long_file_with_a_newline_at_the_limit_is_not_whole(
    tmp_path: Path, root: Directory, warnings: list[TopologyWarning]
) -> None:
    (tmp_path / "file").write_bytes(b"a" * 65535 + b"\n" + b"MemTotal\n")
    assert root.text("file") is None
    assert "longer than 65536 bytes" in warnings[0].message


def test_a_procfs_file_is_read_to_its_end_though_a_read_gives_a_page() -> None:
    with Directory.root(Path("/proc"), []) as proc:
        assert len(proc.long_text("kallsyms")) > 65536


def test_a_name_of_any_bytes_can_be_printed(
    tmp_path: Path, root: Directory, warnings: list[TopologyWarning]
) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    (name,) = root.names()
    assert root.text(name) is None
    assert warnings[0].message.encode("utf-8").startswith(b"/\\udcff: ")
