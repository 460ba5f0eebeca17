"""One pass: what it does, what a failing source costs, and that a second one has nothing to do."""

from collections.abc import Callable

import pytest

from numa_agent.agent import Kept, NodeSources, Teller, run_pass
from numa_agent.core.errors import SourceError
from numa_agent.core.grants import Offer, PodResources
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import PodsRead
from numa_agent.core.publishing import Outcome, Published, Rival
from numa_agent.core.telling import Due
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Alignment
from numa_agent.core.view import Json
from tests.machine_tree import (
    TWO_NODES,
    container,
    cpus,
    machine,
    numa_node,
    pod,
    uid,
)
from tests.one_pass import (
    Cluster,
    alignments,
    fails,
    kernel,
    outcomes,
    ports,
    static_state,
    take,
)


def test_a_pass_maps_publishes_binds_and_proves() -> None:
    machine, cluster = kernel(1, 2), Cluster()
    report = take(pod(1, "0-3"), pod(2, "6"), at=machine, publish=cluster.publish)
    assert report.good
    assert report.topology is TWO_NODES
    assert outcomes(report) == [Outcome.CREATED]
    assert cluster.objects == [each.manifest for each in report.publications]
    assert machine.writes == [(uid(1), cpus("0-3")), (uid(2), cpus("6"))]
    assert [write.error for write in report.writes] == [None, None]
    assert alignments(report) == [Alignment.ALIGNED, Alignment.ALIGNED]


def test_what_is_published_leaves_out_the_cpus_assigned_in_this_very_pass() -> None:
    cluster = Cluster()
    take(pod(1, "0-2"), at=kernel(1), publish=cluster.publish)
    (manifest,) = cluster.objects
    assert "'capacity': '4', 'allocatable': '4', 'available': '1'" in str(manifest)


def test_a_second_pass_writes_nothing() -> None:
    machine, cluster = kernel(1, 2), Cluster()
    pods = (pod(1, "0-3"), pod(2, "4-7"))
    take(*pods, at=machine, publish=cluster.publish)
    written = list(machine.writes)
    report = take(*pods, at=machine, publish=cluster.publish)
    assert machine.writes == written
    assert report.writes == ()
    assert report.good
    assert outcomes(report) == [Outcome.UNCHANGED]


def test_a_pod_without_an_assignment_is_left_alone() -> None:
    machine = kernel(1)
    report = take(pod(1), at=machine)
    assert (report.good, report.proofs, machine.writes) == (True, (), [])


def test_the_verdict_is_of_what_is_in_force_after_the_writes() -> None:
    # Somebody else leaves the pods 4-7 only meanwhile, so that 0-3 is taken and means nothing.
    report = take(pod(1, "0-3"), at=kernel(1, shrinks_to="4-7"))
    assert [write.error for write in report.writes] == [None]
    assert alignments(report) == [Alignment.REMOTE]
    assert not report.good


def test_without_a_map_there_is_no_pass() -> None:
    with pytest.raises(SourceError, match="no root"):
        take(pod(1, "0"), at=kernel(1), topology=fails("no root"))


@pytest.mark.parametrize("gone", ["pods", "kubelet"])
def test_without_the_pods_or_kubelet_s_cpus_nothing_is_published_or_written(gone: str) -> None:
    machine, cluster = kernel(1), Cluster()
    report = take(
        pod(1, "0-3"),
        at=machine,
        publish=cluster.publish,
        read_pods=fails("no pods") if gone == "pods" else None,
        exclusive=fails("no kubelet") if gone == "kubelet" else dict,
    )
    assert report.failures == (f"no {gone}",)
    assert (cluster.objects, machine.writes) == ([], [])
    assert (report.publications, report.writes, report.proofs) == ((), (), ())
    assert report.topology is TWO_NODES
    assert not report.good


def test_without_the_node_s_identity_nothing_is_published_and_all_is_bound() -> None:
    machine, cluster = kernel(1), Cluster()
    report = take(
        pod(1, "0-3"),
        at=machine,
        publish=cluster.publish,
        node=fails("no node"),
        settings=KubeletSettings(reserved_cpus=cpus("7")),
    )
    assert report.failures == ("no node",)
    assert (cluster.objects, report.publications) == ([], ())
    assert alignments(report) == [Alignment.ALIGNED]
    assert not report.good


def test_while_nobody_says_what_is_reserved_no_more_cpus_are_given_out() -> None:
    # Without the Node, and with settings that name none: any CPU may be the system's.
    machine = kernel(1, 2)
    machine.configured[uid(1)] = cpus("0-3")
    both = (pod(1, "0-3"), pod(2, "4-5", containers=(container(2),)))
    report = take(*both, at=machine, node=fails("no node"))
    assert [each.code for each in report.refusals] == ["reserved-unknown"]
    assert "gives CPUs 4-5, of which 4-5 may be reserved" in report.refusals[0].message
    assert "degraded" not in {each.code for each in report.conditions}
    # What is in force stays, and the rest shares what is left.
    assert machine.configured == {uid(1): cpus("0-3"), uid(2): cpus("4-7")}


