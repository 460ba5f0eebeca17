"""Where each task of a cgroup may run, by its own status, and which tasks aren't seen."""

import os
from pathlib import Path

import pytest

from numa_agent.core.cgroups import TaskAllowed, TasksAllowed, Version
from numa_agent.host.cgroups.tasks import MAX_TASKS
from tests.host.cgroups.hierarchies import UID, Hierarchy
from tests.machine_tree import container_id, cpus

LEAF = f"kubepods/pod{UID}/{container_id(1)}"


def status(machine: Hierarchy, task: int | str, **lists: str) -> None:
    text = f"Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{lists.get('cpus', '0-7')}\n"
    text += f"Mems_allowed:\t3\nMems_allowed_list:\t{lists.get('mems', '0-1')}"
    machine.machine.file(f"proc/{task}/status", f"{lists.get('head', '')}{text}")


def task(number: int, cpu_list: str = "0-7", mems: str = "0-1") -> TaskAllowed:
    return TaskAllowed(id=number, cpus=cpus(cpu_list), mems=cpus(mems))


def allowed(machine: Hierarchy) -> TasksAllowed:
    return machine.tree().tasks_allowed(LEAF)


@pytest.mark.parametrize("version", Version)
def test_each_task_s_own_masks_are_read(version: Version, tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path, version).group(LEAF, (12, 7))
    status(machine, 7, cpus="2-3", mems="1")
    status(machine, 12)
    assert allowed(machine) == TasksAllowed(tasks=(task(7, "2-3", "1"), task(12)), unseen=0)


@pytest.mark.parametrize("version", Version)
def test_threads_are_tasks_of_their_own(version: Version, tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path, version).group(LEAF, (7,))
    machine.file(LEAF, "threads", "7\n8")
    status(machine, 7)
    status(machine, 8, cpus="5")
    assert [found.id for found in allowed(machine).tasks] == [7, 8]


def test_a_threaded_cgroup_is_read_though_it_lists_no_processes(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    machine.file(LEAF, "cgroup.type", "threaded")
    # The kernel's list of processes there can't be read (ENOTSUP), as a directory's can't.
    (machine.folder / LEAF / "cgroup.procs").unlink()
    (machine.folder / LEAF / "cgroup.procs").mkdir()
    status(machine, 7)
    assert allowed(machine) == TasksAllowed(tasks=(task(7),), unseen=0)


def test_without_a_list_of_threads_the_processes_are_read(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    (machine.folder / LEAF / "cgroup.threads").unlink()
    status(machine, 7)
    assert allowed(machine) == TasksAllowed(tasks=(task(7),), unseen=0)


def test_a_task_of_another_pid_namespace_is_counted_and_not_seen(tmp_path: Path) -> None:
    # Without hostPID the kernel lists each of them as 0.
    machine = Hierarchy(tmp_path).group(LEAF, (0, 0, 7))
    status(machine, 7)
    status(machine, 0)
    assert allowed(machine) == TasksAllowed(tasks=(task(7),), unseen=2)


def test_without_a_procfs_no_task_is_seen(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7, 0, 9))
    assert allowed(machine) == TasksAllowed(tasks=(), unseen=3)


def test_ids_of_another_namespace_than_the_procfs_are_not_looked_up(tmp_path: Path) -> None:
    # The host's procfs in a container without hostPID: there 7 is somebody else.
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    status(machine, 7)
    status(machine, "self", head="NSpid:\t4711\t7\n")
    assert allowed(machine) == TasksAllowed(tasks=(), unseen=1)
    status(machine, "self", head="NSpid:\t4711\n")
    assert allowed(machine) == TasksAllowed(tasks=(task(7),), unseen=0)


def test_a_hidden_task_is_not_seen(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7, 8))
    status(machine, 7)
    assert allowed(machine) == TasksAllowed(tasks=(task(7),), unseen=1)


@pytest.mark.parametrize(
    ("lists", "seen"),
    [
        ({"cpus": "junk"}, TaskAllowed(id=7, cpus=None, mems=cpus("0-1"))),
        ({"mems": ""}, TaskAllowed(id=7, cpus=cpus("0-7"), mems=None)),
        ({"cpus": "0-99999999"}, TaskAllowed(id=7, cpus=None, mems=cpus("0-1"))),
    ],
)
def test_a_damaged_mask_is_unknown(
    lists: dict[str, str], seen: TaskAllowed, tmp_path: Path
) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    status(machine, 7, **lists)
    assert allowed(machine) == TasksAllowed(tasks=(seen,), unseen=0)


def test_an_old_kernel_s_status_without_memory_nodes_is_half_known(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    machine.machine.file("proc/7/status", "Cpus_allowed_list:\t3")
    assert allowed(machine).tasks == (TaskAllowed(id=7, cpus=cpus("3"), mems=None),)


def test_tasks_are_read_up_to_a_bound_and_the_rest_is_not_seen(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, tuple(range(1, MAX_TASKS + 4)))
    (tmp_path / "proc").mkdir()
    answer = allowed(machine)
    assert answer == TasksAllowed(tasks=(), unseen=MAX_TASKS + 3)


def test_a_list_of_junk_names_no_task(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    (tmp_path / "proc").mkdir()
    machine.file(LEAF, "threads", "x\n-7\n../1\n99999999999999\n\n")
    assert allowed(machine) == TasksAllowed(tasks=(), unseen=0)


def test_this_process_is_seen_through_its_own_procfs(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF, (os.getpid(),))
    (tmp_path / "proc").symlink_to("/proc")
    (own,) = allowed(machine).tasks
    assert own.id == os.getpid()
    assert own.cpus is not None
    assert own.cpus == os.sched_getaffinity(0)
