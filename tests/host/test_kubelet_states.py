"""kubelet's state files on a machine: found, absent, damaged, and replaced while they are read."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from threading import Event, Thread

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.host.kubelet import (
    read_cpu_state,
    read_memory_state,
    read_settings,
)
from tests.machine_tree import Tree, cpus
from tests.recorded import MACHINES

FOLDER = "var/lib/kubelet"
READERS = [
    pytest.param("cpu_manager_state", read_cpu_state, id="cpu"),
    pytest.param("memory_manager_state", read_memory_state, id="memory"),
]


def written(root: Path, name: str, **members: object) -> Path:
    return Tree(root).file(f"{FOLDER}/{name}", json.dumps(members)).root


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_a_recorded_machine_s_states_have_the_policies_of_its_settings(machine: Path) -> None:
    found = read_settings(machine)
    cpu, memory = read_cpu_state(machine), read_memory_state(machine)
    assert found is not None
    assert cpu is not None
    assert memory is not None
    assert cpu.policy == found[0].cpu_manager_policy
    assert memory.policy == found[0].memory_manager_policy
    for pools in memory.pools.values():
        huge = sum(pool.total for kind, pool in pools.items() if kind != "memory")
        plain = pools["memory"]
        assert plain.allocatable == plain.total - plain.system_reserved - huge


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_without_a_file_there_is_no_state(
    name: str, reader: Callable[[Path], object], tmp_path: Path
) -> None:
    assert reader(Tree(tmp_path).files(FOLDER).root) is None


@pytest.mark.parametrize(("name", "reader"), READERS)
@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"[" * 50_000])
def test_a_damaged_state_is_told_of_with_its_path(
    name: str, reader: Callable[[Path], object], content: bytes, tmp_path: Path
) -> None:
    Tree(tmp_path).raw(f"{FOLDER}/{name}", content)
    with pytest.raises(SourceError, match=f"^{tmp_path}/{FOLDER}/{name}: "):
        reader(tmp_path)


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_a_state_that_can_t_be_opened_or_leads_nowhere_is_told_of(
    name: str, reader: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / FOLDER / name
    path.mkdir(parents=True)
    with pytest.raises(SourceError, match="Is a directory"):
        reader(tmp_path)
    path.rmdir()
    path.symlink_to("/nowhere/state")
    with pytest.raises(SourceError, match="a link to /nowhere/state, which isn't there"):
        reader(tmp_path)


def test_cpus_of_whole_pods_are_exclusive_too(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        "cpu_manager_state",
        policyName="static",
        entries={"u": {"a": "2"}},
        podEntries={"u": {"cpuSet": "2-3"}, "v": {"cpuSet": "6"}},
    )
    state = read_cpu_state(root)
    assert state is not None
    assert state.by_pod == {"u": cpus("2-3"), "v": cpus("6")}


def test_entries_by_container_are_read_but_give_no_pod_s_exclusive_cpus(tmp_path: Path) -> None:
    # Whose they are is unknown, so that binding any pod might write to their container's cgroup.
    holder = "a" * 64
    root = written(tmp_path, "cpu_manager_state", policyName="static", entries={holder: "2-3"})
    state = read_cpu_state(root)
    assert state is not None
    assert state.by_pod == {holder: cpus("2-3")}
    assert state.unknown_holders == (holder,)


def test_a_state_that_is_replaced_while_it_is_read_is_one_state_whole(tmp_path: Path) -> None:
    path = tmp_path / FOLDER / "cpu_manager_state"
    many = {f"u{number}": {"c": str(number)} for number in range(2, 2000)}
    texts = [
        json.dumps({"policyName": "static", "defaultCpuSet": "0", "entries": many}),
        json.dumps({"policyName": "static", "defaultCpuSet": "1"}),
    ]
    written(tmp_path, "cpu_manager_state", policyName="static", defaultCpuSet="1")
    done = Event()

    def replace() -> None:
        for text in cycle(texts):
            if done.is_set():
                return
            # As kubelet does it: a file beside, then a rename.
            beside = path.with_suffix(".tmp")
            beside.write_text(text)
            beside.rename(path)

    writer = Thread(target=replace)
    writer.start()
    try:
        seen = {(len(state.shared), len(state.entries)) for state in _read_often(tmp_path)}
    finally:
        done.set()
        writer.join(timeout=10)
    assert seen <= {(1, 1998), (1, 0)}


def _read_often(root: Path) -> Iterator[CpuManagerState]:
    for _ in range(300):
        state = read_cpu_state(root)
        assert state is not None
        yield state
