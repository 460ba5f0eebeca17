"""Memory that is free on each NUMA node now."""

from pathlib import Path

import pytest

from numa_agent.host.sysfs.free import read_free_memory
from tests.machine_tree import NODE, Tree


def node(root: Path, **kilobytes: int) -> Path:
    lines = [f"Node 1 {name}:   {size} kB" for name, size in kilobytes.items()]
    return Tree(root).file(f"{NODE}/node1/meminfo", "\n".join(lines)).root


def free(root: Path) -> int | None:
    return read_free_memory(root, [1])[1]


def test_free_pages_and_those_that_can_be_taken_back_count(tmp_path: Path) -> None:
    found = free(node(tmp_path, MemTotal=1000, MemFree=100, FilePages=300, SReclaimable=50))
    assert found == 450 * 1024


def test_shared_memory_and_pages_still_to_be_written_arent_free(tmp_path: Path) -> None:
    found = free(
        node(tmp_path, MemTotal=1000, MemFree=100, FilePages=300, Shmem=200, Dirty=30, Writeback=5)
    )
    assert found == 165 * 1024


def test_a_node_never_has_more_free_than_it_has(tmp_path: Path) -> None:
    assert free(node(tmp_path, MemTotal=200, MemFree=150, FilePages=300)) == 200 * 1024


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"Node 1 MemTotal: 5 kB\n", b"\xff\n", b"MemFree"]
)
def test_a_file_that_doesnt_tell_leaves_it_unknown(content: bytes, tmp_path: Path) -> None:
    assert free(Tree(tmp_path).raw(f"{NODE}/node1/meminfo", content).root) is None


def test_without_the_file_or_the_root_it_is_unknown(tmp_path: Path) -> None:
    assert read_free_memory(tmp_path, [0, 1]) == {0: None, 1: None}
    assert read_free_memory(tmp_path / "nowhere", [0]) == {0: None}


def test_this_computers_nodes_have_some() -> None:
    found = read_free_memory(Path("/"), [0])[0]
    assert found is None or found > 0
