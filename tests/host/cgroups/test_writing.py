"""Writing a cgroup's set: what is written, what never is, and what a refusal means."""

import errno
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups import (
    CgroupError,
    CpusetTree,
    GoneError,
    NeverWrittenError,
    NotSupportedError,
    OwnGroupError,
    ReadOnlyError,
    RefusedError,
    put_to_kernel,
)
from tests.host.cgroups.hierarchies import NOPREFIX, UID, UID_, Hierarchy
from tests.machine_tree import CGROUP, container_id, cpus, pod

POD = f"kubepods/burstable/pod{UID}"
LEAF = f"{POD}/{container_id(1)}"
SLICE = f"kubepods.slice/kubepods-pod{UID_}.slice"


class Kernel:
    """What takes a cgroup file's text: keeps it, or does something and refuses it."""

    def __init__(self, number: int | None = None, first: Callable[[], None] | None = None) -> None:
        self.number = number
        self.first = first
        self.taken: list[tuple[Path, str]] = []

    def put(self, path: Path, text: str) -> None:
        if self.first is not None:
            self.first()
        if self.number is not None:
            raise OSError(self.number, os.strerror(self.number))
        self.taken.append((path, text))


@pytest.mark.parametrize("path", [POD, LEAF, f"{LEAF}/container/a", SLICE])
@pytest.mark.parametrize("version", Version)
def test_a_set_is_one_write_of_one_line(version: Version, path: str, tmp_path: Path) -> None:
    kernel = Kernel()
    machine = Hierarchy(tmp_path, version).group(path)
    tree = machine.tree(put=kernel.put)
    tree.write(path, "cpus", cpus("3,2,8"))
    tree.write(path, "mems", cpus("1"))
    assert kernel.taken == [
        (machine.folder / path / "cpuset.cpus", "2-3,8\n"),
        (machine.folder / path / "cpuset.mems", "1\n"),
    ]


def test_the_names_without_prefix_are_written(tmp_path: Path) -> None:
    kernel = Kernel()
    machine = Hierarchy(tmp_path, Version.V1, f"{CGROUP}/cpuset", NOPREFIX).group(POD)
    machine.tree(put=kernel.put).write(POD, "mems", cpus("0"))
    assert kernel.taken == [(machine.folder / POD / "mems", "0\n")]


