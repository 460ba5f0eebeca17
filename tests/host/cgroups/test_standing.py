"""How a process stands to the cpuset hierarchy, found without a write."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.core.doctor.facts import CgroupFacts, Kubepods
from numa_agent.host.cgroups.standing import read_standing
from tests.host.cgroups.hierarchies import Hierarchy
from tests.machine_tree import CGROUP, cpus


def standing(root: Path, *, live: bool = True, cgroup_root: str = "") -> CgroupFacts:
    there = (root / CGROUP).is_dir()
    return read_standing(root, cgroup_root, absent="not recorded", live=live, there=there)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own is its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def kubepods(hierarchy: Hierarchy, path: str, controllers: str = "cpuset cpu") -> Hierarchy:
    hierarchy.group(path, processes=(7,))
    return hierarchy.file(path, "cgroup.subtree_control", controllers)


def test_a_hierarchy_that_may_be_written_is_told_with_kubelet_s_cgroup(tmp_path: Path) -> None:
    kubepods(Hierarchy(tmp_path), "kubepods.slice")
    found = standing(tmp_path)
    assert found.version.value is Version.V2
    assert found.version.source == CGROUP
    assert found.read_only.value is False
    assert found.kubepods.value == (
        Kubepods(path="kubepods.slice", populated=True, handed_on=True, writable=True),
    )


def test_on_v1_every_cgroup_has_the_controller_and_no_partition_is_there(tmp_path: Path) -> None:
    Hierarchy(tmp_path, Version.V1).group("kubepods/burstable")
    found = standing(tmp_path)
    assert found.version.value is Version.V1
    assert found.isolated.value == frozenset()
    assert found.kubepods.value is not None
    assert [(each.path, each.handed_on) for each in found.kubepods.value] == [("kubepods", True)]


def test_a_controller_that_isn_t_handed_on_is_told(tmp_path: Path) -> None:
    kubepods(Hierarchy(tmp_path), "kubepods", "cpu memory")
    found = standing(tmp_path).kubepods.value
    assert found is not None
    assert [each.handed_on for each in found] == [False]


def test_both_drivers_cgroups_are_told_with_the_one_that_is_used(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path).group("kubepods/burstable")
    hierarchy.file("kubepods", "cgroup.events", "populated 0")
    kubepods(hierarchy, "kubepods.slice")
    found = standing(tmp_path).kubepods.value
    assert found is not None
    assert {(each.path, each.populated) for each in found} == {
        ("kubepods", False),
        ("kubepods.slice", True),
    }


@pytest.mark.parametrize(
    ("cgroup_root", "path"),
    [("/kubelet", "kubelet/kubepods"), ("/kubelet", "kubelet.slice/kubelet-kubepods.slice")],
)
def test_a_cgroup_root_is_looked_in(cgroup_root: str, path: str, tmp_path: Path) -> None:
    kubepods(Hierarchy(tmp_path), path)
    found = standing(tmp_path, cgroup_root=cgroup_root).kubepods.value
    assert found is not None
    assert [each.path for each in found] == [path]


def test_without_kubelet_there_is_no_cgroup_of_its(tmp_path: Path) -> None:
    Hierarchy(tmp_path).group("system.slice/kubepods.service")
    assert standing(tmp_path).kubepods.value == ()


def test_a_place_without_a_hierarchy_is_a_failure_where_it_is_this_machine_s(
    tmp_path: Path,
) -> None:
    (tmp_path / CGROUP).mkdir(parents=True)
    assert standing(tmp_path).version.failed
    assert "no cgroup hierarchy is mounted" in standing(tmp_path).version.why
    assert not standing(tmp_path, live=False).version.failed


def test_a_machine_that_was_recorded_without_cgroups_has_none(tmp_path: Path) -> None:
    found = standing(tmp_path, live=False)
    assert not found.version.failed
    assert found.version.why == found.kubepods.why == "not recorded"


def test_what_is_permitted_is_asked_of_this_machine_alone(tmp_path: Path) -> None:
    kubepods(Hierarchy(tmp_path), "kubepods")
    found = standing(tmp_path, live=False)
    assert found.read_only.value is None
    assert found.kubepods.value is not None
    assert [each.writable for each in found.kubepods.value] == [None]


@pytest.mark.parametrize(("text", "isolated"), [("", ""), ("4-5", "4-5")])
def test_isolated_partitions_are_told(text: str, isolated: str, tmp_path: Path) -> None:
    Hierarchy(tmp_path).file("", "cpuset.cpus.isolated", text)
    assert standing(tmp_path).isolated.value == cpus(isolated)


@pytest.mark.parametrize("data", [b"what\n", b"\xff\n"])
def test_a_damaged_list_of_partitions_isn_t_known(data: bytes, tmp_path: Path) -> None:
    Hierarchy(tmp_path).machine.raw(f"{CGROUP}/cpuset.cpus.isolated", data)
    assert standing(tmp_path).isolated.value is None


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user")
def test_a_user_who_may_not_write_is_told_so(open_folder: Path) -> None:
    kubepods(Hierarchy(open_folder), "kubepods")
    program = (
        "import os, sys; from pathlib import Path;"
        "from numa_agent.host.cgroups.standing import read_standing;"
        "os.setuid(65534);"
        "found = read_standing(Path(sys.argv[1]), '', absent='', live=True, there=True);"
        "print([each.writable for each in found.kubepods.value])"
    )
    command = [sys.executable, "-c", program, str(open_folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[False]\n"
