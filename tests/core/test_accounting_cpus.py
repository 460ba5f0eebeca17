"""CPUs of each NUMA node: what there is, what is kept back and what is held."""

import pytest

from numa_agent.core.accounting import unaccountable
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.topology import NumaNode
from tests.core.ledger import accounts, amounts, codes, grant, granted, static_state, two_nodes
from tests.core.ledger import with_cores as cores_of
from tests.machine_tree import cpus, machine, numa_node, pod

SMT = ("0,2", "1,3", "4,6", "5,7")


def test_a_machine_without_any_other_source_offers_every_cpu() -> None:
    assert amounts(accounts(two_nodes()), "cpu") == [(4, 4, 4), (4, 4, 4)]


def test_assigned_cpus_are_not_available_on_their_own_node_only() -> None:
    found = accounts(two_nodes(), pod(1), assigned={1: "2-4"})
    assert amounts(found, "cpu") == [(4, 4, 2), (4, 4, 3)]


def test_allocatable_stays_and_shared_pods_hold_nothing() -> None:
    # Case 39: only exclusive CPUs lower what is available, and nothing lowers allocatable.
    settings = KubeletSettings(cpu_manager_policy="static", reserved_cpus=cpus("0,4"))
    told = granted(grant(1, "2-3"), grant(2), offered="1-3,5-7")
    found = accounts(two_nodes(), pod(1), pod(2), settings=settings, granted=told)
    assert amounts(found, "cpu") == [(4, 3, 1), (4, 3, 3)]
    assert codes(found) == []


def test_a_node_whose_cpus_are_all_reserved_has_none_and_stays() -> None:
    # Case 40.
    settings = KubeletSettings(reserved_cpus=cpus("0-3"))
    found = accounts(two_nodes(), settings=settings)
    assert amounts(found, "cpu") == [(4, 0, 0), (4, 4, 4)]
    assert found.reserved == cpus("0-3")


def test_a_finished_pod_that_kubelet_still_lists_holds_nothing() -> None:
    # Case 22: kubelet before 1.34 lists ended pods, here with the CPUs of a running one.
    ended, running = pod(1, phase="Succeeded"), pod(2)
    told = granted(grant(1, "2-5"), grant(2, "2-5"), offered="0-7")
    found = accounts(two_nodes(), ended, running, granted=told)
    assert amounts(found, "cpu") == [(4, 4, 2), (4, 4, 2)]
    found = accounts(two_nodes(), ended, granted=told)
    assert amounts(found, "cpu") == [(4, 4, 2), (4, 4, 2)]  # p2 may be newer than the list
    found = accounts(two_nodes(), ended, granted=granted(grant(1, "2-5"), offered="0-7"))
    assert amounts(found, "cpu") == [(4, 4, 4), (4, 4, 4)]


def test_a_cpu_counts_once_however_many_sources_name_it() -> None:
    found = accounts(
        two_nodes(),
        pod(1),
        granted=granted(grant(1, "2-3"), offered="0-7"),
        cpu_state=static_state("0-1,4-7", p1="2-3"),
        assigned={1: "2-3"},
    )
    assert amounts(found, "cpu") == [(4, 4, 2), (4, 4, 4)]
    assert codes(found) == []


def test_sources_that_disagree_are_told_with_both_values_and_both_count() -> None:
    found = accounts(
        two_nodes(),
        pod(1),
        granted=granted(grant(1, "2-3"), offered="0-7"),
        cpu_state=static_state("0-3,6-7", p1="4-5"),
    )
    assert amounts(found, "cpu") == [(4, 4, 2), (4, 4, 2)]
    (condition,) = found.conditions
    assert condition.code == "cpu-sources-differ"
    assert "shop/p1 c1: podresources gives it CPUs 2-3" in condition.message
    assert "cpu_manager_state 4-5; both count" in condition.message


def test_the_shared_pool_that_an_old_kubelet_names_is_nobodys_own() -> None:
    state = CpuManagerState(policy="none", shared=cpus(""), entries={})
    told = granted(grant(1, "0-7"), grant(2, "0-7"))
    found = accounts(two_nodes(), pod(1), pod(2), granted=told, cpu_state=state)
    assert amounts(found, "cpu") == [(4, 4, 4), (4, 4, 4)]
    assert codes(found) == ["cpu-sources-differ"] * 2


def test_an_init_containers_cpus_in_the_state_file_are_held() -> None:
    # podresources never lists a plain init container.
    found = accounts(
        two_nodes(), pod(1), granted=granted(offered="0-7"), cpu_state=static_state(p1="4-6")
    )
    assert amounts(found, "cpu") == [(4, 4, 4), (4, 4, 1)]


def test_the_state_files_entry_of_an_ended_pod_holds_nothing() -> None:
    found = accounts(two_nodes(), pod(1, phase="Failed"), cpu_state=static_state(p1="4-6"))
    assert amounts(found, "cpu") == [(4, 4, 4), (4, 4, 4)]


def test_podresources_word_on_reserved_cpus_and_the_configurations_are_compared() -> None:
    settings = KubeletSettings(cpu_manager_policy="static", reserved_cpus=cpus("0"))
    found = accounts(two_nodes(), settings=settings, granted=granted(offered="0-6"))
    assert found.reserved == cpus("0,7")
    assert codes(found) == ["reserved-cpus-differ"]