@pytest.mark.parametrize("by_path", [True, False])
def test_the_kernel_s_file_is_written_and_read_back(by_path: bool, tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    tree = machine.tree(put=put_to_kernel if by_path else None)
    tree.write(LEAF, "cpus", cpus("2-3"))
    tree.write(LEAF, "mems", cpus("1"))
    group = tree.read(LEAF)
    assert (group.cpus, group.mems) == (cpus("2-3"), cpus("1"))


@pytest.mark.parametrize("file", ["cpus", "mems"])
def test_an_empty_set_is_never_written(file: str, tmp_path: Path) -> None:
    kernel = Kernel()
    tree = Hierarchy(tmp_path).group(LEAF).tree(put=kernel.put)
    with pytest.raises(NeverWrittenError, match=f"{LEAF}: an empty set is never written"):
        tree.write(LEAF, "cpus" if file == "cpus" else "mems", frozenset())
    assert kernel.taken == []


@pytest.mark.parametrize("ids", [{-1, 2}, {70000}])
def test_what_can_t_be_an_id_is_never_written(ids: set[int], tmp_path: Path) -> None:
    kernel = Kernel()
    tree = Hierarchy(tmp_path).group(LEAF).tree(put=kernel.put)
    with pytest.raises(NeverWrittenError, match="can't be an id"):
        tree.write(LEAF, "cpus", frozenset(ids))
    assert kernel.taken == []


@pytest.mark.parametrize(
    "path",
    [
        "",
        "kubepods",
        "kubepods/burstable",
        "kubepods/besteffort",
        "kubepods.slice",
        "kubepods.slice/kubepods-burstable.slice",
        "kubepods/x",
        f"kubepods/system/pod{UID}",
        f"pod{UID}",
        f"system.slice/pod{UID}",
        f"x/{POD}",
        f"kubepods.slice/kubepods-burstable.slice/kubepods-pod{UID_}.slice",
        f"kubepods.slice/kubepods-besteffort-pod{UID_}.slice",
        f"system.slice/containerd.service/{container_id(1)}",
        container_id(1),
    ],
)
def test_no_cgroup_but_a_pod_s_is_written(path: str, tmp_path: Path) -> None:
    kernel = Kernel()
    machine = Hierarchy(tmp_path)
    if path:
        machine.group(path)
    with pytest.raises(NeverWrittenError, match="never written"):
        machine.tree(put=kernel.put).write(path, "cpus", cpus("1"))
    assert kernel.taken == []


def test_a_pod_is_written_below_the_root_that_is_kubelet_s(tmp_path: Path) -> None:
    kernel = Kernel()
    named, seen = f"a/b/{POD}", f"kubelet/{POD}"
    machine = Hierarchy(tmp_path).group(named).group(seen)
    machine.tree("/a/b", put=kernel.put).write(named, "cpus", cpus("1"))
    tree = machine.tree(put=kernel.put)
    for path in (named, seen):
        with pytest.raises(NeverWrittenError):
            tree.write(path, "cpus", cpus("1"))
    # A root that no configuration names is kubelet's once a pod has been found there.
    assert tree.pod_directories() == {UID: seen}
    tree.write(seen, "cpus", cpus("1"))
    assert [path.parent for path, _ in kernel.taken] == [
        machine.folder / named,
        machine.folder / seen,
    ]


@pytest.mark.parametrize(
    "path", ["/", "..", f"{POD}/..", f"{POD}/./x", f"{POD}/", f"{POD}/\0", "."]
)
def test_a_path_that_leads_elsewhere_is_never_written(path: str, tmp_path: Path) -> None:
    kernel = Kernel()
    tree = Hierarchy(tmp_path).group(POD).tree(put=kernel.put)
    with pytest.raises(CgroupError, match="isn't a cgroup's path"):
        tree.write(path, "cpus", cpus("1"))
    assert kernel.taken == []


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EACCES, "the set must lie within the parent's"),
        (errno.EBUSY, "a cgroup below it holds ids outside the set"),
        (errno.ENOSPC, "can't be left without a set"),
        (errno.EINVAL, "a CPU of the set isn't online, or a memory node isn't there"),
        (errno.ERANGE, "an id that this kernel can't have"),
        (errno.EOVERFLOW, "an id that this kernel can't have"),
        (errno.EPERM, "a security module or a cgroup namespace forbids it"),
        (errno.EAGAIN, "try again"),
        (errno.EIO, ""),
    ],
)
def test_a_refusal_names_the_file_the_set_and_the_reason(
    number: int, hint: str, tmp_path: Path
) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    with pytest.raises(RefusedError) as caught:
        machine.tree(put=Kernel(number).put).write(LEAF, "cpus", cpus("2-3"))
    error = caught.value
    file = machine.folder / LEAF / "cpuset.cpus"
    assert str(error).startswith(f"{file}: 2-3 wasn't taken: {os.strerror(number)}")
    assert (error.number, error.path) == (number, LEAF)
    assert hint in error.hint
    assert error.hint in str(error)
    assert isinstance(error.__cause__, OSError)
    assert isinstance(error, SourceError)


def test_a_removed_cgroup_is_gone_whichever_way_the_kernel_says_it(tmp_path: Path) -> None:
    # Case 51.
    for number in (errno.ENODEV, errno.ENOENT):
        machine = Hierarchy(tmp_path / str(number)).group(LEAF)
        kernel = Kernel(number, partial(shutil.rmtree, machine.folder / POD))
        with pytest.raises(GoneError) as caught:
            machine.tree(put=kernel.put).write(LEAF, "cpus", cpus("1"))
        assert caught.value.path == LEAF
    with pytest.raises(GoneError, match=f"{POD}: not there"):
        machine.tree().write(LEAF, "cpus", cpus("1"))
    assert not (machine.folder / POD).exists()


