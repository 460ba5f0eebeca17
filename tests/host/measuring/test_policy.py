"""Memory policy on this kernel: where pages are, and what a process that is started inherits."""

import ctypes
import mmap
import os
import subprocess
from pathlib import Path

import pytest

from numa_agent.core import cpulist
from numa_agent.core.errors import SourceError
from numa_agent.host.measuring import placed
from numa_agent.host.measuring.calls import NotAllowedError, call, refused
from numa_agent.host.measuring.limits import read_mems
from numa_agent.host.measuring.policy import move, page_nodes, prefer
from tests.host.measuring.able import needs_policy

pytestmark = needs_policy

NODE = min(read_mems())
CPU = min(os.sched_getaffinity(0))
PAGES = 300


def test_pages_are_nowhere_before_they_are_written_and_then_on_their_node() -> None:
    size = PAGES * mmap.PAGESIZE
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as buffer:
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        prefer(address, size, NODE)
        assert sum(count for node, count in page_nodes(address, size).items() if node < 0) == PAGES
        buffer.write(b"\1" * size)
        assert page_nodes(address, size) == {NODE: PAGES}


def test_a_node_that_isn_t_there_can_t_be_had() -> None:
    with mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as buffer:
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        with pytest.raises(OSError, match="Invalid argument"):
            prefer(address, mmap.PAGESIZE, 1000)


def shown(name: str) -> str:
    return subprocess.run(
        ["cat", f"/proc/self/{name}"], check=True, capture_output=True, text=True
    ).stdout


def test_what_is_started_in_the_block_has_the_cpus_and_the_memory_and_we_have_our_own() -> None:
    before = os.sched_getaffinity(0)
    with placed(frozenset({CPU}), NODE):
        maps, status = shown("numa_maps"), shown("status")
    assert f"Cpus_allowed_list:\t{CPU}\n" in status
    assert {line.split()[1] for line in maps.splitlines()} == {f"prefer:{NODE}"}
    assert os.sched_getaffinity(0) == before
    assert {line.split()[1] for line in shown("numa_maps").splitlines()} == {"default"}
    assert f"Cpus_allowed_list:\t{cpulist.render(before)}\n" in shown("status")


def test_unbound_leaves_memory_as_it_is() -> None:
    with placed(frozenset(os.sched_getaffinity(0)), None):
        assert {line.split()[1] for line in shown("numa_maps").splitlines()} == {"default"}


def test_a_policy_of_before_comes_back() -> None:
    with placed(frozenset({CPU}), NODE):
        with placed(frozenset({CPU}), NODE):
            pass
        assert f"prefer:{NODE}" in shown("numa_maps")


def test_cpus_that_can_t_be_had_are_named_and_nothing_stays_changed() -> None:
    before = os.sched_getaffinity(0)
    with (
        pytest.raises(SourceError, match=r"CPUs 8000 can't be run on"),
        placed(frozenset({8000}), NODE),
    ):
        pytest.fail("it isn't begun")
    with (
        pytest.raises(SourceError, match=r"of CPUs \S*8000 the cpuset allows only some"),
        placed(frozenset({CPU, 8000}), NODE),
    ):
        pytest.fail("it isn't begun")
    assert os.sched_getaffinity(0) == before
    assert "prefer" not in Path("/proc/self/numa_maps").read_text()


def test_what_was_moved_is_preferred_and_not_bound_afterwards() -> None:
    size = PAGES * mmap.PAGESIZE
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as buffer:
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        buffer.write(b"\1" * size)
        move(address, size, NODE)
        assert page_nodes(address, size) == {NODE: PAGES}
        policies = {
            line.split()[1] for line in Path("/proc/self/numa_maps").read_text().splitlines()
        }
    assert f"prefer:{NODE}" in policies
    assert f"bind:{NODE}" not in policies


def test_a_call_that_there_is_not_is_refused_in_words_that_help() -> None:
    with pytest.raises(OSError, match="Function not implemented") as raised:
        call("no_such_call")
    assert "CONFIG_NUMA" in str(refused("mbind", raised.value))
    denied = refused("mbind", PermissionError(1, "Operation not permitted"))
    assert isinstance(denied, NotAllowedError)
    assert "capability SYS_NICE" in str(denied)
