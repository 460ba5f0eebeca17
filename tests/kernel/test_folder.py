"""The folder always says what the kernel would, and inotify tells what it does of the real one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernel.folder import overwrite
from tests.kernel.kernel import Hierarchy, Kernel
from tests.kernel.machines import NAMES, boot, fake_walk
from tests.kernel.notices import Notices
from tests.kernel.versions import Version

POD = "kubepods/pod"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    kernel = boot(tmp_path)
    kernel.mkdir("kubepods", enable=True)
    kernel.mkdir(POD, enable=True)
    return kernel


@pytest.fixture
def notices() -> Iterator[Notices]:
    notices = Notices()
    yield notices
    notices.close()


@pytest.mark.parametrize(("version", "hierarchy"), NAMES)
def test_after_every_step_of_a_walk_the_files_say_what_the_kernel_says(
    version: Version, hierarchy: Hierarchy, tmp_path: Path
) -> None:
    # The system that is walked on compares both at every reading.
    seen = [fake_walk(tmp_path / str(seed), version, hierarchy, seed, 40) for seed in range(3)]
    assert sum(step["result"] == "ok" for steps in seen for step in steps) > 100


@pytest.mark.parametrize(("version", "hierarchy"), NAMES)
def test_a_walk_ends_with_nothing_left(
    version: Version, hierarchy: Hierarchy, tmp_path: Path
) -> None:
    fake_walk(tmp_path, version, hierarchy, 1, 20)
    assert [entry.name for entry in (tmp_path / "cgroup").iterdir() if entry.is_dir()] == []


def test_a_watch_sees_what_users_write_even_if_it_changes_nothing(
    kernel: Kernel, notices: Notices
) -> None:
    kernel.write(POD, "cpuset.cpus", "2-3")
    notices.watch("pod", kernel.root / POD)
    kernel.write(POD, "cpuset.cpus", "2-3")
    assert notices.read() == ["pod/cpuset.cpus closed", "pod/cpuset.cpus written"]


def test_a_watch_sees_a_refused_write_only_as_a_file_that_was_closed(
    kernel: Kernel, notices: Notices
) -> None:
    notices.watch("pod", kernel.root / POD)
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.write(POD, "cpuset.cpus", "two")
    assert notices.read() == ["pod/cpuset.cpus closed"]


def test_a_watch_sees_nothing_of_what_the_kernel_changes(kernel: Kernel, notices: Notices) -> None:
    notices.watch("pod", kernel.root / POD)
    kernel.write("kubepods", "cpuset.cpus", "1-3")
    kernel.offline(2)
    assert (kernel.root / POD / "cpuset.cpus.effective").read_text() == "1,3\n"
    assert notices.read() == []


def test_a_watch_sees_nothing_of_the_sets_that_v1_takes_cpus_from(
    tmp_path: Path, notices: Notices
) -> None:
    kernel = boot(tmp_path, hierarchy="v1")
    kernel.mkdir("pod")
    kernel.write("pod", "cpuset.cpus", "1-2")
    notices.watch("pod", kernel.root / "pod")
    kernel.offline(2)
    assert (kernel.root / "pod/cpuset.cpus").read_text() == "1\n"
    assert notices.read() == []


def test_a_watch_sees_groups_come_and_go(kernel: Kernel, notices: Notices) -> None:
    notices.watch("pod", kernel.root / POD)
    kernel.mkdir(f"{POD}/container")
    kernel.rmdir(f"{POD}/container")
    assert notices.read() == ["pod/container/ made", "pod/container/ removed"]


def test_a_watch_of_an_events_file_sees_a_group_fill(kernel: Kernel, notices: Notices) -> None:
    notices.watch("pod", kernel.root / POD)
    kernel.mkdir(f"{POD}/container")
    kernel.attach(f"{POD}/container", 7)
    assert "pod/cgroup.events written" in notices.read()
    assert (kernel.root / POD / "cgroup.events").read_text().startswith("populated 1\n")


def test_a_file_that_is_open_shows_what_is_written_later(kernel: Kernel) -> None:
    descriptor = os.open(kernel.root / POD / "cpuset.cpus", os.O_RDONLY)
    try:
        kernel.write(POD, "cpuset.cpus", "0-1,4-6")
        kernel.write(POD, "cpuset.cpus", "2")
        assert os.read(descriptor, 100) == b"2\n"
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("old", "new"), [("0-1,3\n", "2\n"), ("2\n", "0-1,3\n"), ("2\n", "")])
def test_overwriting_leaves_the_new_text(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(old)
    overwrite(file, old, new)
    assert file.read_text() == new
