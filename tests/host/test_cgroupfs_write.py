"""Writing a container's CPU set, and the kernel's reasons for not taking it."""

import errno
import os
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.cgroupfs import CgroupFs, put_to_kernel
from tests.machine_tree import CGROUP, Tree, container, container_id, cpus, pod, uid

PATH = "kubepods/pod1/c1"


def v2(root: Path) -> Tree:
    return Tree(root).cgroup_v2("", "", "0-7").file(f"{CGROUP}/cgroup.controllers", "cpuset cpu")


class Kernel:
    """What takes a cgroup file's text: keeps it, or refuses it with an errno."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number
        self.taken: list[tuple[Path, str]] = []

    def put(self, path: Path, text: str) -> None:
        if self.number is not None:
            raise OSError(self.number, os.strerror(self.number))
        self.taken.append((path, text))


def test_a_set_is_one_write_of_one_line_to_the_container_s_own_file(tmp_path: Path) -> None:
    kernel = Kernel()
    CgroupFs(v2(tmp_path).root, str, kernel.put).write(PATH, cpus("3,2,8"))
    assert kernel.taken == [(tmp_path / CGROUP / PATH / "cpuset.cpus", "2-3,8\n")]


def test_on_v1_the_path_that_was_found_is_below_the_cpuset_hierarchy(tmp_path: Path) -> None:
    kernel = Kernel()
    root = Tree(tmp_path).cgroup_v1("", "0-7").root
    CgroupFs(root, str, kernel.put).write(f"cpuset/{PATH}", cpus("0"))
    assert kernel.taken == [(tmp_path / CGROUP / "cpuset" / PATH / "cpuset.cpus", "0\n")]


def test_an_empty_set_is_never_written(tmp_path: Path) -> None:
    # Case 02: the kernel would answer that no space is left on the device.
    kernel = Kernel()
    with pytest.raises(SourceError, match=f"{PATH}: an empty CPU set is never written"):
        CgroupFs(v2(tmp_path).root, str, kernel.put).write(PATH, cpus(""))
    assert kernel.taken == []


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EACCES, "the set must lie within the parent's"),
        (errno.EBUSY, "a cgroup below it holds CPUs outside the set"),
        (errno.ENOENT, "the container has gone, or its cgroup has no cpuset controller"),
        (errno.ENODEV, "the container has gone"),
        (errno.EROFS, "mount the host's /sys/fs/cgroup read-write"),
        (errno.EINVAL, "a CPU of the set isn't online"),
        (errno.ERANGE, "a CPU that this kernel can't have"),
        (errno.ENOSPC, "No space left on device"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_refusal_names_the_file_the_set_and_the_reason(
    number: int, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError) as caught:
        CgroupFs(v2(tmp_path).root, str, Kernel(number).put).write(PATH, cpus("2-3"))
    message = str(caught.value)
    start = f"{tmp_path / CGROUP / PATH / 'cpuset.cpus'}: 2-3 wasn't taken: {os.strerror(number)}"
    assert message.startswith(start)
    assert hint in message
    assert isinstance(caught.value.__cause__, OSError)


def test_a_file_is_rewritten_from_its_start_and_never_created(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        put_to_kernel(file, "0\n")
    assert not file.exists()
    file.write_text("")
    put_to_kernel(file, "2-3\n")
    assert file.read_text() == "2-3\n"


def test_nothing_stays_open(tmp_path: Path) -> None:
    tree = v2(tmp_path).cgroup_v2(f"kubepods/pod{uid(1)}/{container_id(1)}", "", "0-7")
    cgroups = CgroupFs(tree.root)
    before = sorted(os.listdir("/proc/self/fd"))
    cgroup = cgroups.find(pod(1), container(1))
    assert cgroup is not None
    cgroups.write(cgroup.path, cpus("2-3"))
    with pytest.raises(SourceError):
        cgroups.write(PATH, cpus("2-3"))
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_container_that_has_gone_is_told_of_and_nothing_is_made(tmp_path: Path) -> None:
    root = v2(tmp_path).root
    with pytest.raises(SourceError, match=r"No such file.*the container has gone"):
        CgroupFs(root).write(PATH, cpus("0"))
    assert not (root / CGROUP / PATH).exists()
