"""The file of measured distances: made, read, and refused where it is another machine's."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.measuring import DistancesError
from numa_agent.core.measuring.distances import Distances, of_matrix, of_text
from numa_agent.core.topology import Topology
from tests.core.measuring.machines import FAR, NEAR, matrix, node, two, two_measured, with_expander
from tests.machine_tree import machine

CPU = "A CPU"


def document() -> Any:
    return of_matrix(two_measured(), two(), CPU).to_json("2026-01-02T03:04:05+00:00")


def read(content: Any) -> Distances:
    return of_text(json.dumps(content))


def refused(content: Any) -> str:
    with pytest.raises(DistancesError) as raised:
        read(content)
    return str(raised.value)


def not_here(distances: Distances, topology: Topology, cpu: str | None = CPU) -> str:
    with pytest.raises(DistancesError) as raised:
        distances.here(topology, cpu)
    return str(raised.value)


def test_what_is_written_is_what_is_read() -> None:
    made = of_matrix(two_measured(), two(), CPU)
    assert read(document()) == made
    assert made.here(two(), CPU) == {0: {0: 10, 1: 17}, 1: {0: 17, 1: 10}}
    assert made.firmware == {0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}}


def test_distances_from_memory_only_nodes_are_those_to_them() -> None:
    slow = tuple(each * 2 for each in FAR)
    found = matrix(
        {(0, 0): NEAR, (0, 1): FAR, (0, 2): slow, (1, 0): FAR, (1, 1): NEAR, (1, 2): FAR}
    )
    made = of_matrix(found, with_expander(), None)
    assert made.rows == {
        0: {0: 10, 1: 17, 2: 34},
        1: {0: 17, 1: 10, 2: 17},
        2: {0: 34, 1: 17, 2: 10},
    }


def test_a_node_of_cpus_alone_has_the_distances_of_its_cpus() -> None:
    topology = machine(node(0, "0"), node(1, "1", memory=0))
    made = of_matrix(matrix({(0, 0): NEAR, (1, 0): FAR}), topology, None)
    assert made.rows == {0: {0: 10, 1: 10}, 1: {0: 10, 1: 10}}


def test_nothing_is_made_of_a_part_or_of_caches() -> None:
    with pytest.raises(DistancesError, match="it has none from node 1 to 2"):
        of_matrix(
            matrix({(0, 0): NEAR, (0, 1): FAR, (0, 2): FAR, (1, 1): NEAR, (1, 0): FAR}),
            with_expander(),
            None,
        )
    with pytest.raises(DistancesError, match="too little memory"):
        of_matrix(
            replace(two_measured(), plan=replace(two_measured().plan, cached=True)), two(), None
        )


def test_a_file_of_other_nodes_is_another_machine_s() -> None:
    made = of_matrix(two_measured(), two(), CPU)
    assert not_here(made, with_expander()) == ("it is of NUMA nodes 0-1, and this machine has 0-2")
    assert not_here(made, machine(node(0, "0-3"))) == (
        "it is of NUMA nodes 0-1, and this machine has 0"
    )


def test_a_file_of_another_cpu_is_another_machine_s_where_both_are_known() -> None:
    made = of_matrix(two_measured(), two(), CPU)
    assert not_here(made, two(), "Another") == "it is of a machine with A CPU, this has Another"
    assert made.here(two(), None) == replace(made, cpu_model=None).here(two(), CPU) == made.rows


def test_a_file_from_before_the_firmware_changed_is_stale() -> None:
    made = of_matrix(two_measured(), two(), CPU)
    now = machine(node(0, "0-3", to0=10, to1=32), node(1, "4-7", to0=32, to1=10))
    assert not_here(made, now) == (
        "the firmware's distances of node 0 were 10 21 when it was measured and are 10 32"
    )
    gone = machine(node(0, "0-3"), node(1, "4-7", to0=21, to1=10))
    assert not_here(made, gone).endswith("were 10 21 when it was measured and are unknown")


def test_cpus_that_went_offline_make_no_file_stale() -> None:
    made = of_matrix(two_measured(), two(), CPU)
    fewer = machine(node(0, "0", to0=10, to1=21), node(1, "4", to0=21, to1=10))
    assert made.here(fewer, CPU) == made.rows


def change(path: str, value: Any) -> Any:
    content = document()
    *above, last = path.split("/")
    place = content
    for name in above:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("format", "numa-agent.distances/v2", "only numa-agent.distances/v1 is read"),
        ("format", None, "the member format is missing"),
        ("format", 1, "isn't a string"),
        ("by", "guess", "it must be latency or bandwidth"),
        ("by", None, "the member by is missing"),
        ("nodes", None, "the member nodes is missing"),
        ("nodes", {}, "it has no node"),
        ("nodes", [], "isn't an object"),
        ("cpu_model", 7, "isn't a string"),
        ("more", 1, "this member isn't known"),
        ("nodes/x", {"distances": "10"}, "the number of a NUMA node"),
        ("nodes/01", {"distances": "10"}, "the number of a NUMA node"),
        ("nodes/-1", {"distances": "10"}, "the number of a NUMA node"),
        ("nodes/1024", {"distances": "10"}, "the number of a NUMA node"),
        ("nodes/\u0661", {"distances": "10"}, "the number of a NUMA node"),
        ("nodes/0", {}, "the member distances is missing"),
        ("nodes/0", 10, "isn't an object"),
        ("nodes/0/more", 1, "this member isn't known"),
        ("nodes/0/distances", "11 17", "from node 0 to itself must be 10"),
        ("nodes/0/distances", "- 17", "from node 0 to itself must be 10"),
        ("nodes/0/distances", "10", "it has 1 columns for 2 nodes"),
        ("nodes/0/distances", "10 17 17", "it has 3 columns for 2 nodes"),
        ("nodes/0/distances", "10  17", "it has 3 columns for 2 nodes"),
        ("nodes/0/distances", "", "it has 1 columns for 2 nodes"),
        ("nodes/0/distances", "10 9", "9 isn't a whole number from 10 to 254"),
        ("nodes/0/distances", "10 255", "255 isn't a whole number from 10 to 254"),
        ("nodes/0/distances", "10 -17", "isn't a distance"),
        ("nodes/0/distances", "10 1.7", "isn't a distance"),
        ("nodes/0/distances", "10 \u0661\u0667", "isn't a distance"),
        ("nodes/0/distances", "10 0017", "isn't a distance"),
        ("nodes/0/distances", [10, 17], "isn't a string"),
        ("nodes/0/firmware", "10 256", "256 isn't a whole number from 0 to 255"),
        ("nodes/0/firmware", [10, 21], "isn't a string"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(path: str, value: Any, said: str) -> None:
    assert said in refused(change(path, value))


def test_a_distance_that_is_missing_is_named_where_the_file_is_used() -> None:
    assert not_here(read(change("nodes/0/distances", "10 -")), two()) == (
        "it has none from node 0 to 1"
    )


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "distances", '{"format": 1, "format": 2}']
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(DistancesError):
        of_text(text)


NAMES = st.sampled_from(["format", "by", "nodes", "0", "distances", "firmware"])
ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
)


@given(ANYTHING)
def test_any_document_is_refused_in_words(content: Any) -> None:
    assert refused(content)


@given(st.text("0123456789 -x\u0661", max_size=9), st.sampled_from(["firmware", "distances"]))
def test_any_row_is_read_or_refused(row: str, kind: str) -> None:
    try:
        found = read(change(f"nodes/0/{kind}", row))
    except DistancesError:
        return
    assert all(10 <= value <= 254 for each in found.rows.values() for value in each.values())
    assert read(found.to_json("")) == found


def test_a_machine_of_many_nodes_fits() -> None:
    ids = range(63)
    row = dict.fromkeys(ids, 32)
    rows = {each: {**row, each: 10} for each in ids}
    made = Distances(by="latency", cpu_model=CPU, firmware=rows, rows=rows)
    assert read(made.to_json("2026-01-02T03:04:05+00:00")) == made
