"""The fake's rules of cgroup v2, one by one; that they are the kernel's, tests/vm/ shows."""

from pathlib import Path

import pytest

from tests.kernel.kernel import Kernel
from tests.kernel.machines import boot
from tests.kernel.versions import Version

POD = "kubepods/pod"
CONTAINER = "kubepods/pod/container"
PID = 7


def with_pod(tmp_path: Path, version: Version = "6.1") -> Kernel:
    """A kernel with a pod, a container in it and a task in that."""
    kernel = boot(tmp_path, version)
    kernel.mkdir("kubepods", enable=True)
    kernel.mkdir(POD, enable=True)
    kernel.mkdir(CONTAINER)
    kernel.attach(CONTAINER, PID)
    return kernel


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return with_pod(tmp_path)


def says(kernel: Kernel, path: str, file: str) -> str:
    return (kernel.root / path / file).read_text().strip()


def test_a_new_group_has_no_set_of_its_own_and_all_of_its_parents(kernel: Kernel) -> None:
    assert says(kernel, CONTAINER, "cpuset.cpus") == ""
    assert says(kernel, CONTAINER, "cpuset.cpus.effective") == "0-7"
    assert says(kernel, CONTAINER, "cpuset.mems.effective") == "0-2"


def test_a_group_whose_parent_hands_no_cpuset_down_has_no_files_of_it(kernel: Kernel) -> None:
    kernel.mkdir(f"{CONTAINER}/inner")
    with pytest.raises(FileNotFoundError):
        kernel.write(f"{CONTAINER}/inner", "cpuset.cpus", "1")


def test_tasks_below_without_a_cpuset_have_the_one_above(kernel: Kernel) -> None:
    kernel.mkdir(f"{CONTAINER}/inner")
    kernel.attach(f"{CONTAINER}/inner", PID)
    kernel.write(CONTAINER, "cpuset.cpus", "4-5")
    assert kernel.task_allowed(PID) == {4, 5}


def test_what_is_in_force_is_what_a_set_shares_with_the_one_above(kernel: Kernel) -> None:
    kernel.write(POD, "cpuset.cpus", "2-5")
    kernel.write(CONTAINER, "cpuset.cpus", "4-7")
    assert says(kernel, CONTAINER, "cpuset.cpus.effective") == "4-5"
    assert kernel.task_allowed(PID) == {4, 5}


def test_a_set_that_shares_nothing_with_the_one_above_counts_for_nothing(kernel: Kernel) -> None:
    kernel.write(POD, "cpuset.cpus", "2-5")
    kernel.write(CONTAINER, "cpuset.cpus", "6")
    assert says(kernel, CONTAINER, "cpuset.cpus.effective") == "2-5"
    assert kernel.task_allowed(PID) == {2, 3, 4, 5}


@pytest.mark.parametrize("nothing", ["\n", ",", " "])
@pytest.mark.parametrize("file", ["cpuset.cpus", "cpuset.mems"])
def test_a_set_with_tasks_below_is_not_cleared(kernel: Kernel, file: str, nothing: str) -> None:
    kernel.write(POD, file, "1")
    with pytest.raises(OSError, match="No space left"):
        kernel.write(POD, file, nothing)
    assert says(kernel, POD, file) == "1"


def test_a_set_without_tasks_below_is_cleared(kernel: Kernel) -> None:
    kernel.write(POD, "cpuset.cpus", "1")
    kernel.exit(PID)
    kernel.write(POD, "cpuset.cpus", "\n")
    assert says(kernel, POD, "cpuset.cpus.effective") == "0-7"


def test_a_write_of_nothing_does_nothing(kernel: Kernel) -> None:
    kernel.write(POD, "cpuset.cpus", "1")
    kernel.write(POD, "cpuset.cpus", "")
    assert says(kernel, POD, "cpuset.cpus") == "1"


@pytest.mark.parametrize("version", ["6.1", "6.12"])
def test_a_pod_is_narrowed_below_its_containers_set(tmp_path: Path, version: Version) -> None:
    kernel = with_pod(tmp_path, version)
    kernel.write(CONTAINER, "cpuset.cpus", "4-5")
    kernel.write(POD, "cpuset.cpus", "5-7")
    assert says(kernel, CONTAINER, "cpuset.cpus") == "4-5"
    assert kernel.task_allowed(PID) == {5}


def test_on_5_10_a_pod_is_not_narrowed_below_its_containers_set(tmp_path: Path) -> None:
    kernel = with_pod(tmp_path, "5.10")
    kernel.write(CONTAINER, "cpuset.cpus", "4-5")
    with pytest.raises(OSError, match="busy"):
        kernel.write(POD, "cpuset.cpus", "5-7")