@pytest.mark.parametrize("named", [True, False])
def test_without_the_node_kubelet_says_what_is_reserved(named: bool) -> None:
    machine = kernel(1)
    settings = KubeletSettings(reserved_cpus=cpus("0-1") if named else None)
    offer = None if named else Offer(cpus=cpus("2-7"), devices=(), memory=())
    granted = PodResources(pods=frozenset(), containers=(), offer=offer)
    report = take(
        pod(1, "0-3"),
        at=machine,
        node=fails("no node"),
        settings=settings,
        granted=lambda: granted,
    )
    assert [each.code for each in report.refusals] == ["cpus-reserved"]
    assert report.reserved == cpus("0-1")


def test_settings_that_were_never_read_leave_open_what_is_reserved() -> None:
    # They may name CPUs, whose number alone the Node knows.
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", lambda: PodsRead((pod(1, "0-3"),), ())),
        settings=Kept("kubelet-configuration", fails("cut short")),
        cpu_state=Kept("cpu-manager-state", lambda: static_state({})),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    report = run_pass(ports(sources, kernel(1), Cluster().publish))
    assert [each.code for each in report.refusals] == ["reserved-unknown"]


def test_when_publishing_fails_all_is_bound() -> None:
    machine = kernel(1)
    report = take(pod(1, "0-3"), at=machine, publish=fails("api server down"))
    assert outcomes(report) == [Outcome.UNAVAILABLE]
    (publication,) = report.publications
    assert publication.published is not None
    assert publication.published.detail == "api server down"
    assert publication.manifest["kind"] == "NodeResourceTopology"
    assert machine.writes == [(uid(1), cpus("0-3"))]
    assert alignments(report) == [Alignment.ALIGNED]
    assert not report.good


def test_a_slow_api_server_keeps_no_container_waiting_for_its_cpus() -> None:
    machine = kernel(1)
    bound_by_then: list[int] = []

    def publish(_: Json) -> None:
        bound_by_then.append(len(machine.writes))

    take(pod(1, "0-3"), at=machine, publish=publish)
    assert bound_by_then == [1]


def test_a_cgroup_that_can_t_be_looked_for_costs_its_container_alone() -> None:
    machine = kernel(1, 2, hidden=frozenset({uid(1)}))
    report = take(pod(1, "0-3"), pod(2, "4-5"), at=machine)
    assert report.failures == ("p1: Permission denied",)
    assert machine.writes == [(uid(2), cpus("4-5"))]
    assert alignments(report) == [Alignment.UNKNOWN, Alignment.ALIGNED]
    assert not report.good


def test_a_container_whose_cgroup_isn_t_there_is_not_called_good() -> None:
    report = take(pod(1, "0-3"), at=kernel())
    assert (report.failures, report.writes) == ((), ())
    assert alignments(report) == [Alignment.UNKNOWN]
    assert not report.good


def test_a_write_that_is_refused_costs_its_container_alone() -> None:
    machine = kernel(1, 2, refuses=frozenset({uid(1)}))
    report = take(pod(1, "0-3"), pod(2, "4-5"), at=machine)
    assert [write.error for write in report.writes] == [f"{uid(1)}: wasn't taken", None]
    assert machine.writes == [(uid(2), cpus("4-5"))]
    assert alignments(report) == [Alignment.REMOTE, Alignment.ALIGNED]
    assert report.failures == ()
    assert not report.good


def test_a_refused_pod_and_one_left_out_are_told_of_and_cost_themselves_alone() -> None:
    machine = kernel(1, 2)
    report = take(pod(1, "8"), pod(2, "4-5"), at=machine, problems=("pod x/y is left out",))
    assert [refusal.code for refusal in report.refusals] == ["cpus-not-online"]
    assert report.problems == ("pod x/y is left out",)
    assert (uid(2), cpus("4-5")) in machine.writes
    assert (uid(1), cpus("0-3,6-7")) in machine.writes
    assert not report.good


def test_kubelet_s_exclusive_cpus_are_not_given_out() -> None:
    other = pod(2, containers=(container(2),))
    machine = kernel(1, 2)
    report = take(pod(1, "0-3"), other, at=machine, exclusive=lambda: {other.uid: cpus("3-4")})
    assert [refusal.code for refusal in report.refusals] == ["cpus-taken"]
    assert machine.writes == [(uid(1), cpus("0-2,5-7"))]


