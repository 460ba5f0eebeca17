"""Real cgroups of the machine that the tests run on, where it lets them be made."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from numa_agent.host.watch import Followed, Role, Watch
from tests.host.watch.events import created, gone, kernel_watches, write, written

HIERARCHIES = {
    "v1": [Path("/sys/fs/cgroup/cpuset")],
    "v2": [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")],
}


def make_group(version: str) -> Path:
    """A new cgroup of that version; skips where there is none to be had."""
    mark = "cgroup.controllers" if version == "v2" else "cpuset.cpus"
    for hierarchy in HIERARCHIES[version]:
        path = hierarchy / f"numa-agent-watch-test-{os.getpid()}"
        if (hierarchy / mark).exists():
            try:
                path.mkdir()
            except OSError as error:
                pytest.skip(f"{hierarchy} lets no cgroup be made: {error.strerror}")
            return path
    pytest.skip(f"no cgroup {version} hierarchy is mounted here")


@pytest.fixture(params=sorted(HIERARCHIES))
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    path = make_group(request.param)
    try:
        yield path
    finally:
        for below, _, _ in os.walk(path, topdown=False):
            os.rmdir(below)


def test_a_cgroup_s_children_are_told_as_they_come_and_go(watch: Watch, group: Path) -> None:
    (group / "pod1").mkdir()
    assert watch.follow(group, Role.CGROUP) is Followed.FOLLOWED
    assert watch.events(0) == [created(group / "pod1")]
    (group / "pod2").mkdir()
    (group / "pod1").rmdir()
    assert watch.events(0) == [created(group / "pod2"), gone(group / "pod1")]


def test_a_write_to_a_cgroup_s_set_is_told_even_with_the_value_that_it_had(
    watch: Watch, group: Path
) -> None:
    cpus = group / "cpuset.cpus"
    if not cpus.exists():
        pytest.skip("this hierarchy has no cpuset controller")
    write(cpus, "0\n")
    watch.follow(group, Role.CGROUP)
    write(cpus, "0\n")
    assert watch.events(0) == [written(cpus)]
    assert cpus.read_text() == "0\n"
    assert watch.events(0) == []


def test_removed_cgroups_keep_no_watch(watch: Watch, group: Path) -> None:
    """The kernel holds the watch of a removed cgroup until somebody ends it."""
    watch.follow(group, Role.CGROUP)
    for number in range(20):
        pod = group / f"pod{number}"
        (pod / "c1").mkdir(parents=True)
        for path in (pod, pod / "c1"):
            assert watch.follow(path, Role.CGROUP) is Followed.FOLLOWED
        (pod / "c1").rmdir()
        pod.rmdir()
        assert watch.events(0)[-1] == gone(pod)
    assert watch.followed == {group}
    assert kernel_watches(watch) == 1


def test_a_removed_cgroup_whose_parent_isn_t_followed_is_found_by_following_it_again(
    watch: Watch, group: Path
) -> None:
    pod = group / "pod1"
    pod.mkdir()
    watch.follow(pod, Role.CGROUP)
    pod.rmdir()
    assert watch.follow(pod, Role.CGROUP) is Followed.GONE
    assert kernel_watches(watch) == 0
    (pod / "c1").mkdir(parents=True)
    assert watch.follow(pod, Role.CGROUP) is Followed.FOLLOWED
    assert created(pod / "c1") in watch.events(0)
