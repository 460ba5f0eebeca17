"""`numa-agent measure` on a real kernel with two nodes of CPUs and one of memory alone.

The machine is emulated, so that its times mean nothing: only where things were is asserted.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from numa_agent.core.measuring.distances import of_text
from tests.vm.guest import RunScript
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(
    nodes=(Node(cpus=range(2)), Node(cpus=range(2, 4)), Node(memory_mib=256)),
    distances=((10, 21, 17), (21, 10, 28), (17, 28, 10)),
)
COMMANDS = 4
"""One that warms up, and one in each place."""


@pytest.fixture(scope="module")
def seen(guest: RunScript) -> Any:
    return guest(MACHINE, "measuring", *large_files(), timeout=480).json()


def large_files() -> list[str]:
    """Files that the guest sees too, of 256 MiB together: Python and what the project needs."""
    found, size = [], 0
    for root in (sys.prefix, sys.base_prefix):
        for path in sorted(Path(root).resolve().rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size >= 1 << 20:
                found.append(str(path))
                size += path.stat().st_size
                if size >= 256 << 20:
                    return found
    return found


def out(answer: Any) -> Any:
    assert answer["code"] == 0, answer
    return answer["out"]


def test_every_node_s_memory_is_measured_from_every_node_with_cpus(seen: Any) -> None:
    matrix = out(seen["matrix"])
    pairs = {(each["from"], each["to"]): each for each in matrix["pairs"]}
    assert set(pairs) == {(cpus, memory) for cpus in (0, 1) for memory in (0, 1, 2)}
    assert {pair: each["firmware_distance"] for pair, each in pairs.items()} == {
        (0, 0): 10,
        (0, 1): 21,
        (0, 2): 17,
        (1, 0): 21,
        (1, 1): 10,
        (1, 2): 28,
    }
    for each in pairs.values():
        assert len(each["latency_ns"]["samples"]) == 2
        assert len(each["read_bytes_per_second"]["samples"]) == 2
        assert 10 <= each["distance"] <= 254


def test_each_node_is_read_from_its_own_cpus(seen: Any) -> None:
    readers = [(each["node"], each["cpus"]) for each in out(seen["matrix"])["readers"]]
    assert readers == [(0, "0-1"), (1, "2-3")]


def test_every_page_of_every_buffer_was_on_its_node(seen: Any) -> None:
    targets = out(seen["matrix"])["targets"]
    assert [each["node"] for each in targets] == [0, 1, 2]
    assert all(each["pages_on_node"] * 4096 == each["buffer_bytes"] > 0 for each in targets)


def test_the_kernel_s_own_account_says_the_same(seen: Any) -> None:
    assert seen["pages"] == {str(node): {f"N{node}": 1024} for node in (0, 1, 2)}


def test_a_page_that_was_moved_is_found(seen: Any) -> None:
    moved = seen["moved"]
    assert moved["result"] == 0
    here, there = moved["counted"]["0"], moved["counted"]["1"]
    assert here + there == 1024
    assert there in (1, 512), "a page, or the huge page around it"
    assert moved["said"] == (
        f"node 0: its buffer is partly elsewhere: {here} pages on node 0, {there} pages on node 1"
    )


def test_a_page_that_was_elsewhere_before_is_brought_back(seen: Any) -> None:
    assert seen["brought_back"] == {"0": 1024}


def test_a_node_full_of_files_pages_makes_room(seen: Any) -> None:
    full = seen["full"]
    assert full["free"] < full["size"]
    assert set(full["preferred"]) > {"2"}, "it is only because of this that pages are moved"
    assert full["filled"] == {"2": full["size"] // 4096}


def test_where_seccomp_refuses_memory_policy_the_command_isn_t_begun(seen: Any) -> None:
    refused = seen["refused"]
    assert refused["code"] == 2
    assert "the kernel refuses get_mempolicy to this process" in refused["err"]
    assert "SYS_NICE" in refused["err"]
    assert refused["ran"] is False


def test_the_file_of_distances_is_of_this_machine(seen: Any) -> None:
    found = of_text(json.dumps(out(seen["distances"])))
    assert found.firmware == {
        0: {0: 10, 1: 21, 2: 17},
        1: {0: 21, 1: 10, 2: 28},
        2: {0: 17, 1: 28, 2: 10},
    }
    assert all(found.rows[node][node] == 10 for node in (0, 1, 2))
    assert {node: set(row) for node, row in found.rows.items()} == {
        0: {0, 1, 2},
        1: {0, 1, 2},
        2: {0, 1, 2},
    }


def test_the_command_ran_near_far_and_unbound_and_its_memory_was_where_it_should_be(
    seen: Any,
) -> None:
    command = seen["command"]
    warm, near, far, unbound = command["log"]
    assert len(command["log"]) == COMMANDS
    assert (near["cpus"], near["policy"], set(near["pages"])) == ("0-1", "prefer:0", {"N0"})
    assert (far["cpus"], far["policy"], set(far["pages"])) == ("2-3", "prefer:0", {"N0"})
    for free in (warm, unbound):
        assert (free["cpus"], free["policy"]) == ("0-3", "default")
    assert command["err"] == ""


def test_the_answer_names_the_places_and_says_nothing_of_one_run(seen: Any) -> None:
    found = out(seen["command"])
    assert [(each["name"], each["cpus"], each["memory_node"]) for each in found["placements"]] == [
        ("near", "0-1", 0),
        ("far", "2-3", 0),
        ("unbound", "0-3", None),
    ]
    assert found["verdict"] == "too-few-runs"


def test_far_memory_is_on_the_node_without_cpus_where_that_is_asked_for(seen: Any) -> None:
    _, near, far, _ = seen["memory_far"]["log"]
    assert (near["cpus"], set(near["pages"])) == ("0-1", {"N0"})
    assert (far["cpus"], far["policy"], set(far["pages"])) == ("0-1", "prefer:2", {"N2"})


def test_where_nothing_spilled_that_is_counted(seen: Any) -> None:
    found = out(seen["command"])
    assert [each["spilled_allocations"] for each in found["placements"]] == [0, 0, None]


def test_a_command_larger_than_its_node_kills_nobody_and_the_answer_says_that_it_spilled(
    seen: Any,
) -> None:
    spilled = seen["spilled"]
    assert spilled["bystander"] is None, "a process that the kernel's OOM killer takes first"
    near, far, unbound = out(spilled)["placements"]
    assert (near["spilled_allocations"], unbound["spilled_allocations"]) == (0, None)
    assert far["spilled_allocations"] > 0
    pages = spilled["log"][2]["pages"]
    assert set(pages) > {"N2"}
    assert "far's memory may not have been all on node 2" in spilled["table"]["out"]


def test_a_command_that_fails_is_told_with_its_exit_code(seen: Any) -> None:
    failing = seen["failing"]
    assert failing["code"] == 1
    assert failing["out"]["verdict"] == "failed"
    assert failing["out"]["failure"]["exit_code"] == 3


def test_sigterm_reaches_the_command_and_then_ends_us(seen: Any) -> None:
    stopped = seen["stopped"]
    assert stopped["log"] == ["ready", "told"]
    assert (stopped["code"], stopped["out"]) == (128 + 15, "")
    assert stopped["err"] == "numa-agent measure: ended by SIGTERM\n"


def test_in_a_cpuset_only_what_it_allows_is_measured_and_the_rest_named(seen: Any) -> None:
    matrix, command = seen["confined"]
    assert [(each["from"], each["to"]) for each in out(matrix)["pairs"]] == [(0, 0)]
    assert out(matrix)["left_out"] == [
        "node 0: only CPUs 1 of 0-1 are allowed to this process; its bandwidth is that of these",
        "node 1: none of its CPUs 2-3 is allowed to this process (cpuset or affinity: 1)",
        "node 1: its memory isn't allowed to this process (cpuset.mems: 0)",
        "node 2: its memory isn't allowed to this process (cpuset.mems: 0)",
    ]
    assert command["code"] == 2
    assert "no other node can be far of node 0: it may use CPUs 1" in command["err"]
    elsewhere, _ = seen["elsewhere"]
    assert [(each["from"], each["to"]) for each in out(elsewhere)["pairs"]] == [(1, 1)]