@pytest.mark.parametrize(
    "unsure", [machine(), machine(numa_node(0, "0-3"), numa_node(1, None), online="0-7")]
)
def test_a_map_with_unknown_cpus_is_not_published_and_said_so(unsure: Topology) -> None:
    cluster = Cluster()
    report = take(at=kernel(), topology=lambda: unsure, publish=cluster.publish)
    assert cluster.objects == []
    assert "nothing is published" in report.failures[0]


def test_what_kubelet_gave_out_is_not_available() -> None:
    cluster, other = Cluster(), pod(2)
    take(other, at=kernel(2), exclusive=lambda: {other.uid: cpus("0-3")}, publish=cluster.publish)
    assert "'allocatable': '4', 'available': '0'" in str(cluster.objects)


def test_with_a_pod_left_out_no_exclusive_cpu_counts_as_free() -> None:
    report = take(
        pod(1, "0-3"),
        at=kernel(1),
        exclusive=lambda: {uid(9): cpus("0-3")},
        problems=("pod a/b is left out",),
    )
    assert [refusal.code for refusal in report.refusals] == ["cpus-taken"]


def test_fewer_cpus_than_decided_are_not_good_though_they_lie_in_one_node() -> None:
    report = take(pod(1, "0-3"), at=kernel(1, shrinks_to="0-1"))
    assert alignments(report) == [Alignment.ALIGNED]
    assert "CPUs 0-1 are in force of 0-3 decided" in report.proofs[0].verdict.reason
    assert not report.good


@pytest.mark.parametrize(
    "granted",
    [PodResources(pods=frozenset(), containers=(), offer=None, problems=("odd entry",)), None],
)
def test_what_kubelet_gave_out_must_be_readable_for_anything_to_be_published(
    granted: PodResources | None,
) -> None:
    machine, cluster = kernel(1), Cluster()
    broken = fails("no socket") if granted is None else (lambda: granted)
    report = take(pod(1, "0-3"), at=machine, publish=cluster.publish, granted=broken)
    assert cluster.objects == []
    assert len(report.failures) == 1
    assert ("odd entry" if granted else "no socket") in report.failures[0]
    assert alignments(report) == [Alignment.ALIGNED]


def test_a_source_that_fails_later_keeps_its_last_value_and_grows_older() -> None:
    answers: list[Callable[[], PodsRead]] = [lambda: PodsRead((pod(1, "0-2"),), ())]
    moment = [100.0]
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", lambda: answers[-1](), clock=lambda: moment[0]),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", lambda: None),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    machine, cluster = kernel(1), Cluster()
    first = run_pass(ports(sources, machine, cluster.publish))
    answers.append(fails("api server down"))
    moment[0] = 130.0
    second = run_pass(ports(sources, machine, cluster.publish))
    assert cluster.objects[0] == cluster.objects[1]
    assert outcomes(second) == [Outcome.UNCHANGED]
    assert alignments(second) == [Alignment.ALIGNED]
    assert second.failures == ("api server down",)
    ages = {each.source: (each.age_seconds, each.error) for each in second.sources}
    assert ages["pods"] == (30.0, "api server down")
    assert ages["node"] == (0.0, None)
    assert {each.age_seconds for each in first.sources} == {0.0}


def rival_of(manifest: Json) -> Published:
    rival = Rival(manager="koordlet", operation="Update", time=None, fields=("zones",))
    return Published(outcome=Outcome.STOOD_BACK, detail="another", rivals=(rival,))


def teller(record: Callable[[Due], None]) -> Teller:
    return Teller(record, "n1", lambda: 0.5)


def test_a_second_publisher_is_a_condition_and_an_event_and_not_good() -> None:
    told: list[Due] = []
    report = take(at=kernel(), publish=rival_of, teller=teller(told.append))
    (condition,) = (each for each in report.conditions if each.code == "second-publisher")
    assert "koordlet (Update) owns zones" in condition.message
    assert [(due.notice.reason.name, due.notice.message) for due in told] == [
        ("SecondPublisher", condition.message)
    ]
    assert not report.good


def test_a_pass_that_knows_no_pods_is_told_of_like_any_other() -> None:
    told: list[Due] = []
    gone = fails("no pods")
    report = take(at=kernel(), publish=rival_of, teller=teller(told.append), read_pods=gone)
    assert report.failures == ("no pods",)
    assert told == []


def test_an_event_that_can_t_be_made_costs_itself_alone() -> None:
    machine = kernel(1)
    report = take(pod(1, "0-3"), at=machine, publish=rival_of, teller=teller(fails("no events")))
    assert report.failures == ("no events",)
    assert alignments(report) == [Alignment.ALIGNED]


def test_a_recorded_machine_s_object_is_made_and_not_sent() -> None:
    report = take(at=kernel(), publish=lambda _: None)
    assert outcomes(report) == [None]
    assert report.good
