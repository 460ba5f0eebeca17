"""Measuring this machine for real, with little memory and in little time; no time is asserted."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import MatrixPlan, Reader, Target, plan_matrix
from numa_agent.host.measuring import measure_matrix, read_allowed
from numa_agent.host.measuring.buffers import on_node
from numa_agent.host.measuring.kernels import chain
from numa_agent.host.sysfs import read_topology
from tests.host.measuring.able import needs_policy

pytestmark = needs_policy

MIB = 1 << 20
CPUS = tuple(sorted(os.sched_getaffinity(0)))
NODE = min(read_allowed(Path("/"), [0]).mems)
READER = Reader(node=NODE, cpus=CPUS, probe=CPUS[-1], cache_bytes=0, node_cache_bytes=0)
SMALL = Target(node=NODE, chain_bytes=MIB, stream_bytes=4 * MIB)


def plan(*targets: Target, reader: Reader = READER) -> MatrixPlan:
    return MatrixPlan(readers=(reader,), targets=targets, left_out=("as planned",), cached=False)


def test_every_pair_is_measured_in_every_round_and_every_page_looked_up() -> None:
    before = os.sched_getaffinity(0)
    found = measure_matrix(plan(SMALL), 3, 5, lambda: 0.0)
    pair = found.pairs[NODE, NODE]
    assert found.rounds == 3
    assert len(pair.bytes_per_second) == 3
    assert all(rate > 0 for rate in pair.bytes_per_second)
    assert all(time > 0 for time in pair.nanoseconds)
    assert found.pages == {NODE: SMALL.size // mmap.PAGESIZE}
    assert found.left_out[0] == "as planned"
    assert found.whole
    assert os.sched_getaffinity(0) == before


def test_no_round_begins_after_the_time_but_the_first() -> None:
    ticks = iter([0.0, 7.0, 7.0])
    assert measure_matrix(plan(SMALL), 30, 5, lambda: next(ticks)).rounds == 1


def test_a_node_that_can_t_be_had_is_left_out_and_the_others_are_measured() -> None:
    gone = Target(node=1000, chain_bytes=MIB, stream_bytes=MIB)
    found = measure_matrix(plan(gone, SMALL), 2, 5)
    assert set(found.pairs) == {(NODE, NODE)}
    assert found.left_out[1:] == ("node 1000: no memory of it can be had: Invalid argument",)
    assert not found.whole


def test_memory_that_isn_t_there_is_named() -> None:
    huge = Target(node=NODE, chain_bytes=MIB, stream_bytes=1 << 52)
    found = measure_matrix(plan(huge), 1, 5)
    assert found.pairs == {}
    assert found.left_out[1].endswith("MiB can't be had: Cannot allocate memory")


def test_cpus_that_can_t_be_run_on_are_named_and_nobody_waits() -> None:
    gone = Reader(
        node=NODE, cpus=(CPUS[0], 8000), probe=CPUS[0], cache_bytes=0, node_cache_bytes=0
    )
    found = measure_matrix(plan(SMALL, reader=gone), 1, 5)
    assert found.left_out[1].startswith(f"node {NODE}: CPU 8000 can't be run on")
    assert found.pairs == {}


def test_a_page_elsewhere_is_found() -> None:
    with on_node(SMALL) as buffer:
        with pytest.raises(SourceError, match=r"partly elsewhere: \d+ pages nowhere"):
            buffer.check()
        buffer.fill(chain(SMALL.chain_bytes))
        assert buffer.check() == SMALL.size // mmap.PAGESIZE


def test_this_machine_can_be_planned() -> None:
    topology = read_topology(Path("/"))
    found = plan_matrix(topology, read_allowed(Path("/"), [node.id for node in topology.nodes]))
    assert {reader.node for reader in found.readers} <= {node.id for node in topology.nodes}


def refusing(calls: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """`numa-agent` in a process to which the kernel refuses calls."""
    command = [sys.executable, "-m", "tests.host.measuring.refusing", calls, "measure", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_where_seccomp_refuses_memory_policy_the_capability_is_named() -> None:
    done = refusing("mbind,set_mempolicy,get_mempolicy,move_pages", "--runs", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "numa-agent measure: error: the kernel refuses mbind" in done.stderr
    assert "SYS_NICE" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_move_pages_is_refused_pages_are_looked_up_one_by_one() -> None:
    done = refusing("move_pages", "--runs", "1", "--seconds", "1", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"pages_on_node": 0' not in done.stdout


def test_where_pages_can_t_be_looked_up_nothing_is_measured() -> None:
    done = refusing("move_pages,get_mempolicy", "--runs", "1")
    assert done.returncode == 2
    assert "the kernel refuses move_pages and get_mempolicy" in done.stderr


def test_where_no_code_may_be_made_the_bandwidth_is_measured_and_the_reason_said() -> None:
    done = refusing("execmem", "--runs", "1", "--seconds", "1")
    assert done.returncode == 0, done.stderr
    assert "bandwidth of reading in order" in done.stdout
    assert "latency of a read" not in done.stdout
    assert "SELinux has it as execmem" in done.stdout
