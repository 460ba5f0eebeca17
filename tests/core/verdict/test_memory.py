"""Where a container's memory is, and what is held against it."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.verdict import Alignment, Verdict
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node
from tests.serve.reports import gpu
from tests.verdicts import device, memory, verdict

NEAR = cpus("0-3")


def with_memory(own: dict[int, int], **more: Any) -> Verdict:
    """The verdict on a container in node 0 with this memory, in MiB."""
    return verdict(NEAR, NEAR, memory=memory(own), **more)


def codes(of: Verdict) -> list[str]:
    return [each.code for each in of.reasons]


def cause(of: Verdict) -> str | None:
    found = next(each for each in of.reasons if each.code.startswith("memory"))
    return None if found.cause is None else found.cause.code


def test_memory_beside_the_cpus_is_said_with_them() -> None:
    found = with_memory({0: 512, 1: 0})
    assert found.alignment is Alignment.ALIGNED
    assert found.reason == "CPUs 0-3 are in force, all in node 0, with 512 MiB of memory"


@pytest.mark.parametrize(
    ("own", "alignment", "code"),
    [
        ({1: 64}, Alignment.REMOTE, "memory-remote"),
        ({0: 40, 1: 64}, Alignment.REMOTE, "memory-remote"),
        ({0: 64, 1: 64}, Alignment.SPLIT, "memory-split"),
        ({0: 900, 1: 100}, Alignment.SPLIT, "memory-split"),
    ],
)
def test_memory_elsewhere_is_split_or_remote(
    own: dict[int, int], alignment: Alignment, code: str
) -> None:
    found = with_memory(own)
    assert (found.alignment, codes(found)) == (alignment, [code])
    assert found.reasons[0].message.endswith("in node 1, its CPUs in node 0")


@pytest.mark.parametrize("own", [{0: 1, 1: 15}, {1: 15}, {0: 4000, 1: 199}])
def test_a_little_elsewhere_is_held_against_nobody(own: dict[int, int]) -> None:
    assert with_memory(own).alignment is Alignment.ALIGNED


def test_page_cache_elsewhere_is_told_and_held_against_nobody() -> None:
    found = verdict(NEAR, NEAR, memory=memory({0: 64}, {1: 4096}))
    assert found.alignment is Alignment.ALIGNED
    assert found.notes == ("4 GiB of the page cache that it filled are in node 1",)


def test_memory_that_was_not_seen_is_unknown_except_on_a_machine_of_one_node() -> None:
    assert with_memory({}).alignment is Alignment.ALIGNED
    found = verdict(NEAR, NEAR, memory=None)
    assert (found.alignment, codes(found)) == (Alignment.UNKNOWN, ["memory-unseen"])
    one = machine(numa_node(0, "0-7"), online="0-7")
    assert verdict(NEAR, NEAR, one, memory=None).alignment is Alignment.ALIGNED


def test_a_gpus_own_memory_is_beside_whoever_holds_the_gpu() -> None:
    hopper = machine(numa_node(0, "0-3"), numa_node(1, "", near=(0,)), online="0-3")
    hopper = replace(hopper, gpus=(replace(gpu("0000:01:00.0"), memory_node=1),))
    held = verdict(
        NEAR,
        NEAR,
        hopper,
        memory=memory({0: 64, 1: 4096}),
        devices=(device("g", 0, memory_node=1),),
    )
    assert held.alignment is Alignment.ALIGNED
    other = verdict(NEAR, NEAR, hopper, memory=memory({0: 64, 1: 4096}))
    assert other.alignment is Alignment.REMOTE


HOPPER = replace(
    machine(
        numa_node(0, "0-3"),
        numa_node(1, "4-7"),
        numa_node(2, "", near=(0,)),
        numa_node(3, "", near=(1,)),
        numa_node(4, "", near=(0, 1)),
        numa_node(5, "", near=(0,)),
    ),
    gpus=(replace(gpu("0000:01:00.0"), memory_node=5),),
)
"""Two nodes with CPUs, a tier of memory beside each and one beside both, and a GPU's memory."""


@pytest.mark.parametrize(
    ("own", "more", "alignment", "code"),
    [
        ({0: 64, 2: 4096}, {}, Alignment.ALIGNED, "memory-tiered"),
        ({2: 4096}, {}, Alignment.ALIGNED, "memory-tiered"),
        ({0: 4096, 2: 15}, {}, Alignment.ALIGNED, "aligned"),
        ({0: 64, 3: 4096}, {}, Alignment.REMOTE, "memory-remote"),
        ({0: 64, 4: 4096}, {}, Alignment.REMOTE, "memory-remote"),
        ({0: 64, 1: 64, 2: 64}, {}, Alignment.SPLIT, "memory-tiered"),
        ({0: 64, 5: 4096}, {}, Alignment.REMOTE, "memory-remote"),
        ({0: 64, 5: 4096}, {"devices_unseen": "why"}, Alignment.UNKNOWN, "devices-unseen"),
        ({0: 64, 1: 512, 5: 64}, {"devices_unseen": "why"}, Alignment.REMOTE, "memory-remote"),
    ],
)
def test_memory_without_cpus_is_a_tier_of_the_cpus_nearest_to_it(
    own: dict[int, int], more: Any, alignment: Alignment, code: str
) -> None:
    found = with_memory(own, topology=HOPPER, **more)
    assert found.alignment is alignment
    assert code in codes(found)
    assert ("memory-tiered" in codes(found)) is (code == "memory-tiered")


