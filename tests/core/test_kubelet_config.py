"""What kubelet's configuration says, with its defaults, and what of it can't be read."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_config import (
    eviction_bytes,
    merge,
    parse_settings,
    reserved_cpu_count,
)
from tests.machine_tree import cpus

MI, GI = 1024**2, 1024**3

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)
MEMBERS = (
    *("cpuManagerPolicy", "cpuManagerPolicyOptions", "memoryManagerPolicy", "cgroupRoot"),
    *("topologyManagerPolicy", "topologyManagerScope", "topologyManagerPolicyOptions"),
    *("reservedSystemCPUs", "systemReserved", "kubeReserved", "reservedMemory"),
    *("evictionHard", "mergeDefaultEvictionSettings", "kubeletconfig"),
)


def read(**members: object) -> KubeletSettings:
    """The settings of a file with these members, which can all be read."""
    found, problems = parse_settings(members)
    assert problems == ()
    return found


def problem(**members: object) -> str:
    """The one thing that is wrong with a file with these members."""
    _, problems = parse_settings(members)
    assert len(problems) == 1
    return problems[0]


def eviction(**members: object) -> str:
    return read(**members).eviction_memory


def test_an_empty_configuration_has_kubelet_s_defaults() -> None:
    assert read() == KubeletSettings(
        cpu_manager_policy="none",
        memory_manager_policy="None",
        topology_manager_policy="none",
        topology_manager_scope="container",
        reserved_cpus=None,
        eviction_memory="100Mi",
        cgroup_root="",
    )


def test_empty_texts_and_null_stand_for_the_default_too() -> None:
    members = ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerScope", "cgroupRoot")
    assert read(**dict.fromkeys(members, "")) == read(**dict.fromkeys(members)) == read()


def test_everything_that_decides_about_cpus_and_memory_is_read() -> None:
    assert read(
        cpuManagerPolicy="static",
        cpuManagerPolicyOptions={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
        memoryManagerPolicy="Static",
        topologyManagerPolicy="single-numa-node",
        topologyManagerScope="pod",
        topologyManagerPolicyOptions={"max-allowable-numa-nodes": "16"},
        systemReserved={"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"},
        kubeReserved={"cpu": "1", "memory": "512Mi", "pid": "1000"},
        reservedMemory=[
            {"numaNode": 1, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
            {"numaNode": 0, "limits": {"memory": 100 * MI, "hugepages-2Mi": "4Mi"}},
        ],
        evictionHard={"memory.available": "200Mi", "nodefs.available": "10%"},
        cgroupRoot="/kubelet",
        maxPods=110,
    ) == KubeletSettings(
        cpu_manager_policy="static",
        cpu_manager_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
        memory_manager_policy="Static",
        topology_manager_policy="single-numa-node",
        topology_manager_scope="pod",
        topology_manager_options={"max-allowable-numa-nodes": "16"},
        reserved={"cpu": 1500, "memory": 1536 * MI, "ephemeral-storage": GI, "pid": 1000},
        reserved_memory={
            0: {"memory": 100 * MI, "hugepages-2Mi": 4 * MI},
            1: {"memory": GI, "hugepages-1Gi": 2 * GI},
        },
        eviction_memory="200Mi",
        cgroup_root="/kubelet",
    )


def test_reserved_cpus_take_the_place_of_the_reserved_amounts_of_cpu() -> None:
    found = read(
        reservedSystemCPUs="0,4",
        systemReserved={"cpu": "500m", "memory": "1Gi"},
        kubeReserved={"cpu": "7"},
    )
    assert found.reserved_cpus == cpus("0,4")
    assert found.reserved == {"cpu": 2000, "memory": GI}
    assert reserved_cpu_count(found) == 2


@pytest.mark.parametrize("empty", ["", " ", None])
def test_an_empty_list_of_reserved_cpus_is_none(empty: str | None) -> None:
    found = read(reservedSystemCPUs=empty, kubeReserved={"cpu": "1500m"})
    assert found.reserved_cpus is None
    assert reserved_cpu_count(found) == 2


def test_reserved_parts_of_cpus_make_whole_ones_together() -> None:
    assert reserved_cpu_count(read()) == 0
    halves = read(systemReserved={"cpu": "500m"}, kubeReserved={"cpu": "500m"})
    assert reserved_cpu_count(halves) == 1
    assert reserved_cpu_count(read(kubeReserved={"cpu": "1.001"})) == 2


def test_a_given_eviction_hard_leaves_the_signals_out_that_it_doesn_t_name() -> None:
    assert eviction(evictionHard={"nodefs.available": "5%"}) == ""
    assert eviction(evictionHard={}) == ""
    assert eviction(evictionHard=None) == "100Mi"


def test_asked_to_kubelet_merges_its_default_thresholds_in() -> None:
    given = {"nodefs.available": "5%"}
    assert eviction(evictionHard=given, mergeDefaultEvictionSettings=True) == "100Mi"
    assert eviction(evictionHard=given, mergeDefaultEvictionSettings=False) == ""
    own = {"memory.available": "1Gi"}
    assert eviction(evictionHard=own, mergeDefaultEvictionSettings=True) == "1Gi"


@pytest.mark.parametrize("off", ["0%", "100%"])
def test_nothing_and_all_of_the_memory_are_no_threshold(off: str) -> None:
    found = read(evictionHard={"memory.available": off}, mergeDefaultEvictionSettings=True)
    assert found.eviction_memory == ""
    assert eviction_bytes(found, 64 * GI) == 0


@pytest.mark.parametrize("bad", ["", "0", "-1Gi", "101%", "-5%", "%", "5 %", "nan%", "1e9%", 5])
def test_a_threshold_that_kubelet_refuses_is_told_of_and_the_default_taken(bad: object) -> None:
    found, problems = parse_settings({"evictionHard": {"memory.available": bad}})
    assert found.eviction_memory == "100Mi"
    assert len(problems) == 1
    assert problems[0].startswith("evictionHard.memory.available: not a threshold")
    assert repr(bad) in problems[0]


@pytest.mark.parametrize(
    ("text", "memory", "kept"),
    [
        ("", GI, 0),
        ("100Mi", GI, 100 * MI),
        ("1.5Gi", GI, 3 * GI // 2),
        ("100M", GI, 100_000_000),
        # A tenth of 64 GiB and what kubelet's 32-bit fraction of it adds.
        ("10%", 64 * GI, 6871947776),
        ("25%", 64 * GI, 16 * GI),
        ("12.5%", 64 * GI, 8 * GI),
        ("50.%", GI, GI // 2),
        (".5%", 2000, 9),
    ],
)
def test_a_threshold_is_so_many_bytes_or_a_part_of_the_machine_s_memory(
    text: str, memory: int, kept: int
) -> None:
    assert eviction_bytes(KubeletSettings(eviction_memory=text), memory) == kept


def test_the_answer_of_configz_says_the_same_as_the_file() -> None:
    file = {"cpuManagerPolicy": "static", "evictionHard": {"memory.available": "1Gi"}}
    assert parse_settings({"kubeletconfig": file}) == parse_settings(file)


def test_a_running_kubelet_that_names_no_eviction_hard_has_none() -> None:
    # It has filled its defaults in, and JSON leaves an empty one out.
    for members in ({}, {"mergeDefaultEvictionSettings": True}, {"evictionHard": None}):
        found, problems = parse_settings({"kubeletconfig": members})
        assert (found.eviction_memory, problems) == ("", ())


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"cpuManagerPolicy": 5}, "cpuManagerPolicy: not a string: 5"),
        ({"topologyManagerScope": ["pod"]}, "topologyManagerScope: not a string: a list"),
        ({"memoryManagerPolicy": "Sta\ntic"}, r"memoryManagerPolicy: not a string: 'Sta\ntic'"),
        ({"cgroupRoot": {}}, "cgroupRoot: not a string: an object"),
        ({"reservedSystemCPUs": "3-0"}, "reversed range '3-0'"),
        ({"reservedSystemCPUs": 4}, "reservedSystemCPUs: not a CPU list (in quotes): 4"),
        ({"systemReserved": "cpu=1"}, "systemReserved: not an object: 'cpu=1'"),
        ({"kubeReserved": {5: "1"}}, "kubeReserved: not a name: 5"),
        ({"kubeReserved": {"cpu": "1x"}}, "kubeReserved.cpu: not a quantity: '1x'"),
        ({"systemReserved": {"memory": "-1"}}, "systemReserved.memory: not from 0 to"),
        ({"systemReserved": {"memory": "16E"}}, "systemReserved.memory: not from 0 to"),
        ({"systemReserved": {"memory": True}}, "systemReserved.memory: not a quantity: True"),
        ({"systemReserved": {"memory": 16**5000}}, "systemReserved.memory: "),
        ({"cpuManagerPolicyOptions": {"full-pcpus-only": True}}, "(in quotes): True"),
        ({"mergeDefaultEvictionSettings": "true"}, "neither true nor false: 'true'"),
        ({"evictionHard": "memory.available<1Gi"}, "evictionHard: not an object"),
        ({"reservedMemory": {}}, "reservedMemory: not a list: an object"),
        ({"reservedMemory": ["x"]}, "reservedMemory[0].numaNode: not a NUMA node's id: null"),
        ({"reservedMemory": [{"numaNode": -1}]}, "not a NUMA node's id: -1"),
        ({"reservedMemory": [{"numaNode": True}]}, "not a NUMA node's id: True"),
        ({"reservedMemory": [{"numaNode": 16**5000, "limits": 1}]}, "limits: not an object: 1"),
        ({"reservedMemory": [{"numaNode": 0}]}, "reservedMemory[0].limits: not an object: null"),
        (
            {"reservedMemory": [{"numaNode": 0, "limits": {"cpu": "1"}}]},
            "reservedMemory[0].limits: neither memory nor hugepages: 'cpu'",
        ),
        (
            {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "lots"}}]},
            "reservedMemory[0].limits.memory: not a quantity: 'lots'",
        ),
    ],
)
def test_a_member_that_can_t_be_read_is_named_and_costs_itself_alone(
    members: dict[str, object], named: str
) -> None:
    assert named in problem(**members)
    others: dict[str, Any] = {"topologyManagerPolicy": "restricted", "maxPods": 7}
    found, _ = parse_settings({**members, **others})
    assert found == read(topologyManagerPolicy="restricted")


def test_an_entry_that_can_t_be_read_leaves_the_others_of_its_object() -> None:
    found, problems = parse_settings(
        {
            "systemReserved": {"cpu": "1", "memory": "?"},
            "kubeReserved": {"cpu": "?", "memory": "1Gi"},
            "reservedMemory": [
                {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2": "1Gi"}},
                {"limits": {"memory": "1Gi"}},
                {"numaNode": 0, "limits": {"memory": "3Gi"}},
                {"numaNode": 1, "limits": {"memory": "2Gi"}},
            ],
        }
    )
    assert found.reserved == {"cpu": 1000, "memory": GI}
    assert found.reserved_memory == {0: {"memory": GI}, 1: {"memory": 2 * GI}}
    assert [told.split(":")[0] for told in problems] == [
        "systemReserved.memory",
        "kubeReserved.cpu",
        "reservedMemory[0].limits",
        "reservedMemory[1].numaNode",
        "reservedMemory[2].limits.memory",
    ]


def test_a_long_text_is_shown_in_part() -> None:
    assert len(problem(reservedSystemCPUs="x" * 10_000)) < 200
    assert len(problem(cpuManagerPolicy="x" * 10_000)) < 200


def test_drop_ins_lie_over_the_file_and_over_each_other() -> None:
    merged = merge(
        [
            {
                "kubeReserved": {"cpu": "1", "memory": "1Gi"},
                "reservedMemory": [{"numaNode": 0}, {"numaNode": 1}],
                "cpuManagerPolicy": "none",
                "maxPods": 110,
            },
            {"kubeReserved": {"memory": "2Gi"}, "cpuManagerPolicy": "static"},
            {"kubeReserved": {"memory": "3Gi", "pid": "9"}, "reservedMemory": [{"numaNode": 2}]},
        ]
    )
    assert merged["kubeReserved"] == {"cpu": "1", "memory": "3Gi", "pid": "9"}
    assert merged["reservedMemory"] == [{"numaNode": 2}]
    assert merged["cpuManagerPolicy"] == "static"
    assert merged["maxPods"] == 110


def test_a_null_in_a_drop_in_takes_a_member_back_to_its_default() -> None:
    base = {
        "cpuManagerPolicy": "static",
        "kubeReserved": {"cpu": "1", "memory": "1Gi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    }
    null = {
        "cpuManagerPolicy": None,
        "kubeReserved": {"cpu": None},
        "systemReserved": {"cpu": None},
        "reservedMemory": None,
    }
    assert read(**merge([base, null])) == read(kubeReserved={"memory": "1Gi"})


def test_a_drop_in_adds_to_the_default_thresholds_and_a_file_replaces_them() -> None:
    disk = {"evictionHard": {"nodefs.available": "5%"}}
    assert eviction(**merge([{}, disk])) == "100Mi"
    assert eviction(**merge([{"evictionHard": None}, disk])) == "100Mi"
    assert eviction(**merge([disk, {}])) == ""
    assert eviction(**merge([{"evictionHard": {}}, disk])) == ""
    assert eviction(**merge([{}, {"evictionHard": {"memory.available": "1Gi"}}])) == "1Gi"
    assert eviction(**merge([{}, {"evictionHard": {"memory.available": None}}])) == ""
    assert eviction(**merge([{}, {"evictionHard": None}])) == ""
    assert eviction(**merge([{}])) == "100Mi"


def test_default_thresholds_are_merged_into_the_file_s_and_not_into_drop_ins() -> None:
    ask = {"mergeDefaultEvictionSettings": True}
    disk = {"evictionHard": {"nodefs.available": "5%"}}
    assert eviction(**merge([{**ask, **disk}, {"maxPods": 1}])) == "100Mi"
    assert eviction(**merge([disk, ask])) == ""
    assert eviction(**merge([{**ask, **disk}, {"evictionHard": None}])) == ""
    own = {"evictionHard": {"memory.available": "1Gi"}}
    assert eviction(**merge([{**ask, **own}, {}])) == "1Gi"


def test_a_wrong_flag_is_told_of_whether_or_not_there_are_drop_ins() -> None:
    wrong = {"mergeDefaultEvictionSettings": "yes"}
    assert problem(**merge([wrong])) == problem(**merge([wrong, {}])) == problem(**wrong)


def test_merging_changes_none_of_the_documents() -> None:
    first: dict[str, Any] = {"kubeReserved": {"cpu": "1"}}
    second: dict[str, Any] = {"kubeReserved": {"cpu": "2"}}
    merge([first, second])
    assert (first, second) == ({"kubeReserved": {"cpu": "1"}}, {"kubeReserved": {"cpu": "2"}})
    assert merge([]) == {}


def test_documents_that_contain_themselves_are_merged_to_a_depth_and_no_further() -> None:
    endless: dict[str, Any] = {"kubeReserved": {"cpu": "1"}}
    endless["logging"] = endless
    assert read(**merge([endless, endless])).reserved == {"cpu": 1000}


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(MEMBERS), JSON))
def test_no_json_is_more_than_settings_and_sentences(document: dict[str, object]) -> None:
    found, problems = parse_settings(document)
    assert all(told.isprintable() and len(told) < 400 for told in problems)
    assert eviction_bytes(found, 64 * GI) >= 0
    assert reserved_cpu_count(found) >= 0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([None, {}, "none", "static"]), min_size=1, max_size=4))
def test_the_last_document_that_says_something_is_heard(said: list[Any]) -> None:
    documents = [{} if value == {} else {"cpuManagerPolicy": value} for value in said]
    heard = [value for value in said if value != {}]
    last = heard[-1] if heard else None
    assert read(**merge(documents)).cpu_manager_policy == (last or "none")