def test_a_cgroup_that_was_made_anew_meanwhile_is_gone(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)

    def replace() -> None:
        (machine.folder / LEAF).rename(tmp_path / "old")
        machine.group(LEAF)

    with pytest.raises(GoneError):
        machine.tree(put=Kernel(errno.ENOENT, replace).put).write(LEAF, "cpus", cpus("1"))


def test_a_cgroup_without_the_file_has_no_controller_and_nothing_is_made(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    file = machine.folder / LEAF / "cpuset.cpus"
    file.unlink()
    for put in (None, put_to_kernel):
        with pytest.raises(NotSupportedError, match="the cpuset controller isn't enabled in this"):
            machine.tree(put=put).write(LEAF, "cpus", cpus("1"))
    assert not file.exists()


def test_a_read_only_mount_is_told_from_other_refusals(tmp_path: Path) -> None:
    tree = Hierarchy(tmp_path).group(LEAF).tree(put=Kernel(errno.EROFS).put)
    with pytest.raises(ReadOnlyError, match="mount the host's /sys/fs/cgroup read-write"):
        tree.write(LEAF, "cpus", cpus("1"))


def test_this_process_s_own_cgroup_is_told_by_where_its_namespace_is_rooted(
    tmp_path: Path,
) -> None:
    machine = Hierarchy(tmp_path).group(LEAF).group(f"{POD}/{container_id(2)}")
    # A container's own cgroup namespace shows its cgroup as the hierarchy's root.
    tree = machine.tree(put=Kernel(errno.EPERM).put, own_root=machine.folder / LEAF)
    with pytest.raises(OwnGroupError, match="this agent's own cgroup"):
        tree.write(LEAF, "cpus", cpus("1"))
    with pytest.raises(RefusedError):
        tree.write(f"{POD}/{container_id(2)}", "cpus", cpus("1"))
    elsewhere = machine.tree(put=Kernel(errno.EPERM).put, own_root=tmp_path / "none")
    with pytest.raises(RefusedError):
        elsewhere.write(LEAF, "cpus", cpus("1"))


@pytest.mark.parametrize("way", ["kernel", "by path", "injected"])
def test_a_file_that_is_a_link_is_never_written(way: str, tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    file, target = machine.folder / LEAF / "cpuset.cpus", tmp_path / "target"
    file.unlink()
    target.write_text("untouched")
    file.symlink_to(target)
    kernel = Kernel()
    put = {"kernel": None, "by path": put_to_kernel, "injected": kernel.put}[way]
    with pytest.raises(RefusedError, match="never followed"):
        machine.tree(put=put).write(LEAF, "cpus", cpus("1"))
    with pytest.raises(OSError, match="symbolic links"):
        put_to_kernel(file, "1\n")
    assert target.read_text() == "untouched"
    assert kernel.taken == []


def test_a_fifo_in_place_of_the_file_blocks_nobody(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    file = machine.folder / LEAF / "cpuset.cpus"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(RefusedError):
        machine.tree().write(LEAF, "cpus", cpus("1"))


def test_nothing_stays_open(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(f"{LEAF}/container", (os.getpid(),))
    (machine.folder / LEAF / "cpuset.mems").unlink()
    (machine.folder / POD / "way").symlink_to("/")
    tree: CpusetTree = machine.tree()
    before = sorted(os.listdir("/proc/self/fd"))
    assert tree.find(pod(1)) is None
    tree.pod_directories()
    tree.parents()
    tree.read(LEAF)
    tree.tasks_allowed(LEAF)
    tree.write(LEAF, "cpus", cpus("2-3"))
    for path in (LEAF, f"{LEAF}/none", f"{POD}/way/x", "kubepods"):
        with pytest.raises(SourceError):
            tree.write(path, "mems", cpus("1"))
    assert sorted(os.listdir("/proc/self/fd")) == before
