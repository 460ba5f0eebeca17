"""When nothing is bound, since what kubelet gave out isn't known or nothing could be written."""

from collections.abc import Callable, Iterator

import pytest

from numa_agent.agent import Kept, NodeSources, run_pass
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import PodsRead
from tests.machine_tree import TWO_NODES, container, cpus, pod, uid
from tests.one_pass import Cluster, fails, kernel, ports, static_state, take


def test_no_cpu_is_given_out_by_an_old_state_of_kubelet() -> None:
    states: list[Callable[[], CpuManagerState | None]] = [lambda: None]
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", lambda: PodsRead((pod(1, "0-3"),), ())),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", lambda: states[-1]()),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    run_pass(ports(sources, kernel(), Cluster().publish))
    states.append(fails("damaged"))
    machine, cluster = kernel(1), Cluster()
    report = run_pass(ports(sources, machine, cluster.publish))
    assert (machine.writes, report.looked) == ([], False)
    assert report.failures[0] == "damaged"
    assert "kubelet's state isn't of now" in report.failures[1]
    assert "cpu-manager-state is 0 s old and the pods are of now" in report.failures[2]
    assert cluster.objects == []


def test_no_cpu_is_given_out_while_kubelet_s_state_names_no_pods() -> None:
    # The form of kubelet up to 1.17, by container: whose CPUs they are is unknown.
    machine, holder = kernel(1), "a" * 64
    state = CpuManagerState(
        policy="static", shared=cpus(""), entries={holder: {holder: cpus("7")}}
    )
    report = take(pod(1, "0-3"), at=machine, cpu_state=lambda: state)
    assert machine.writes == []
    assert "names containers without their pods" in report.failures[0]
    assert not report.looked


NONE = KubeletSettings(cpu_manager_policy="none")


@pytest.mark.parametrize("settings", [None, KubeletSettings(cpu_manager_policy="static")])
def test_a_state_that_isnt_there_is_not_taken_for_policy_none(
    settings: KubeletSettings | None,
) -> None:
    # A folder of kubelet's that is somewhere else, or isn't mounted, looks the same.
    machine = kernel(1)
    report = take(pod(1, "0-3"), at=machine, cpu_state=lambda: None, settings=settings)
    assert (machine.writes, report.looked, report.good) == ([], False, False)
    assert "its policy isn't known to be none" in report.failures[0]


def test_without_a_state_policy_none_gives_nothing_out() -> None:
    # kubelet up to 1.17 writes no state for it.
    machine = kernel(1)
    report = take(pod(1, "0-3"), at=machine, cpu_state=lambda: None, settings=NONE)
    assert machine.writes == [(uid(1), cpus("0-3"))]
    assert report.good


def test_what_kubelet_gives_out_during_a_pass_is_left_to_the_next_one() -> None:
    machine = kernel(1, 2)
    states = _each(static_state({}), static_state({uid(2): cpus("0-1")}))
    both = (pod(1, "0-3"), pod(2, containers=(container(2),)))
    report = take(*both, at=machine, cpu_state=lambda: next(states))
    assert (machine.writes, report.looked) == ([], False)
    assert "changed meanwhile" in report.failures[0]


def test_a_hierarchy_that_can_t_be_written_is_said_once_and_not_once_per_pod() -> None:
    machine = kernel(1, 2)
    machine.read_only = True
    report = take(pod(1, "0-1"), pod(2, "2-3"), at=machine)
    assert report.failures == ("no CPU is given out: the cgroup mount is read-only",)
    assert (machine.writes, report.writes) == ([], ())


def test_a_set_of_ours_that_lacks_what_kubelet_gave_a_pod_is_widened_for_it() -> None:
    # A pod that was bound before kubelet's policy became static, and restarted.
    machine = kernel(1)
    machine.configured[uid(1)] = cpus("0-3")
    report = take(pod(1), at=machine, exclusive=lambda: {uid(1): cpus("4-5")})
    assert machine.writes == [(uid(1), cpus("0-7"))]
    assert "which its directory lacks" in report.writes[0].step.reason


def test_a_set_that_holds_what_kubelet_gave_a_pod_is_kubelet_s_to_keep() -> None:
    machine = kernel(1)
    machine.configured[uid(1)] = cpus("0-5")
    take(pod(1), at=machine, exclusive=lambda: {uid(1): cpus("4-5")})
    assert machine.writes == []


def _each(*states: CpuManagerState) -> Iterator[CpuManagerState]:
    yield from states
    while True:
        yield states[-1]