def test_a_tier_is_said_with_its_place_and_its_cache_is_near() -> None:
    found = verdict(NEAR, NEAR, HOPPER, memory=memory({0: 64, 2: 192}, {2: 4096}))
    assert found.notes == (
        "192 MiB of its 256 MiB of memory are in node 2 without CPUs, beside its own in node 0",
    )


def test_hugepages_that_were_not_seen_are_unknown_beside_what_was() -> None:
    found = with_memory({0: 64}, hugepages_unseen=True)
    assert (found.alignment, codes(found)) == (Alignment.UNKNOWN, ["memory-unseen"])
    bad = with_memory({1: 64}, hugepages_unseen=True)
    assert (bad.alignment, codes(bad)) == (Alignment.REMOTE, ["memory-remote", "memory-unseen"])


def test_memory_that_is_elsewhere_as_it_was_decided_is_no_fault() -> None:
    own, wanted = {0: 64, 1: 64}, frozenset({0, 1})
    assert with_memory(own, decided_mems=wanted).kept
    assert not with_memory(own).kept
    wide = cpus("0-7")
    assert not verdict(wide, wide, memory=memory({0: 64})).kept


def test_the_likely_cause_is_told_from_what_it_may_use_and_what_was_free() -> None:
    own = {0: 32, 1: 64}
    assert cause(with_memory(own, effective_mems={0})) == "late-binding"
    assert cause(with_memory(own, effective_mems={0, 1})) == "mems-not-bound"
    assert cause(with_memory(own, decided_mems=frozenset({1}))) == "as-decided"
    full: Any = {"effective_mems": {0, 1}, "free_memory": {0: 1 << 20, 1: 1 << 30}}
    small = [replace(node, memory_bytes=1 << 30) for node in TWO_NODES.nodes]
    at = replace(TWO_NODES, nodes=tuple(small))
    assert cause(verdict(NEAR, NEAR, at, memory=memory(own), **full)) == "memory-spilled"
    turned_away: Any = {"effective_mems": {0, 1}, "spilled": {0: 48 << 20}}
    found = with_memory(own, **turned_away)
    assert cause(found) == "memory-spilled"
    assert "node 0 turned away 48 MiB since the boot" in found.reason


def test_memory_of_a_container_whose_cpus_were_not_seen_is_not_judged() -> None:
    found = verdict(NEAR, None, memory=memory({1: 64}))
    assert (found.alignment, codes(found)) == (Alignment.UNKNOWN, ["cpus-unseen"])


UNSURE = machine(
    numa_node(0, "0-3"),
    numa_node(1, "4-7"),
    numa_node(2, ""),
    numa_node(3, None),
    online="0-7",
)
"""Two nodes with CPUs, one of memory without distances and one whose CPUs aren't known."""


@pytest.mark.parametrize("node", [2, 3, 9])
def test_memory_of_which_nobody_tells_whether_it_is_near_is_unknown(node: int) -> None:
    found = with_memory({0: 64, node: 64}, topology=UNSURE)
    assert (found.alignment, codes(found)) == (Alignment.UNKNOWN, ["memory-place-unknown"])
    assert f"64 MiB of its 128 MiB of memory are in node {node}, of which nobody" in found.reason
    assert with_memory({0: 64, node: 15}, topology=UNSURE).alignment is Alignment.ALIGNED
    # Neither alone is enough to count.
    both = with_memory({0: 64, 1: 10, node: 10}, topology=UNSURE)
    assert (both.alignment, codes(both)) == (Alignment.UNKNOWN, ["memory-place-unknown"])
    bad = with_memory({0: 64, 1: 64, node: 64}, topology=UNSURE)
    assert (bad.alignment, codes(bad)) == (
        Alignment.SPLIT,
        ["memory-split", "memory-place-unknown"],
    )
    cached = verdict(NEAR, NEAR, UNSURE, memory=memory({0: 64}, {node: 4096}))
    assert cached.alignment is Alignment.ALIGNED


def test_the_memory_of_one_of_several_gpus_is_unknown_where_nobody_tells_which_it_holds() -> None:
    held = replace(device("g", 0), memory_may_be=(5,))
    found = with_memory({0: 64, 5: 4096}, topology=HOPPER, devices=(held,))
    assert (found.alignment, codes(found)) == (Alignment.UNKNOWN, ["memory-place-unknown"])
    known = replace(held, memory_node=5)
    assert with_memory({0: 64, 5: 4096}, topology=HOPPER, devices=(known,)).alignment == "aligned"


def test_what_is_in_a_gpu_hides_nothing_of_the_rest() -> None:
    held = device("g", 0, memory_node=5)
    found = with_memory({1: 4096, 5: 90 << 10}, topology=HOPPER, devices=(held,))
    assert (found.alignment, codes(found)) == (Alignment.REMOTE, ["memory-remote"])
    assert found.reason.startswith("4 GiB of its 4 GiB of memory outside GPUs are in node 1")
    unused = with_memory({1: 4096, 5: 0}, topology=HOPPER, devices=(held,))
    assert unused.reason.startswith("4 GiB of its 4 GiB of memory are in node 1")


def test_a_node_without_memory_is_the_cause_where_its_cpus_have_none_beside_them() -> None:
    bare = machine(numa_node(0, "0-3", memory_bytes=0), numa_node(1, "4-7"))
    assert cause(with_memory({1: 64}, topology=bare)) == "no-memory-there"
    assert cause(with_memory({1: 64}, topology=bare, effective_mems={1})) == "no-memory-there"
    assert cause(with_memory({1: 64})) == "mems-not-bound"
