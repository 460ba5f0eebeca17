"""ELF files, trees with links, and the libraries that are copied."""

import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.image.trees import elf_bytes, write
from tools.image import libraries
from tools.image.elf import MACHINES, read_elf
from tools.image.tree import Tree


def test_a_real_program_says_what_it_needs() -> None:
    elf = read_elf(Path(sys.executable).resolve())
    assert elf is not None
    assert elf.machine in MACHINES
    assert elf.loader is not None
    assert elf.loader.startswith("/lib")
    assert "libc.so.6" in elf.needed


def test_a_small_library_says_what_it_needs(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.so", elf_bytes(183, needed=("libb.so.1", "libc.so.6"), runpath="$ORIGIN:/x")
    )
    elf = read_elf(path)
    assert elf is not None
    assert (elf.machine, elf.loader) == (183, None)
    assert elf.needed == ("libb.so.1", "libc.so.6")
    assert elf.folders == ("$ORIGIN", "/x")


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(80)])
def test_what_is_no_64_bit_elf_file_needs_nothing(tmp_path: Path, content: bytes) -> None:
    assert read_elf(write(tmp_path / "a", content)) is None


@pytest.mark.parametrize("length", range(6, 120, 9))
def test_a_cut_elf_file_is_told_by_its_path(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "a.so", elf_bytes(needed=("libc.so.6",))[:length])
    with pytest.raises(ValueError, match=r"a\.so is a broken ELF file"):
        read_elf(path)


def test_links_stay_inside_the_tree(base: Tree) -> None:
    write(base.root / "usr/lib/a.so")
    (base.root / "usr/lib/out").symlink_to("/../../../lib/a.so")
    assert base.find("/lib/out") == PurePosixPath("usr/lib/a.so")
    assert base.find("/lib/absent") is None


def test_a_loop_of_links_ends(base: Tree) -> None:
    (base.root / "a").symlink_to("b")
    (base.root / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many links"):
        base.find("/a")


def test_a_library_is_copied_by_the_name_that_others_need_it_by(
    base: Tree, image_tree: Tree
) -> None:
    folder = base.root / "usr/lib/x86_64-linux-gnu"
    write(folder / "libb.so.1.2", elf_bytes(needed=("libc.so.6",)))
    (folder / "libb.so.1").symlink_to("libb.so.1.2")
    write(folder / "libc.so.6", elf_bytes(needed=("ld-linux-x86-64.so.2",)))
    write(folder / "libunused.so", elf_bytes())
    write(image_tree.root / "opt/a.so", elf_bytes(needed=("libb.so.1",)))
    libraries.copy_libraries(base, image_tree, "amd64")
    copied = {path.name for path in image_tree.root.rglob("*") if path.is_file()}
    assert copied == {"a.so", "libb.so.1", "libc.so.6"}
    assert PurePosixPath("usr/lib/x86_64-linux-gnu/libb.so.1.2") in base.taken


def test_a_package_that_brings_its_library_is_not_given_another(
    base: Tree, image_tree: Tree
) -> None:
    write(
        image_tree.root / "opt/p/a.so", elf_bytes(needed=("libb.so",), runpath="$ORIGIN/../p.libs")
    )
    write(image_tree.root / "opt/p.libs/libb.so", elf_bytes())
    libraries.copy_libraries(base, image_tree, "amd64")
    assert base.taken == set()


def test_a_missing_library_is_named_with_who_needs_it(base: Tree, image_tree: Tree) -> None:
    write(image_tree.root / "opt/a.so", elf_bytes(needed=("libgone.so.7",)))
    with pytest.raises(SystemExit, match=r"opt/a\.so needs libgone\.so\.7"):
        libraries.copy_libraries(base, image_tree, "amd64")


@pytest.mark.parametrize("machine", [183, 8])
def test_a_file_for_another_processor_is_refused(
    base: Tree, image_tree: Tree, machine: int
) -> None:
    write(image_tree.root / "opt/a.so", elf_bytes(machine))
    with pytest.raises(SystemExit, match=r"a\.so is for .*, the image for amd64"):
        libraries.copy_libraries(base, image_tree, "amd64")