def test_on_5_10_a_containers_nodes_keep_its_pod_from_any_cpus_before_it_has_them_too(
    tmp_path: Path,
) -> None:
    kernel = with_pod(tmp_path, "5.10")
    kernel.write(CONTAINER, "cpuset.mems", "1")
    with pytest.raises(OSError, match="busy"):
        kernel.write(POD, "cpuset.cpus", "0-7")
    kernel.write(POD, "cpuset.mems", "0-1")
    kernel.write(POD, "cpuset.cpus", "0-7")


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("cpuset.cpus", "two", "Invalid argument"),
        ("cpuset.cpus", "8", "out of range"),
        ("cpuset.cpus", "4294967296", "too large"),
        ("cpuset.mems", "3", "Invalid argument"),
        ("cpuset.mems", "1024", "out of range"),
        ("cpuset.cpus", "1," * 30000, "too long"),
        ("cpuset.cpus.effective", "1", "Invalid argument"),
    ],
)
def test_refused(kernel: Kernel, file: str, text: str, why: str) -> None:
    with pytest.raises(OSError, match=why):
        kernel.write(POD, file, text)


def test_cpus_that_go_and_come_change_what_is_in_force_and_not_what_is_written(
    kernel: Kernel,
) -> None:
    kernel.write(CONTAINER, "cpuset.cpus", "6-7")
    kernel.offline(7)
    assert (says(kernel, CONTAINER, "cpuset.cpus"), kernel.task_allowed(PID)) == (
        "6-7",
        frozenset({6}),
    )
    kernel.offline(6)
    assert kernel.task_allowed(PID) == {0, 1, 2, 3, 4, 5}
    kernel.online(7)
    assert kernel.task_allowed(PID) == {7}


def test_an_offline_cpu_is_taken_and_counts_for_nothing(kernel: Kernel) -> None:
    kernel.offline(7)
    kernel.write(CONTAINER, "cpuset.cpus", "7")
    assert says(kernel, CONTAINER, "cpuset.cpus.effective") == "0-6"


def test_an_open_file_of_a_group_that_has_gone_takes_nothing(kernel: Kernel) -> None:
    kernel.exit(PID)
    with kernel.open(kernel.root / CONTAINER / "cpuset.cpus") as file:
        kernel.rmdir(CONTAINER)
        with pytest.raises(OSError, match="No such device"):
            file.write("1")
        kernel.mkdir(CONTAINER)
        with pytest.raises(OSError, match="No such device"):
            file.write("1")


def test_a_group_with_a_task_or_a_child_stays(kernel: Kernel) -> None:
    with pytest.raises(OSError, match="busy"):
        kernel.rmdir(CONTAINER)
    kernel.exit(PID)
    with pytest.raises(OSError, match="busy"):
        kernel.rmdir(POD)


def test_taking_the_controller_takes_what_was_written(kernel: Kernel) -> None:
    kernel.write(CONTAINER, "cpuset.cpus", "2")
    kernel.write(POD, "cgroup.subtree_control", "-cpuset")
    assert kernel.task_allowed(PID) == set(range(8))
    kernel.write(POD, "cgroup.subtree_control", "+cpuset")
    assert says(kernel, CONTAINER, "cpuset.cpus") == ""


def test_no_task_goes_between_domain_controllers(kernel: Kernel) -> None:
    with pytest.raises(OSError, match="busy"):
        kernel.attach(POD, PID)
    assert kernel.group_of(PID) == CONTAINER


def test_the_tasks_of_a_threaded_group_are_told_by_thread(kernel: Kernel) -> None:
    kernel.mkdir(f"{CONTAINER}/threads")
    kernel.write(f"{CONTAINER}/threads", "cgroup.type", "threaded")
    kernel.attach(f"{CONTAINER}/threads", PID)
    assert says(kernel, CONTAINER, "cgroup.type") == "domain threaded"
    assert says(kernel, CONTAINER, "cgroup.procs") == str(PID)
    assert says(kernel, f"{CONTAINER}/threads", "cgroup.threads") == str(PID)
    with pytest.raises(OSError, match="not supported"):
        kernel.get(kernel.root / CONTAINER / "threads/cgroup.procs")


@pytest.mark.parametrize(("version", "kept"), [("5.10", False), ("6.1", False), ("6.12", True)])
def test_newer_kernels_remember_what_a_task_asked_for(
    tmp_path: Path, version: Version, kept: bool
) -> None:
    kernel = with_pod(tmp_path, version)
    kernel.set_affinity(PID, frozenset({2, 3}))
    kernel.write(CONTAINER, "cpuset.cpus", "3-5")
    assert kernel.task_allowed(PID) == ({3} if kept else {3, 4, 5})
    kernel.write(CONTAINER, "cpuset.cpus", "6-7")
    assert kernel.task_allowed(PID) == {6, 7}
    kernel.write(CONTAINER, "cpuset.cpus", "0-7")
    assert kernel.task_allowed(PID) == ({2, 3} if kept else set(range(8)))


def test_a_file_outside_the_folder_is_never_written(kernel: Kernel, tmp_path: Path) -> None:
    outside = tmp_path / "cpuset.cpus"
    outside.write_text("0-7\n")
    (kernel.root / "link").symlink_to(outside)
    for path in (outside, kernel.root / "link"):
        with pytest.raises(OSError, match="cross-device"):
            kernel.put(path, "1")
    assert outside.read_text() == "0-7\n"
