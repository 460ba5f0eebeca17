"""What kubelet keeps on disk: its exclusive CPUs and its cgroupRoot."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.errors import SourceError
from numa_agent.host.kubelet import read_cgroup_root, read_cpu_state
from tests.machine_tree import Tree, cpus

STATE = "var/lib/kubelet/cpu_manager_state"
CONFIG = "var/lib/kubelet/config.yaml"


def exclusive(root: Path) -> Mapping[str, CpuSet]:
    found = read_cpu_state(root)
    return {} if found is None else found.by_pod


def state(root: Path, **fields: object) -> Path:
    return Tree(root).file(STATE, json.dumps(fields)).root


def test_the_static_policy_s_cpus_are_those_of_all_a_pod_s_containers(tmp_path: Path) -> None:
    entries = {"u1": {"a": "2-3", "b": "6"}, "u2": {"c": "4,12"}}
    root = state(tmp_path, policyName="static", defaultCpuSet="0-1", entries=entries, checksum=1)
    assert exclusive(root) == {"u1": cpus("2-3,6"), "u2": cpus("4,12")}


def test_the_static_policy_without_entries_gave_nothing_out(tmp_path: Path) -> None:
    assert exclusive(state(tmp_path, policyName="static", defaultCpuSet="0-7")) == {}


def test_with_policy_none_nothing_is_exclusive(tmp_path: Path) -> None:
    root = state(tmp_path, policyName="none", defaultCpuSet="", entries={"u1": {"a": "2"}})
    assert exclusive(root) == {}


def test_without_a_state_file_nothing_is_exclusive(tmp_path: Path) -> None:
    assert exclusive(Tree(tmp_path).file(CONFIG, "").root) == {}


def test_without_kubelet_s_directory_nothing_is_known_of_its_cpus(tmp_path: Path) -> None:
    # A DaemonSet that lacks the mount must not trample on them.
    with pytest.raises(SourceError, match="mount the host's kubelet directory"):
        exclusive(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\n", b"{", b'{"policyName": "static"', b"\xff\xfe", b"[" * 50_000),
        b'{"policyName": "static", "entries": {"u1": {"a": "2-"}}}',
        b'{"policyName": "static", "entries": {"u1": {"a": "3-2"}}}',
    ],
)
def test_a_state_that_can_t_be_understood_is_told_of_and_never_taken_as_none(
    content: bytes, tmp_path: Path
) -> None:
    Tree(tmp_path).raw(STATE, content)
    with pytest.raises(SourceError, match=f"^{tmp_path / STATE}: "):
        exclusive(tmp_path)


def test_a_state_that_can_t_be_opened_is_told_of(tmp_path: Path) -> None:
    (tmp_path / STATE).mkdir(parents=True)
    with pytest.raises(SourceError, match="Is a directory"):
        exclusive(tmp_path)


@pytest.mark.parametrize(
    ("content", "cgroup_root"),
    [
        ("cgroupRoot: /kubelet", "/kubelet"),
        ("kind: KubeletConfiguration\ncgroupRoot: /\ncgroupDriver: systemd", "/"),
        ("kind: KubeletConfiguration", ""),
        ("cgroupRoot: ''", ""),
        ("cgroupRoot:", ""),
        ("- a\n- b", ""),
        ("", ""),
    ],
)
def test_the_cgroup_root_is_the_one_in_kubelet_s_configuration(
    content: str, cgroup_root: str, tmp_path: Path
) -> None:
    assert read_cgroup_root(Tree(tmp_path).file(CONFIG, content).root) == cgroup_root


def test_without_a_configuration_file_there_is_no_cgroup_root(tmp_path: Path) -> None:
    assert read_cgroup_root(tmp_path) == ""


@pytest.mark.parametrize("content", [b"a: [", b"\x00", b"\xff", b"a: b: c"])
def test_a_configuration_that_can_t_be_read_is_told_of(content: bytes, tmp_path: Path) -> None:
    Tree(tmp_path).raw(CONFIG, content)
    with pytest.raises(SourceError, match=f"^{tmp_path / CONFIG}: "):
        read_cgroup_root(tmp_path)


@pytest.mark.parametrize("entries", [["x"], "x", {"u": ["2-3"]}, {"u": {"c": 5}}, {"u": None}])
def test_a_static_state_of_another_form_is_told_of_and_never_taken_as_none(
    entries: object, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="exclusive CPUs are unknown"):
        exclusive(state(tmp_path, policyName="static", entries=entries))


@pytest.mark.parametrize("content", ["[]", "{}", "null", '{"policyName": 7}'])
def test_a_state_without_a_policy_is_told_of(content: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="policyName"):
        exclusive(Tree(tmp_path).file(STATE, content).root)


@pytest.mark.parametrize("content", ["x: 2026-13-45", "x: !!int x", "[" * 5000])
def test_a_configuration_of_impossible_values_is_told_of(content: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"config\.yaml"):
        read_cgroup_root(Tree(tmp_path).file(CONFIG, content).root)
