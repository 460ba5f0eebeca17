"""kubelet's state files in every form that kubelet has written, and in forms that it hasn't."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.grants import MemoryGrant
from numa_agent.core.kubelet import CpuManagerState, MemoryManagerState, MemoryPool
from numa_agent.core.kubelet_state import parse_cpu_state, parse_memory_state
from tests.machine_tree import cpus

# Recorded from a kubelet of Kubernetes 1.36 on a machine of two NUMA nodes.
CPU_STATE = (
    '{"policyName":"static","defaultCpuSet":"0-1,4-5","entries":{'
    '"774098d8-52e5-4cf3-b3f9-9dcf2732836f":{"c":"6-7"},'
    '"c8e3ca55-163a-4c81-94be-bfdc57a4fadc":{"c":"2-3"}},"checksum":2866140399}'
)
MEMORY_STATE = (
    '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{'
    '"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},'
    '"memory":{"total":1998069760,"systemReserved":104857600,"allocatable":1893212160,'
    '"reserved":536870912,"free":1356341248}},"cells":[0]},"1":{"numberOfAssignments":1,'
    '"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,'
    '"free":0},"memory":{"total":2111885312,"systemReserved":104857600,"allocatable":2007027712,'
    '"reserved":268435456,"free":1738592256}},"cells":[1]}},"entries":{'
    '"774098d8-52e5-4cf3-b3f9-9dcf2732836f":{"c":[{"numaAffinity":[1],"type":"memory",'
    '"size":268435456}]},"c8e3ca55-163a-4c81-94be-bfdc57a4fadc":{"c":[{"numaAffinity":[0],'
    '"type":"memory","size":536870912}]}},"checksum":3790425026}'
)
POD_A, POD_B = "774098d8-52e5-4cf3-b3f9-9dcf2732836f", "c8e3ca55-163a-4c81-94be-bfdc57a4fadc"
NOTHING = {"total": 0, "systemReserved": 0, "allocatable": 0, "reserved": 0, "free": 0}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)


def cpu_state(**members: object) -> CpuManagerState:
    return parse_cpu_state(json.dumps({"policyName": "static", **members}))


def memory_state(**members: object) -> MemoryManagerState:
    return parse_memory_state(json.dumps({"policyName": "Static", **members}))


def node(**pool: object) -> dict[str, Any]:
    """One NUMA node of machineState, whose only memory has these members."""
    return {"0": {"memoryMap": {"memory": {**NOTHING, **pool}}, "cells": [0]}}


def block(**members: object) -> dict[str, Any]:
    """Entries of one block."""
    whole = {"numaAffinity": [0], "type": "memory", "size": 1, **members}
    return {"u": {"c": [whole]}}


def test_a_recorded_state_of_the_static_policy_names_each_container_s_cpus() -> None:
    state = parse_cpu_state(CPU_STATE)
    assert state == CpuManagerState(
        policy="static",
        shared=cpus("0-1,4-5"),
        entries={POD_A: {"c": cpus("6-7")}, POD_B: {"c": cpus("2-3")}},
    )
    assert state.by_pod == {POD_A: cpus("6-7"), POD_B: cpus("2-3")}


def test_a_recorded_state_of_the_memory_manager_names_pools_and_blocks() -> None:
    empty = MemoryPool(total=0, system_reserved=0, allocatable=0, reserved=0, free=0)
    assert parse_memory_state(MEMORY_STATE) == MemoryManagerState(
        policy="Static",
        pools={
            0: {
                "hugepages-2Mi": empty,
                "memory": MemoryPool(
                    total=1998069760,
                    system_reserved=104857600,
                    allocatable=1893212160,
                    reserved=536870912,
                    free=1356341248,
                ),
            },
            1: {
                "hugepages-2Mi": empty,
                "memory": MemoryPool(
                    total=2111885312,
                    system_reserved=104857600,
                    allocatable=2007027712,
                    reserved=268435456,
                    free=1738592256,
                ),
            },
        },
        entries={
            POD_A: {"c": (MemoryGrant(kind="memory", size=268435456, nodes=(1,)),)},
            POD_B: {"c": (MemoryGrant(kind="memory", size=536870912, nodes=(0,)),)},
        },
    )


def test_without_policies_that_give_anything_out_the_states_are_empty() -> None:
    none = parse_cpu_state('{"policyName":"none","defaultCpuSet":"","checksum":1353318690}')
    assert none == CpuManagerState(policy="none", shared=frozenset(), entries={})
    nothing = parse_memory_state('{"policyName":"None","machineState":{},"checksum":4236770233}')
    assert nothing == MemoryManagerState(policy="None", pools={}, entries={})


def test_another_policy_s_entries_are_nobody_s() -> None:
    assert cpu_state(policyName="none", entries={"u": {"c": "2"}}).entries == {}
    assert cpu_state(policyName="none", podEntries={"u": {"cpuSet": "2"}}).by_pod == {}


@pytest.mark.parametrize("members", [{}, {"defaultCpuSet": None, "entries": None}])
def test_what_is_missing_of_a_cpu_state_is_empty(members: dict[str, object]) -> None:
    state = cpu_state(**members)
    assert (state.shared, state.entries, state.by_pod) == (frozenset(), {}, {})


def test_a_pod_has_the_cpus_of_all_its_containers() -> None:
    state = cpu_state(entries={"u": {"a": "2-3", "b": "6", "c": ""}, "v": {}})
    assert state.by_pod == {"u": cpus("2-3,6"), "v": frozenset()}


def test_entries_by_container_count_for_a_pod_that_nobody_knows() -> None:
    # kubelet up to 1.17 wrote so.
    state = cpu_state(defaultCpuSet="0-1", entries={"f" * 64: "2-3", "e" * 64: "6"})
    assert state.by_pod == {"f" * 64: cpus("2-3"), "e" * 64: cpus("6")}
    assert state.unknown_holders == ("e" * 64, "f" * 64)
    assert parse_cpu_state(CPU_STATE).unknown_holders == ()


def test_a_whole_pod_s_cpus_count_with_those_of_its_containers() -> None:
    state = cpu_state(
        entries={"u": {"a": "2-3"}, "v": {"a": "8"}},
        podEntries={"u": {"cpuSet": "2-5"}, "w": {"cpuSet": "10-11"}, "x": {}},
    )
    assert state.pod_entries == {"u": cpus("2-5"), "w": cpus("10-11"), "x": frozenset()}
    assert state.by_pod == {
        "u": cpus("2-5"),
        "v": cpus("8"),
        "w": cpus("10-11"),
        "x": frozenset(),
    }


def test_the_text_in_data_is_what_counts() -> None:
    inner = {"policyName": "static", "defaultCpuSet": "0-1", "entries": {"u": {"a": "2"}}}
    told = cpu_state(defaultCpuSet="9", data=json.dumps(inner), dataChecksum=1, checksum=0)
    assert told == CpuManagerState(
        policy="static", shared=cpus("0-1"), entries={"u": {"a": cpus("2")}}
    )


def test_a_whole_pod_s_memory_is_in_data_alone() -> None:
    blocks = [{"numaAffinity": [1, 0], "type": "memory", "size": 512}]
    inner = {
        "policyName": "Static",
        "machineState": node(total=2048),
        "entries": {"u": {"a": [{"numaAffinity": [0], "type": "hugepages-1Gi", "size": 7}]}},
        "podEntries": {"u": {"memoryBlocks": blocks}, "v": {}},
    }
    state = memory_state(machineState={}, data=json.dumps(inner))
    assert state.pools[0]["memory"].total == 2048
    assert state.entries == {"u": {"a": (MemoryGrant(kind="hugepages-1Gi", size=7, nodes=(0,)),)}}
    assert state.pod_entries == {
        "u": (MemoryGrant(kind="memory", size=512, nodes=(0, 1)),),
        "v": (),
    }


@pytest.mark.parametrize("group", ["cells", "nodes"])
def test_hugepages_and_both_names_for_a_group_of_nodes_are_known(group: str) -> None:
    memory = {
        **NOTHING,
        "total": 99759243264,
        "systemReserved": 10538188800,
        "allocatable": 78483636224,
        "free": 78483636224,
    }
    huge = {**NOTHING, "total": 10737418240, "allocatable": 10737418240, "free": 10737418240}
    state = memory_state(
        machineState={
            "0": {
                "numberOfAssignments": 0,
                "memoryMap": {"memory": memory, "hugepages-1Gi": huge},
                group: [0, 1],
            }
        }
    )
    pool, pages = state.pools[0]["memory"], state.pools[0]["hugepages-1Gi"]
    # Hugepages are part of a node's memory and can't be given out as such.
    assert pool.allocatable == pool.total - pool.system_reserved - pages.total


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"machineState": None, "entries": None, "podEntries": None},
        {"machineState": {"0": None}, "entries": {"u": None}},
        {"machineState": {"0": {"memoryMap": None}}, "entries": {"u": {"c": None}}},
    ],
)
def test_what_is_missing_of_a_memory_state_is_empty(members: dict[str, object]) -> None:
    state = memory_state(**members)
    assert all(not pools for pools in state.pools.values())
    assert all(not blocks for held in state.entries.values() for blocks in held.values())


@pytest.mark.parametrize("parse", [parse_cpu_state, parse_memory_state])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("{", "it isn't JSON"),
        ('{"policyName": "static"', "it isn't JSON"),
        ("[" * 50_000, "nested too deep"),
        ('{"policyName": "static", "data": "{"}', "its data isn't JSON"),
        ('{"policyName": "static", "data": ""}', "its data isn't JSON"),
        ('{"policyName": "static", "data": "[]"}', "its data isn't an object"),
        ("[]", "policyName"),
        ("{}", "policyName"),
        ("null", "policyName"),
        ('{"policyName": 7}', "policyName"),
        ('{"policyName": ""}', "policyName"),
        ('{"policyName": "static", "entries": []}', "its entries isn't an object but an array"),
        ('{"policyName": "static", "podEntries": "x"}', "its podEntries isn't an object but 'x'"),
    ],
)
def test_what_is_no_state_is_refused_with_the_reason(parse: Any, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(text)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"defaultCpuSet": 5}, "its defaultCpuSet isn't a CPU list but 5"),
        ({"defaultCpuSet": "0-"}, "its defaultCpuSet: not a CPU list: '0-'"),
        ({"defaultCpuSet": 0}, "its defaultCpuSet isn't a CPU list but 0"),
        ({"entries": {"u": ["2"]}}, "the entry of pod 'u' isn't an object of CPU lists"),
        ({"entries": {"u": {"c": 5}}}, "the entry of pod 'u', container 'c' isn't a CPU list"),
        ({"entries": {"u": {"c": "3-2"}}}, "container 'c': reversed range '3-2'"),
        ({"entries": {"u": "3-2"}}, "the entry of container 'u': reversed range '3-2'"),
        ({"entries": {"u": {"c": "2"}, "v": "3"}}, "the entry of pod 'v' isn't an object"),
        ({"podEntries": {"u": "2"}}, "the entry of pod 'u' isn't an object but '2'"),
        ({"podEntries": {"u": {"cpuSet": [2]}}}, "the entry of pod 'u' isn't a CPU list"),
    ],
)
def test_a_cpu_state_of_another_form_is_refused_with_the_place(
    members: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        cpu_state(**members)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"machineState": []}, "its machineState isn't an object but an array"),
        ({"machineState": {"-1": {}}}, "'-1', which isn't a NUMA node's id"),
        ({"machineState": {"00": {}}}, "'00', which isn't a NUMA node's id"),
        ({"machineState": {"9999999": {}}}, "'9999999', which isn't a NUMA node's id"),
        ({"machineState": {"0": "x"}}, "node '0' isn't an object but 'x'"),
        ({"machineState": {"0": {"memoryMap": {"memory": 5}}}}, "'memory' of node '0' isn't an"),
        ({"machineState": node(total=None)}, "the total of 'memory' of node '0' isn't a number"),
        ({"machineState": node(free=-1)}, "the free of 'memory' of node '0' isn't a number"),
        ({"machineState": node(free=2**64 - 1)}, "from 0 to 9223372036854775807"),
        ({"machineState": node(reserved="1")}, "the reserved of .* but '1'"),
        ({"machineState": node(allocatable=1.5)}, "the allocatable of .* but 1.5"),
        ({"machineState": node(systemReserved=True)}, "the systemReserved of .* but True"),
        ({"entries": {"u": {"c": {}}}}, "the entry of pod 'u', container 'c' isn't an array"),
        ({"entries": {"u": {"c": ["x"]}}}, "a block of .*container 'c' isn't an object but 'x'"),
        ({"entries": block(type="")}, "a block of .* has no type"),
        ({"entries": block(size=-1)}, "the size of a block of"),
        ({"entries": block(numaAffinity="0")}, "the numaAffinity of a block of"),
        ({"entries": block(numaAffinity=[-1])}, "a node of a block of"),
        ({"podEntries": {"u": []}}, "the entry of pod 'u' isn't an object but an array"),
    ],
)
def test_a_memory_state_of_another_form_is_refused_with_the_place(
    members: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        memory_state(**members)


def test_a_refusal_shows_a_part_of_a_long_text() -> None:
    with pytest.raises(ValueError, match="isn't an object") as refused:
        cpu_state(podEntries={"u" * 10_000: "x" * 10_000})
    assert len(str(refused.value)) < 300


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(
        st.sampled_from(["defaultCpuSet", "entries", "podEntries", "machineState", "data"]), JSON
    )
)
def test_no_json_gives_anything_but_a_state_or_a_value_error(members: dict[str, object]) -> None:
    for parse in (cpu_state, memory_state):
        try:
            parse(**members)
        except ValueError as error:
            assert str(error).isprintable()  # noqa: PT017


@settings(deadline=None, max_examples=200)
@given(JSON.map(json.dumps) | st.text(max_size=40))
def test_no_text_gives_anything_but_a_value_error(text: str) -> None:
    # A policyName is nothing that chance writes.
    for parse in (parse_cpu_state, parse_memory_state):
        with pytest.raises(ValueError, match=r"\w"):
            parse(text)
