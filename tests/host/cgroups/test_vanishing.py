"""Pods that come and go while they are looked at: each answer is one that was true."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Group, Version
from numa_agent.core.pods import QosClass
from numa_agent.host.cgroups import GoneError
from tests.host.cgroups.hierarchies import Hierarchy
from tests.machine_tree import container, container_id, cpus, pod, uid

OF = pod(1, qos=QosClass.BURSTABLE, containers=tuple(container(n) for n in range(1, 4)))
POD = f"kubepods/burstable/pod{uid(1)}"
LEAVES = [f"{POD}/{container_id(number)}" for number in range(1, 4)]


@contextmanager
def coming_and_going(machine: Hierarchy, spare: Path, *, whole: bool) -> Iterator[threading.Event]:
    """The pod, or one of its containers, is renamed away and back, again and again.

    The kernel removes a cgroup at once, as a rename does; the event is set after each round.
    """
    stop, turned = threading.Event(), threading.Event()
    paths = [POD] if whole else LEAVES

    def turn() -> None:
        rounds = 0
        while not stop.is_set():
            path = machine.folder / paths[rounds % len(paths)]
            path.rename(spare)
            spare.rename(path)
            rounds += 1
            turned.set()

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    try:
        yield turned
    finally:
        stop.set()
        thread.join(timeout=30)


def known(group: Group) -> bool:
    return group.effective_cpus == cpus("0-7")


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("whole", [True, False])
def test_what_vanishes_between_listing_and_reading_is_left_out_and_never_half_read(
    whole: bool, version: Version, tmp_path: Path
) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path, version)
    for number, leaf in enumerate(LEAVES, 1):
        machine.group(f"{leaf}/container", (number,))
    tree = machine.tree(warn=said.append)
    found = 0
    with coming_and_going(machine, tmp_path / "spare", whole=whole) as turned:
        assert turned.wait(30)
        for _ in range(300):
            groups = tree.find(OF)
            if groups is None:
                assert whole
                continue
            found += 1
            assert known(groups.group)
            for each in groups.containers:
                assert known(each.group)
                assert all(known(group) for group in each.nested)
            tree.pod_directories()
            assert tree.locate(OF) in {POD, None}
    assert found
    assert said == []


def test_a_pod_that_is_removed_while_it_is_read_is_none(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAVES[0], (1,))
    # What is said of the damaged file comes when the pod's cgroup is open and half read.
    machine.file(LEAVES[0], "cpus", "junk")

    def remove(_: str) -> None:
        shutil.rmtree(machine.folder / POD)

    assert machine.tree(warn=remove).find(OF) is None


def test_a_container_that_is_removed_while_it_is_read_is_left_out(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAVES[0], (1,)).group(LEAVES[1], (2,))
    (machine.folder / LEAVES[0] / "cgroup.events").unlink()
    (machine.folder / LEAVES[0] / "cgroup.events").mkdir()
    said: list[str] = []

    def remove(sentence: str) -> None:
        if not said:
            shutil.rmtree(machine.folder / LEAVES[0])
        said.append(sentence)

    groups = machine.tree(warn=remove).find(OF)
    assert groups is not None
    assert [each.group.path for each in groups.containers] == [LEAVES[1]]


def test_a_cgroup_that_is_removed_before_it_is_written_is_gone(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAVES[0], (1,))
    tree = machine.tree()
    groups = tree.find(OF)
    assert groups is not None
    shutil.rmtree(machine.folder / POD)
    for path in (groups.group.path, groups.containers[0].group.path):
        with pytest.raises(GoneError):
            tree.write(path, "cpus", cpus("1"))
    assert tree.find(OF) is None


def test_a_cgroup_that_is_removed_while_it_is_read_alone_is_gone(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAVES[0], (1,))
    machine.file(LEAVES[0], "cpus", "junk")

    def remove(_: str) -> None:
        shutil.rmtree(machine.folder / LEAVES[0])

    with pytest.raises(GoneError, match="removed while it was read"):
        machine.tree(warn=remove).read(LEAVES[0])