def test_a_cpu_that_came_online_after_kubelet_started_isnt_given_out_by_it() -> None:
    found = accounts(two_nodes(), granted=granted(offered="0-6"))
    assert amounts(found, "cpu") == [(4, 4, 4), (4, 3, 3)]


def test_a_reservation_without_a_list_takes_whole_cores_from_the_lowest() -> None:
    topology = cores_of(two_nodes(), *SMT)
    settings = KubeletSettings(reserved={"cpu": 1500})
    assert accounts(topology, settings=settings).reserved == cpus("0,2")
    settings = KubeletSettings(reserved={"cpu": 2001})
    assert accounts(topology, settings=settings).reserved == cpus("0-2")
    settings = KubeletSettings(reserved={"cpu": 5000})
    assert accounts(topology, settings=settings).reserved == cpus("0-4")


def test_a_reservation_above_all_cpus_leaves_none() -> None:
    settings = KubeletSettings(reserved={"cpu": 99000})
    assert amounts(accounts(two_nodes(), settings=settings), "cpu") == [(4, 0, 0), (4, 0, 0)]


def test_the_node_tells_the_reservation_where_kubelets_file_isnt_there() -> None:
    node = Node(name="n", uid=None, capacity={"cpu": 8000}, allocatable={"cpu": 7500})
    assert accounts(two_nodes(), node=node).reserved == cpus("0")


def test_a_reservation_that_the_node_tells_otherwise_is_told_with_both_values() -> None:
    node = Node(name="n", uid=None, capacity={"cpu": 8000}, allocatable={"cpu": 6000})
    found = accounts(two_nodes(), node=node, settings=KubeletSettings(reserved={"cpu": 1000}))
    assert found.reserved == cpus("0-1")
    (condition,) = found.conditions
    assert condition.code == "reservation-differs"
    assert "say 1000m" in condition.message
    assert "the Node keeps 2000m back" in condition.message


def test_a_list_of_reserved_cpus_of_another_length_than_the_nodes_is_told() -> None:
    node = Node(name="n", uid=None, capacity={"cpu": 8000}, allocatable={"cpu": 8000})
    found = accounts(two_nodes(), node=node, settings=KubeletSettings(reserved_cpus=cpus("0")))
    assert codes(found) == ["reservation-differs"]


def test_a_node_that_keeps_more_than_its_list_of_cpus_keeps_the_lowest_others_too() -> None:
    node = Node(name="n", uid=None, capacity={"cpu": 8000}, allocatable={"cpu": 5000})
    found = accounts(two_nodes(), node=node, settings=KubeletSettings(reserved_cpus=cpus("1")))
    assert found.reserved == cpus("0-2")
    assert codes(found) == ["reservation-differs"]


def test_a_name_that_kubelet_since_1_34_lists_is_that_of_a_newer_pod() -> None:
    told = granted(grant(1, "0-3"), offered="0-7")
    for version, left in (("v1.34.0", 0), ("v1.33.9", 4), ("odd", 4)):
        node = Node(name="n", uid=None, kubelet_version=version)
        found = accounts(two_nodes(), pod(1, phase="Failed"), node=node, granted=told)
        assert amounts(found, "cpu") == [(4, 4, left), (4, 4, 4)]


def test_reserved_cpus_that_arent_online_are_told() -> None:
    found = accounts(two_nodes(), settings=KubeletSettings(reserved_cpus=cpus("0,9")))
    assert found.reserved == cpus("0")
    assert codes(found) == ["reserved-cpus-offline"]


def test_a_node_that_counted_other_cpus_than_are_online_is_told() -> None:
    node = Node(name="n", uid=None, capacity={"cpu": 7000})
    assert codes(accounts(two_nodes(), node=node)) == ["cpu-capacity-differs"]


@pytest.mark.parametrize(("policy", "left"), [("static", 2), ("none", 3)])
def test_half_a_core_isnt_available_where_kubelet_gives_whole_ones(policy: str, left: int) -> None:
    settings = KubeletSettings(
        cpu_manager_policy=policy, cpu_manager_options={"full-pcpus-only": "true"}
    )
    found = accounts(cores_of(two_nodes(), *SMT), pod(1), settings=settings, assigned={1: "0"})
    assert amounts(found, "cpu") == [(4, 4, left), (4, 4, 4)]


def test_nodes_without_cpus_are_not_offered() -> None:
    # Case 15: a GPU's memory is never given out as plain memory.
    topology = machine(numa_node(0, "0-71"), *(numa_node(n, "") for n in range(1, 9)))
    (only,) = accounts(topology).nodes
    assert only.node.id == 0


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ((), "no NUMA node with CPUs is known"),
        ((numa_node(0, "0"), numa_node(1, None)), "the CPUs of node 1 are unknown"),
        ((numa_node(0, "0", memory_bytes=None),), "the memory of node 0 is unknown"),
    ],
)
def test_a_machine_with_a_part_unknown_has_no_account(
    nodes: tuple[NumaNode, ...], why: str
) -> None:
    assert unaccountable(machine(*nodes)) == why
