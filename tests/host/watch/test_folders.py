"""Plain folders, as a recorded machine has them, through the kernel's real inotify."""

import os
from pathlib import Path

import pytest

from numa_agent.host.watch import Followed, Role, Watch
from tests.host.watch.events import created, gone, kernel_watches, write, written


@pytest.fixture
def pods(tmp_path: Path, watch: Watch) -> Path:
    """A followed QoS directory, in a folder that isn't followed."""
    path = tmp_path / "kubepods"
    path.mkdir()
    assert watch.follow(path, Role.CGROUP) is Followed.FOLLOWED
    return path


def test_a_child_is_told_when_it_is_made_and_when_it_is_removed(watch: Watch, pods: Path) -> None:
    (pods / "pod1").mkdir()
    assert watch.events(0) == [created(pods / "pod1")]
    (pods / "pod1").rmdir()
    assert watch.events(0) == [gone(pods / "pod1")]
    assert watch.events(0) == []


def test_children_that_are_there_already_are_told(watch: Watch, tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
    (tmp_path / "cgroup.procs").touch()
    assert watch.follow(tmp_path, Role.CGROUP) is Followed.FOLLOWED
    assert watch.events(0) == [created(tmp_path / "a"), created(tmp_path / "b")]


def test_to_follow_again_lists_nothing_again(watch: Watch, pods: Path) -> None:
    (pods / "pod1").mkdir()
    assert watch.events(0) == [created(pods / "pod1")]
    assert watch.follow(pods, Role.CGROUP) is Followed.FOLLOWED
    assert watch.events(0) == []
    assert kernel_watches(watch) == 1


def test_what_was_made_before_its_parent_was_followed_isn_t_missed(
    watch: Watch, pods: Path
) -> None:
    pod = pods / "pod1"
    (pod / "c1").mkdir(parents=True)
    assert watch.events(0) == [created(pod)]
    (pod / "c2").mkdir()
    watch.follow(pod, Role.CGROUP)
    (pod / "c3").mkdir()
    (pod / "c1").rmdir()
    assert watch.events(0) == [
        *(created(pod / name) for name in ("c1", "c2", "c3")),
        gone(pod / "c1"),
    ]


@pytest.mark.parametrize("name", ["cpuset.cpus", "cpuset.mems", "cpus", "mems"])
def test_a_write_to_a_set_is_told_once(watch: Watch, pods: Path, name: str) -> None:
    (pods / name).touch()
    watch.events(0)
    write(pods / name, "0-3\n")
    assert watch.events(0) == [written(pods / name)]


def test_the_event_says_which_file_to_read_and_compare(watch: Watch, pods: Path) -> None:
    (pods / "cpuset.cpus").write_text("4-5\n")
    (event,) = watch.events(0)
    assert event.target.read_text() == "4-5\n"


def test_a_set_that_is_renamed_into_place_is_told_as_written(watch: Watch, pods: Path) -> None:
    (pods / "new").write_text("0\n")
    (pods / "new").rename(pods / "cpuset.cpus")
    assert watch.events(0) == [written(pods / "cpuset.cpus")]


@pytest.mark.parametrize(
    "name", ["cpu.max", "cgroup.procs", "memory.max", "cpuset.cpus.partition", "tasks"]
)
def test_writes_to_other_files_are_not_told(watch: Watch, pods: Path, name: str) -> None:
    (pods / name).touch()
    write(pods / name, "1\n")
    assert watch.events(0) == []


def test_reading_is_not_told(watch: Watch, pods: Path) -> None:
    (pods / "cpuset.cpus").write_text("0\n")
    watch.events(0)
    (pods / "cpuset.cpus").read_text()
    list(pods.iterdir())
    assert watch.events(0) == []


def test_a_folder_named_like_a_set_is_a_child(watch: Watch, pods: Path) -> None:
    (pods / "cpuset.cpus").mkdir()
    assert watch.events(0) == [created(pods / "cpuset.cpus")]


def test_kubelet_s_state_is_told_when_it_is_renamed_into_place(
    watch: Watch, tmp_path: Path
) -> None:
    (tmp_path / "cpu_manager_state").write_text("{}")
    watch.follow(tmp_path, Role.STATE)
    assert watch.events(0) == []
    (tmp_path / ".123.tmp").write_text("{}")
    (tmp_path / ".123.tmp").rename(tmp_path / "cpu_manager_state")
    (tmp_path / "memory_manager_state").write_text("{}")
    assert watch.events(0) == [
        written(tmp_path / "cpu_manager_state"),
        written(tmp_path / "memory_manager_state"),
    ]


def test_kubelet_s_state_is_told_when_it_is_removed(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "cpu_manager_state").write_text("{}")
    watch.follow(tmp_path, Role.STATE)
    (tmp_path / "cpu_manager_state").unlink()
    assert watch.events(0) == [gone(tmp_path / "cpu_manager_state")]


def test_other_things_in_kubelet_s_folder_are_not_told(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    watch.follow(tmp_path, Role.STATE)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "pods").rmdir()
    (tmp_path / "allocated_pods_state").write_text("{}")
    assert watch.events(0) == []


def test_kubelet_s_folder_may_be_a_link_to_another_disk(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "kubelet").symlink_to("disk")
    assert watch.follow(tmp_path / "kubelet", Role.STATE) is Followed.FOLLOWED
    (tmp_path / "disk" / "cpu_manager_state").write_text("{}")
    assert watch.events(0) == [written(tmp_path / "kubelet" / "cpu_manager_state")]


def test_a_followed_directory_that_is_removed_is_told_and_followed_no_more(
    watch: Watch, pods: Path
) -> None:
    pods.rmdir()
    assert watch.events(0) == [gone(pods)]
    assert watch.followed == frozenset()
    assert watch.degraded is None
    assert watch.follow(pods, Role.CGROUP) is Followed.GONE


def test_a_followed_directory_that_is_renamed_has_gone(watch: Watch, pods: Path) -> None:
    pods.rename(pods.with_name("elsewhere"))
    assert watch.events(0) == [gone(pods)]
    (pods.with_name("elsewhere") / "pod1").mkdir()
    assert watch.events(0) == []
    assert kernel_watches(watch) == 0


def test_a_directory_that_is_replaced_is_told_and_can_be_followed_anew(
    watch: Watch, pods: Path
) -> None:
    pod = pods / "pod1"
    pod.mkdir()
    watch.follow(pod, Role.CGROUP)
    watch.events(0)
    pod.rmdir()
    pod.mkdir()
    told = watch.events(0)
    assert [event for event in told if event.target == pod][-1] == created(pod)
    assert pod not in watch.followed
    assert watch.follow(pod, Role.CGROUP) is Followed.FOLLOWED
    (pod / "c1").mkdir()
    assert watch.events(0) == [created(pod / "c1")]


def test_the_late_end_of_a_replaced_directory_doesn_t_end_the_new_one(
    watch: Watch, pods: Path
) -> None:
    pod = pods / "pod1"
    pod.mkdir()
    watch.follow(pod, Role.CGROUP)
    held = os.open(pod, os.O_RDONLY)
    pod.rmdir()
    pod.mkdir()
    # Who holds a removed directory open puts off the kernel's word that it has gone.
    os.close(held)
    assert watch.events(0)[-1] == created(pod)
    watch.follow(pod, Role.CGROUP)
    (pod / "c1").mkdir()
    assert watch.events(0) == [created(pod / "c1")]
    assert watch.followed == {pods, pod}


def test_a_directory_that_was_replaced_without_a_word_is_found_by_following_it_again(
    watch: Watch, pods: Path
) -> None:
    held = os.open(pods, os.O_RDONLY)
    pods.rmdir()
    (pods / "pod1").mkdir(parents=True)
    assert watch.events(0) == []
    assert watch.follow(pods, Role.CGROUP) is Followed.FOLLOWED
    assert watch.events(0) == [created(pods / "pod1")]
    os.close(held)
    assert watch.events(0) == []
    assert kernel_watches(watch) == 1


def test_what_is_below_a_directory_that_has_gone_is_followed_no_more(
    watch: Watch, pods: Path, tmp_path: Path
) -> None:
    container = pods / "pod1" / "c1"
    container.mkdir(parents=True)
    beside = pods / "pod10"
    beside.mkdir()
    for path in (container, beside):
        watch.follow(path, Role.CGROUP)
    (pods / "pod1").rename(tmp_path / "elsewhere")
    assert gone(pods / "pod1") in watch.events(0)
    assert watch.followed == {pods, beside}
    assert kernel_watches(watch) == 2


def test_a_directory_that_vanished_before_it_is_followed_is_no_fault(
    watch: Watch, tmp_path: Path
) -> None:
    assert watch.follow(tmp_path / "pod1", Role.CGROUP) is Followed.GONE
    assert watch.degraded is None
    assert watch.events(0) == []


def test_a_link_among_the_cgroups_is_refused(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "pod1").symlink_to("elsewhere")
    assert watch.follow(tmp_path / "pod1", Role.CGROUP) is Followed.REFUSED
    assert watch.degraded == (
        f"1 directory isn't followed, list periodically: {tmp_path}/pod1: Not a directory"
        " (it is no directory, or a link to one)"
    )


def test_a_directory_that_is_forgotten_tells_nothing(watch: Watch, pods: Path) -> None:
    pod = pods / "pod1"
    pod.mkdir()
    watch.follow(pod, Role.CGROUP)
    watch.events(0)
    watch.forget(pods)
    watch.forget(pods / "never followed")
    (pods / "pod2").mkdir()
    (pod / "c1").mkdir()
    assert watch.events(0) == [created(pod / "c1")]
    assert kernel_watches(watch) == 1


def test_to_forget_what_was_refused_ends_being_degraded(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert watch.follow(tmp_path / "file", Role.CGROUP) is Followed.REFUSED
    watch.forget(tmp_path / "file")
    assert watch.degraded is None


def test_a_directory_with_two_paths_is_told_under_the_one_given_last(
    watch: Watch, pods: Path, tmp_path: Path
) -> None:
    (pods / "pod1").mkdir()
    watch.events(0)
    (tmp_path / "link").symlink_to("kubepods")
    for path in (pods / "pod1", tmp_path / "link" / "pod1"):
        watch.follow(path, Role.CGROUP)
    (pods / "pod1" / "c1").mkdir()
    assert watch.events(0) == [created(tmp_path / "link" / "pod1" / "c1")]
    assert watch.followed == {pods, tmp_path / "link" / "pod1"}


def test_a_directory_may_change_its_role(watch: Watch, pods: Path) -> None:
    (pods / "pod1").mkdir()
    watch.events(0)
    watch.follow(pods, Role.STATE)
    (pods / "pod2").mkdir()
    (pods / "cpu_manager_state").touch()
    assert watch.events(0) == [written(pods / "cpu_manager_state")]
    watch.follow(pods, Role.CGROUP)
    assert watch.events(0) == [created(pods / "pod1"), created(pods / "pod2")]


def test_a_name_that_is_no_text_is_told_as_python_lists_it(watch: Watch, pods: Path) -> None:
    os.mkdir(os.fsencode(pods) + b"/\xff")
    (event,) = watch.events(0)
    assert [event.name] == os.listdir(pods)
    assert watch.follow(event.target, Role.CGROUP) is Followed.FOLLOWED
