"""Daemons by their service's cgroup and by their processes' names."""

from pathlib import Path

import pytest

from numa_agent.core.doctor.findings import Told
from numa_agent.host.services import read_services
from tests.machine_tree import Tree


def services(root: Path, *, whole: bool = True) -> Told[object]:
    return read_services(root, absent="not recorded", whole=whole)


@pytest.mark.parametrize("folder", ["system.slice", "systemd/system.slice"])
def test_a_service_runs_while_its_cgroup_is_there(folder: str, tmp_path: Path) -> None:
    place = f"sys/fs/cgroup/{folder}/irqbalance.service"
    (tmp_path / place).mkdir(parents=True)
    assert services(tmp_path).value == {"irqbalance": place}
    assert services(tmp_path, whole=False).value == {"irqbalance": place}


def test_a_process_is_known_by_its_name(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file("proc/1/comm", "systemd").file("proc/77/comm", "tuned")
    tree.file("proc/100/comm", "tuned").file("proc/self/comm", "irqbalance")
    tree.file("proc/5/comm", "irqbalance-ui")
    assert services(tmp_path).value == {"tuned": "process 77"}


def test_none_runs_where_services_or_processes_are_seen_and_none_is_theirs(
    tmp_path: Path,
) -> None:
    Tree(tmp_path).file("proc/1/comm", "init")
    assert services(tmp_path).value == {}


@pytest.mark.parametrize("whole", [True, False])
def test_where_neither_is_seen_it_isn_t_known(whole: bool, tmp_path: Path) -> None:
    found = services(tmp_path, whole=whole)
    assert found.value is None
    assert found.why == "not recorded"


def test_a_recorded_machine_need_not_have_every_service(tmp_path: Path) -> None:
    (tmp_path / "sys/fs/cgroup/system.slice/kubelet.service").mkdir(parents=True)
    assert services(tmp_path, whole=False).value is None
    assert services(tmp_path, whole=True).value == {}
