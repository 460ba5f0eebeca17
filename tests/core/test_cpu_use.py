"""What CPUs are for: each counts once."""

from dataclasses import replace

from numa_agent.core.cpu_use import cpu_use
from numa_agent.core.report import Binding
from tests.core.test_report import GOOD, POD
from tests.machine_tree import TWO_NODES, cpus, numa_node, pod


def test_all_cpus_of_an_idle_machine_are_shared() -> None:
    nobody = {"own": 0, "kubelet": 0, "reserved": 0, "isolated": 0, "shared": 4}
    assert cpu_use(GOOD) == {0: nobody, 1: nobody}


def test_a_cpu_that_fits_several_uses_counts_for_the_first() -> None:
    report = replace(
        GOOD,
        topology=replace(TWO_NODES, isolated=cpus("0-7")),
        bindings=(Binding(pod=POD, cpus=cpus("0")), Binding(pod=pod(2), cpus=cpus("4"))),
        kubelet_exclusive=cpus("0-1"),
        reserved=cpus("0-2"),
    )
    assert cpu_use(report) == {
        0: {"own": 1, "kubelet": 1, "reserved": 1, "isolated": 1, "shared": 0},
        1: {"own": 1, "kubelet": 0, "reserved": 0, "isolated": 3, "shared": 0},
    }


def test_cpus_that_went_offline_are_not_counted() -> None:
    report = replace(GOOD, bindings=(Binding(pod=POD, cpus=cpus("3,8-9")),))
    assert sum(sum(uses.values()) for uses in cpu_use(report).values()) == 8
    assert cpu_use(report)[0]["own"] == 1


def test_cpus_without_a_node_are_counted_apart_and_nodes_without_cpus_not() -> None:
    nodes = (numa_node(0, "0-3"), numa_node(1, None), numa_node(2, ""))
    found = cpu_use(replace(GOOD, topology=replace(TWO_NODES, nodes=nodes)))
    assert set(found) == {0, None}
    assert found[None]["shared"] == 4
