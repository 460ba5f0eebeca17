"""A pod's binding is told once, by the agent that made it, and never because of a restart."""

from dataclasses import replace

from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof, Write
from numa_agent.core.telling import Bindings
from tests.core.telling.values import EMPTY, proof, report, write
from tests.machine_tree import container, pod

P1, P2 = pod(1), pod(2)


def told(
    bindings: Bindings, *proofs: Proof, writes: tuple[Write, ...] = (), pods: tuple[Pod, ...] = ()
) -> list[str]:
    live = pods or tuple({each.pod.uid: each.pod for each in proofs}.values())
    found = bindings.hear(report(proofs=proofs, writes=writes), live)
    return [f"{each.subject.name}: {each.message}" for each in found]


IN_FORCE = "p1: CPUs 0-3 of NUMA node 0 are in force for container c1"


def test_a_pod_that_the_agent_bound_is_told_once() -> None:
    bindings = Bindings()
    assert told(bindings, proof(P1, "0-3"), writes=(write(1),)) == [IN_FORCE]
    assert told(bindings, proof(P1, "0-3")) == []
    assert told(bindings, proof(P1, "0-3"), writes=(write(1),)) == []  # drift, written back


def test_a_restart_tells_nothing_of_what_is_in_force() -> None:
    bindings = Bindings()
    assert told(bindings, proof(P1, "0-3"), proof(P2, "4-5")) == []
    assert told(bindings, proof(P1, "0-3"), proof(P2, "4-5")) == []


def test_a_pod_that_came_since_is_told_though_it_was_bound_between_passes() -> None:
    bindings = Bindings()
    told(bindings, proof(P2, "4-5"))
    assert told(bindings, proof(P1, "0-3"), proof(P2, "4-5")) == [IN_FORCE]


def test_a_pod_that_was_there_and_was_written_between_passes_is_told() -> None:
    bindings = Bindings()
    told(bindings, pods=(P1,))
    bindings.saw([write(1)])
    assert told(bindings, proof(P1, "0-3")) == [IN_FORCE]


def test_pods_that_were_unknown_at_the_start_are_not_new_when_they_are_known() -> None:
    bindings = Bindings()
    assert bindings.hear(replace(EMPTY, looked=False), ()) == ()
    assert told(bindings, proof(P1, "0-3")) == []


def test_a_write_that_failed_is_no_binding() -> None:
    bindings = Bindings()
    assert told(bindings, proof(P1, "0-3"), writes=(write(1, "wasn't taken"),)) == []


def test_what_is_not_in_force_yet_is_told_when_it_is() -> None:
    bindings = Bindings()
    assert told(bindings, proof(P1, "0-3", "0-7"), writes=(write(1),)) == []
    assert told(bindings, proof(P1, "0-3")) == [IN_FORCE]


def test_another_assignment_is_told_again() -> None:
    bindings = Bindings()
    told(bindings, proof(P1, "0-3"))
    assert told(bindings, proof(P1, "2-5"), writes=(write(1),)) == [
        "p1: CPUs 2-5 of NUMA nodes 0-1 are in force for container c1"
    ]


def test_containers_with_other_sets_are_told_together() -> None:
    own = pod(1, containers=(container(1), container(2), container(3)))
    proofs = (
        proof(own, "0-1"),
        proof(own, "0-1", container=1),
        proof(own, "4", container=2),
    )
    assert told(Bindings(), *proofs, writes=(write(1),)) == [
        "p1: CPUs 0-1 of NUMA node 0 are in force for containers c1, c2;"
        " CPUs 4 of NUMA node 1 are in force for container c3"
    ]


def test_what_is_remembered_goes_with_the_pods() -> None:
    bindings = Bindings()
    for number in range(500):
        own = pod(number)
        told(bindings, proof(own, "0-3"), writes=(write(number), write(number + 1)))
    told(bindings)
    sizes = {name: len(kept) for name, kept in vars(bindings).items()}
    assert sizes == {"_bound": 0, "_found": 0, "_written": 0}
