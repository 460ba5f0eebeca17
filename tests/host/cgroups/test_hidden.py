"""Tasks that cgroup v1 doesn't list: those of PID namespaces that aren't seen from here."""

from pathlib import Path

import pytest

from numa_agent.core.cgroups import TasksAllowed, Version
from tests.host.cgroups.hierarchies import UID, Hierarchy
from tests.machine_tree import CGROUP, container_id, pod

LEAF = f"kubepods/pod{UID}/{container_id(1)}"
INSIDE = f"{LEAF}/inside"


def machine_with(root: Path, counts: dict[str, str]) -> Hierarchy:
    """A v1 machine whose pids controller counts so many in these cgroups; no procfs."""
    machine = Hierarchy(root, Version.V1)
    for path, count in counts.items():
        machine.group(path)
        machine.machine.file(f"{CGROUP}/pids/{path}/pids.current", count)
    return machine


@pytest.mark.parametrize(("count", "populated"), [("3", True), ("0", False)])
def test_the_pids_controller_tells_whether_a_task_is_there(
    count: str, populated: bool, tmp_path: Path
) -> None:
    machine = machine_with(tmp_path, {LEAF: count})
    # A pod without hostPID has some of the machine's files there.
    machine.machine.file("proc/meminfo", "MemTotal: 1 kB")
    tree = machine.tree()
    groups = tree.find(pod(1))
    assert groups is not None
    assert groups.containers[0].group.populated is populated
    assert groups.group.populated is (populated or None)
    assert tree.tasks_allowed(LEAF) == TasksAllowed(tasks=(), unseen=int(count))


def test_those_of_cgroups_below_are_theirs(tmp_path: Path) -> None:
    tree = machine_with(tmp_path, {LEAF: "5", INSIDE: "5"}).tree()
    groups = tree.find(pod(1))
    assert groups is not None
    [only] = groups.containers
    assert (only.group.populated, only.nested[0].populated) == (True, True)
    assert tree.tasks_allowed(LEAF).unseen == 0
    assert tree.tasks_allowed(INSIDE).unseen == 5


@pytest.mark.parametrize("count", ["", "many", "-"])
def test_what_cant_be_read_tells_nothing(count: str, tmp_path: Path) -> None:
    tree = machine_with(tmp_path, {LEAF: count}).tree()
    assert tree.read(LEAF).populated is None


def test_without_the_controller_nothing_is_told(tmp_path: Path) -> None:
    tree = Hierarchy(tmp_path, Version.V1).group(LEAF).tree()
    groups = tree.find(pod(1))
    assert groups is not None
    assert groups.containers[0].group.populated is None


def test_a_procfs_that_shows_all_tasks_is_believed(tmp_path: Path) -> None:
    # The kernel moved them to the cgroup above, and the pids controller doesn't know.
    machine = machine_with(tmp_path, {LEAF: "3"})
    machine.machine.file("proc/1/status", "Name: init")
    tree = machine.tree()
    groups = tree.find(pod(1))
    assert groups is not None
    assert groups.containers[0].group.populated is False
    assert tree.tasks_allowed(LEAF).unseen == 0


def test_on_v2_a_list_without_tasks_is_whole(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    (machine.folder / LEAF / "cgroup.events").unlink()
    groups = machine.tree().find(pod(1))
    assert groups is not None
    assert groups.containers[0].group.populated is False
