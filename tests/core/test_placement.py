"""A device's place from all that is said of it: the chain of sources, and who contradicts whom."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core import cpulist
from numa_agent.core.devices import NodeSource
from numa_agent.core.locality import Evidence, Locator, Placement
from tests.topo.values import FOUR_NODES, TWO_NODES, node

# Nodes 0 to 3 with two CPUs each, 4 near to 2, 5 between 0 and 1, 6 near to nothing known.
NODES = (*FOUR_NODES, node(4, "", near=(2,)), node(5, "", near=(0, 1)), node(6, ""))
EIGHT_CPUS = frozenset(range(8))
FOUR = Locator(NODES, EIGHT_CPUS)
TWO = Locator(TWO_NODES, EIGHT_CPUS)
ONE = Locator([node(0, "0-7")], EIGHT_CPUS)


def said(
    *,
    override: int | None = None,
    numa_node: int | None = None,
    bridges: Sequence[int | None] = (),
    local: str | None = None,
    nvml: str | None = None,
) -> Evidence:
    return Evidence(
        override=override,
        numa_node=numa_node,
        bridges=bridges,
        local_cpus=None if local is None else cpulist.parse(local),
        nvml_nodes=None if nvml is None else cpulist.parse(nvml),
    )


def at(node_id: int, source: NodeSource, *contradictions: str) -> Placement:
    return Placement(
        node=node_id, nodes=(node_id,), source=source, contradictions=tuple(contradictions)
    )


UNKNOWN = Placement(node=None, nodes=(), source=NodeSource.UNKNOWN)


def test_each_source_in_turn_places_a_device_that_those_before_it_leave_open() -> None:
    chain = [
        (said(override=3, numa_node=3, bridges=[3], local="6", nvml="3"), NodeSource.OVERRIDE),
        (said(numa_node=3, bridges=[3], local="6-7", nvml="3"), NodeSource.SYSFS),
        (said(numa_node=-1, bridges=[-1, None, 3, 0], local="6", nvml="3"), NodeSource.BRIDGE),
        (said(numa_node=-1, bridges=[-1], local="6-7", nvml="3"), NodeSource.LOCAL_CPULIST),
        (said(numa_node=-1, bridges=[-1], local="0-7", nvml="3"), NodeSource.NVML),
    ]
    for evidence, source in chain:
        assert FOUR.place(evidence) == at(3, source)


@pytest.mark.parametrize("evidence", [said(), said(numa_node=-1, bridges=[-1], local="0-7")])
def test_case_17_what_nothing_places_is_unknown_and_on_the_only_node_where_there_is_one(
    evidence: Evidence,
) -> None:
    assert FOUR.place(evidence) == UNKNOWN
    assert ONE.place(evidence) == at(0, NodeSource.SINGLE_NODE)


def test_case_17_nvml_s_affinity_tells_on_two_nodes_what_sysfs_does_not() -> None:
    assert TWO.place(said(numa_node=-1, local="0-7", nvml="1")) == at(1, NodeSource.NVML)


def test_case_19_local_cpus_that_are_all_of_the_machine_s_say_nothing() -> None:
    assert TWO.place(said(numa_node=-1, bridges=[-1], local="0-7")) == UNKNOWN
    assert TWO.place(said(numa_node=-1, local="0-63")) == UNKNOWN


@pytest.mark.parametrize("raw", [-1, -2, None])
def test_a_number_that_says_unknown_is_passed_over(raw: int | None) -> None:
    assert FOUR.place(said(numa_node=raw)) == UNKNOWN
    assert FOUR.place(said(numa_node=raw, bridges=[raw, 2])) == at(2, NodeSource.BRIDGE)


@pytest.mark.parametrize("raw", [9, 6])
def test_a_number_that_is_no_node_near_any_cpus_is_told_of_and_never_the_only_node(
    raw: int,
) -> None:
    words = f"numa_node {raw} is no online node near any CPUs"
    assert FOUR.place(said(numa_node=raw)) == replace(UNKNOWN, contradictions=(words,))
    assert ONE.place(said(numa_node=9)).source is NodeSource.UNKNOWN
    # The nearest bridge's number counts, not a further one's.
    assert FOUR.place(said(bridges=[raw, 2])) == replace(UNKNOWN, contradictions=(words,))
    # What isn't a number may still tell.
    assert FOUR.place(said(numa_node=raw, nvml="2")) == at(2, NodeSource.NVML, words)


def test_a_node_that_holds_not_all_cpus_is_not_the_only_one() -> None:
    # The other node is offline, left out or unreadable, and the device may well be there.
    partial = Locator([node(0, "0-3")], EIGHT_CPUS)
    assert partial.place(said(numa_node=-1, local="0-7")) == UNKNOWN
    assert partial.place(said(numa_node=0)) == at(0, NodeSource.SYSFS)
    unknown = Locator([node(0, "0-3"), node(1, None)], frozenset(range(8)))
    assert unknown.place(said()).source is NodeSource.UNKNOWN


def test_on_a_machine_without_nodes_a_device_is_nowhere() -> None:
    nowhere = Locator([], frozenset())
    assert nowhere.place(said(numa_node=-1, local="0")).source is NodeSource.UNKNOWN
    assert nowhere.place(said(numa_node=0)).source is NodeSource.UNKNOWN


def test_a_node_of_memory_only_is_no_second_choice() -> None:
    locator = Locator([node(3, "0-7"), node(4, "", near=(3,))], EIGHT_CPUS)
    assert locator.place(said()) == at(3, NodeSource.SINGLE_NODE)


def test_local_cpus_of_which_some_are_in_an_unknown_node_say_nothing() -> None:
    locator = Locator([node(0, "0-3"), node(1, None), node(2, "8-11")], frozenset(range(12)))
    assert locator.place(said(local="0-7")) == UNKNOWN
    assert locator.place(said(local="8-9")) == at(2, NodeSource.LOCAL_CPULIST)


def test_case_15_a_numa_node_without_cpus_stands_for_the_nearest_with_some() -> None:
    assert FOUR.place(said(numa_node=4)) == at(2, NodeSource.SYSFS)
    assert FOUR.place(said(numa_node=-1, bridges=[4])) == at(2, NodeSource.BRIDGE)


def test_a_node_between_two_with_cpus_names_both_and_another_source_may_choose() -> None:
    both = Placement(node=None, nodes=(0, 1), source=NodeSource.SYSFS)
    assert FOUR.place(said(numa_node=5)) == both
    assert FOUR.place(said(numa_node=5, nvml="1")) == at(1, NodeSource.NVML)


def test_a_source_that_names_none_of_those_chosen_from_is_not_followed() -> None:
    placement = FOUR.place(said(local="0-3", nvml="3"))
    assert (placement.node, placement.nodes) == (None, (0, 1))
    assert placement.contradictions == ("local-cpulist says CPUs 0-3, nvml says nodes 3",)


@pytest.mark.parametrize(("local", "nodes"), [("3-4", (1, 2)), ("0-5", (0, 1, 2))])
def test_local_cpus_of_some_nodes_name_them_and_decide_none(
    local: str, nodes: tuple[int, ...]
) -> None:
    assert FOUR.place(said(numa_node=-1, local=local)) == Placement(
        node=None, nodes=nodes, source=NodeSource.LOCAL_CPULIST
    )


def test_a_source_that_names_one_of_several_nodes_chooses_among_them() -> None:
    assert FOUR.place(said(local="2-5", nvml="2")) == at(2, NodeSource.NVML)


@pytest.mark.parametrize(
    ("nvml", "placement"),
    [
        # Case 18, and Grace: a list is a set, of which one node has CPUs.
        ("2,4-6", at(2, NodeSource.NVML)),
        ("0-1", Placement(node=None, nodes=(0, 1), source=NodeSource.NVML)),
        # Nodes without CPUs only: one stands for the nearest with CPUs, several for nothing.
        ("4", at(2, NodeSource.NVML)),
        ("5", Placement(node=None, nodes=(0, 1), source=NodeSource.NVML)),
        ("4-5", UNKNOWN),
        ("6", UNKNOWN),
        ("9", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_of_the_nodes_in_nvml_s_affinity_those_with_cpus_count(
    nvml: str, placement: Placement
) -> None:
    assert FOUR.place(said(numa_node=-1, nvml=nvml)) == placement


@pytest.mark.parametrize(
    ("evidence", "placement"),
    [
        (
            said(numa_node=0, nvml="1"),
            at(0, NodeSource.SYSFS, "sysfs says node 0, nvml says nodes 1"),
        ),
        (
            said(numa_node=0, local="4-5", nvml="3"),
            at(
                0,
                NodeSource.SYSFS,
                "sysfs says node 0, local-cpulist says CPUs 4-5",
                "sysfs says node 0, nvml says nodes 3",
            ),
        ),
        # A number that stands for another is told as it is written.
        (
            said(numa_node=4, nvml="0-1"),
            at(2, NodeSource.SYSFS, "sysfs says node 4, nvml says nodes 0-1"),
        ),
        (
            said(numa_node=-1, bridges=[1], local="6-7"),
            at(1, NodeSource.BRIDGE, "bridge says node 1, local-cpulist says CPUs 6-7"),
        ),
        (
            said(numa_node=0, bridges=[1]),
            at(0, NodeSource.SYSFS, "sysfs says node 0, bridge says node 1"),
        ),
        (
            said(override=3, numa_node=0),
            at(3, NodeSource.OVERRIDE, "override says node 3, sysfs says node 0"),
        ),
    ],
)
def test_a_source_that_disagrees_is_named_with_its_words_and_those_of_the_one_believed(
    evidence: Evidence, placement: Placement
) -> None:
    assert FOUR.place(evidence) == placement


@pytest.mark.parametrize(
    "evidence",
    [
        said(numa_node=1, local="2-3", nvml="1"),
        said(numa_node=1, local="0-7", nvml="0-3"),
        said(numa_node=4, local="4-5", nvml="2,4-6"),
        said(numa_node=1, local="2-5", nvml="6"),
    ],
)
def test_sources_that_agree_or_say_less_contradict_nothing(evidence: Evidence) -> None:
    assert FOUR.place(evidence).source is NodeSource.SYSFS
    assert FOUR.place(evidence).contradictions == ()


EVIDENCE = st.builds(
    lambda override, numa_node, bridges, local, nvml: Evidence(
        override=override, numa_node=numa_node, bridges=bridges, local_cpus=local, nvml_nodes=nvml
    ),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(-1, 9),
    st.lists(st.none() | st.integers(-1, 9), max_size=4).map(tuple),
    st.none() | st.frozensets(st.integers(0, 9)),
    st.none() | st.frozensets(st.integers(0, 9)),
)


@settings(derandomize=True, deadline=None)
@given(EVIDENCE)
def test_a_place_is_a_node_with_cpus_and_never_without_a_source(evidence: Evidence) -> None:
    placement = FOUR.place(evidence)
    assert set(placement.nodes) <= {0, 1, 2, 3}
    assert placement.nodes == tuple(sorted(placement.nodes))
    assert (placement.node,) == placement.nodes or placement.node is None
    assert (placement.source is NodeSource.UNKNOWN) is (not placement.nodes)


@settings(derandomize=True, deadline=None)
@given(EVIDENCE, st.sampled_from(["override", "numa_node", "bridges", "local_cpus", "nvml_nodes"]))
def test_taking_away_the_source_that_was_believed_never_yields_a_more_trusted_one(
    evidence: Evidence, gone: str
) -> None:
    without: dict[str, Any] = {gone: () if gone == "bridges" else None}
    less = replace(evidence, **without)
    ranks = list(NodeSource)
    before, after = FOUR.place(evidence), FOUR.place(less)
    if before.node is not None:
        assert ranks.index(after.source) >= ranks.index(before.source)
