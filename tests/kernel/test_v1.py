"""The fake's rules of cgroup v1, one by one; that they are the kernel's, tests/vm/ shows."""

from pathlib import Path

import pytest

from tests.kernel.kernel import Kernel
from tests.kernel.machines import boot

POD = "pod"
CONTAINER = "pod/container"
PID = 7


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """A kernel with a pod, a container in it with every CPU and node, and a task in that."""
    kernel = boot(tmp_path, hierarchy="v1")
    for group in (POD, CONTAINER):
        kernel.mkdir(group)
        kernel.write(group, "cpuset.cpus", "0-7")
        kernel.write(group, "cpuset.mems", "0-2")
    kernel.attach(CONTAINER, PID)
    return kernel


def says(kernel: Kernel, path: str, file: str) -> str:
    return (kernel.root / path / file).read_text().strip()


def test_a_new_group_is_empty_and_takes_no_task(kernel: Kernel) -> None:
    kernel.mkdir("new")
    assert says(kernel, "new", "cpuset.cpus") == says(kernel, "new", "cpuset.mems") == ""
    with pytest.raises(OSError, match="No space left"):
        kernel.attach("new", PID)
    kernel.write("new", "cpuset.cpus", "1")
    with pytest.raises(OSError, match="No space left"):
        kernel.attach("new", PID)
    kernel.write("new", "cpuset.mems", "1")
    kernel.attach("new", PID)
    assert kernel.task_allowed(PID) == {1}


def test_a_new_group_has_its_parents_sets_where_they_are_cloned(kernel: Kernel) -> None:
    kernel.write(POD, "cpuset.cpus", "0-7")
    kernel.write(POD, "cgroup.clone_children", "1")
    kernel.mkdir(f"{POD}/new")
    assert says(kernel, f"{POD}/new", "cpuset.cpus") == "0-7"
    assert says(kernel, f"{POD}/new", "cgroup.clone_children") == "1"


def test_a_set_lies_within_the_one_above_and_holds_those_below(kernel: Kernel) -> None:
    kernel.write(CONTAINER, "cpuset.cpus", "2-3")
    kernel.write(POD, "cpuset.cpus", "2-5")
    with pytest.raises(PermissionError):
        kernel.write(CONTAINER, "cpuset.cpus", "2-6")
    with pytest.raises(OSError, match="busy"):
        kernel.write(POD, "cpuset.cpus", "3-5")


def test_a_set_with_tasks_is_not_cleared(kernel: Kernel) -> None:
    with pytest.raises(OSError, match="No space left"):
        kernel.write(CONTAINER, "cpuset.cpus", "\n")
    with pytest.raises(OSError, match="busy"):
        kernel.write(POD, "cpuset.cpus", "\n")


def test_the_root_is_never_written(kernel: Kernel) -> None:
    with pytest.raises(PermissionError):
        kernel.write("", "cpuset.cpus", "0-7")


def test_a_cpu_that_goes_leaves_every_set_and_comes_back_from_the_top_down_only(
    kernel: Kernel,
) -> None:
    kernel.offline(3)
    assert says(kernel, CONTAINER, "cpuset.cpus") == "0-2,4-7"
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.write(CONTAINER, "cpuset.cpus", "3")
    kernel.online(3)
    assert says(kernel, "", "cpuset.cpus") == "0-7"
    with pytest.raises(PermissionError):
        kernel.write(CONTAINER, "cpuset.cpus", "3")
    kernel.write(POD, "cpuset.cpus", "0-7")
    kernel.write(CONTAINER, "cpuset.cpus", "3")
    assert kernel.task_allowed(PID) == {3}


def test_the_tasks_of_a_group_that_lost_all_its_cpus_are_in_the_one_above(kernel: Kernel) -> None:
    kernel.write(CONTAINER, "cpuset.cpus", "3")
    kernel.offline(3)
    assert says(kernel, CONTAINER, "cpuset.cpus") == ""
    assert kernel.group_of(PID) == POD
    assert (says(kernel, POD, "tasks"), says(kernel, CONTAINER, "tasks")) == (str(PID), "")
    assert kernel.task_allowed(PID) == {0, 1, 2, 4, 5, 6, 7}


def test_without_a_prefix_the_files_have_short_names(tmp_path: Path) -> None:
    kernel = Kernel(
        tmp_path / "cpuset",
        version="6.1",
        hierarchy="v1",
        cpus=frozenset({0, 1}),
        mems=frozenset({0}),
        prefix="",
    )
    kernel.mkdir("pod")
    kernel.put(tmp_path / "cpuset/pod/cpus", "1")
    assert (tmp_path / "cpuset/pod/effective_cpus").read_text() == "1\n"
    assert not (tmp_path / "cpuset/pod/cpuset.cpus").exists()
