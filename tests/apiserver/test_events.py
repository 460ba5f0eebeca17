"""Events on a real API server: where people find them, what they cost, what can't be told."""

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from numa_agent.agent import Teller
from numa_agent.cluster.api import Cluster, connect
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import ApiError, GoneError
from numa_agent.core.pods import Pod
from numa_agent.core.report import Report
from numa_agent.core.telling import REASONS, Due, Notice, Subject, about_node, about_pod
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE, Json, service_account_token
from tests.core.telling.values import EMPTY, proof, write
from tests.machine_tree import pod

pytestmark = pytest.mark.apiserver

NAMESPACES = "/api/v1/namespaces"


def due(subject: Subject, reason: str = "SecondPublisher", message: str = "odd") -> Due:
    return Due(
        notice=Notice(subject=subject, reason=REASONS[reason], message=message, key=message),
        age=0.0,
    )


def in_namespace(number: int, namespace: str) -> Pod:
    return replace(pod(number, "0-3"), namespace=namespace)


def make_namespace(plane: ControlPlane, name: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    plane.ask("POST", NAMESPACES, namespace)


def events(plane: ControlPlane, namespace: str, **selected: str) -> list[Json]:
    """The Events that a selector of kubectl's finds."""
    selector = ",".join(f"{key.replace('__', '.')}={value}" for key, value in selected.items())
    path = f"{NAMESPACES}/{namespace}/events?fieldSelector={selector}"
    found: list[Json] = plane.ask("GET", path)["items"]
    return found


def of_subject(plane: ControlPlane, subject: Subject) -> list[Json]:
    """What `kubectl describe` asks for."""
    of_pod = {"involvedObject__namespace": subject.namespace} if subject.namespace else {}
    return events(
        plane,
        subject.namespace or "default",
        involvedObject__name=subject.name,
        involvedObject__uid=subject.uid,
        **of_pod,
    )


def test_an_event_is_told_once_by_object_reason_and_words(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    node = about_node("told.example")
    for message in ("rte owns zones", "rte owns zones", "nfd owns zones"):
        cluster.record_event(due(node, message=message), host="told.example")
    found = of_subject(control_plane, node)
    assert sorted(each["message"] for each in found) == ["nfd owns zones", "rte owns zones"]
    assert {each["reason"] for each in found} == {"SecondPublisher"}
    assert {each["source"]["component"] for each in found} == {"numa-agent"}


def test_a_pod_s_event_is_where_kubectl_describe_looks_for_it(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    make_namespace(control_plane, "described")
    subject = about_pod(in_namespace(1, "described"))
    at = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    told = replace(due(subject, "CPUSetBind", "CPUs 0-3 are in force"), age=67.0)
    assert cluster.record_event(told, host="n1", at=at) == 1
    (found,) = of_subject(control_plane, subject)
    assert found["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "described",
        "name": "p1",
        "uid": subject.uid,
    }
    assert (found["type"], found["reason"], found["count"]) == ("Normal", "CPUSetBind", 1)
    assert found["firstTimestamp"] == "2026-03-04T05:05:00Z"
    assert found["lastTimestamp"] == "2026-03-04T05:06:07Z"
    same = events(control_plane, "described", reportingComponent="numa-agent", reason="CPUSetBind")
    assert [each["metadata"]["name"] for each in same] == [found["metadata"]["name"]]


def test_the_same_event_is_read_through_events_k8s_io(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    make_namespace(control_plane, "newer")
    subject = about_pod(in_namespace(1, "newer"))
    cluster.record_event(due(subject), host="n1")
    (found,) = control_plane.ask("GET", "/apis/events.k8s.io/v1/namespaces/newer/events")["items"]
    assert (found["note"], found["reportingController"]) == ("odd", "numa-agent")
    assert (found["regarding"]["uid"], found["deprecatedCount"]) == (subject.uid, 1)
    path = f"/apis/events.k8s.io/v1/namespaces/newer/events/{found['metadata']['name']}"
    # What keeps us at v1: the words of a fault that lasts couldn't be changed.
    with pytest.raises(AssertionError, match=r"HTTP 422.*immutable"):
        control_plane.ask("PATCH", path, {"note": "other"}, content_type=MERGE)


def test_an_event_that_is_repeated_is_counted_on_the_server(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    make_namespace(control_plane, "repeated")
    subject = about_pod(in_namespace(1, "repeated"))
    first = due(subject, message="9 bytes are free")
    assert cluster.record_event(first, host="n1") == 1
    again = replace(first, again=True, count=1)
    assert cluster.record_event(again, host="n1") == 2
    (found,) = of_subject(control_plane, subject)
    assert found["count"] == 2
    # After a restart nobody here knows the count, and the server tells it.
    assert cluster.record_event(first, host="n1") is None
    assert cluster.record_event(replace(again, count=None), host="n1") == 2


def test_an_event_to_repeat_that_the_server_forgot_is_gone(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    with pytest.raises(GoneError, match="Event about Node forgot"):
        cluster.record_event(replace(due(about_node("forgot")), again=True), host="forgot")


@pytest.mark.parametrize("name", ["n", "a" * 63, ".".join(["a" * 62] * 4), "a." * 126 + "a"])
def test_an_event_about_an_object_of_any_name_and_with_words_of_any_length_is_taken(
    name: str, cluster: Cluster
) -> None:
    cluster.record_event(due(about_node(name), message="ü" * 4000 + "\0\ud800"), host=name)
    cluster.record_event(
        due(Subject(about=about_pod(pod(1)).about, name=name, uid="u", namespace="default")),
        host=name,
    )


def test_an_event_that_may_not_be_made_is_an_error(control_plane: ControlPlane) -> None:
    with (
        closing(connect(control_plane.stranger_kubeconfig)) as stranger,
        pytest.raises(
            ApiError,
            match=r"can't create Event about Node n .*rights to create events in .* default$",
        ),
    ):
        stranger.record_event(due(about_node("n")), host="n")


def test_in_a_namespace_that_goes_or_has_gone_an_event_is_not_told_and_no_error(
    bare_control_plane: ControlPlane,
) -> None:
    make_namespace(bare_control_plane, "going")
    # Nobody runs here who would end the namespace: it stays as it is being deleted.
    bare_control_plane.ask("DELETE", f"{NAMESPACES}/going")
    with closing(connect(bare_control_plane.kubeconfig)) as cluster:
        for namespace in ("going", "never-there"):
            with pytest.raises(GoneError, match=namespace):
                cluster.record_event(due(about_pod(in_namespace(1, namespace))), host="n1")
        cluster.record_event(due(about_node("n1")), host="n1")


@dataclass
class Agent:
    """A Teller on a cluster, at a time of the test's choosing."""

    cluster: Cluster
    name: str
    now: float = 0.0
    teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.teller = Teller(
            lambda due: self.cluster.record_event(due, host=self.name),
            self.name,
            lambda: 0.5,
            lambda: self.now,
        )

    def passes(self, count: int, report: Report, *pods: Pod) -> Report:
        """So many passes, 30 s from one to the next, that find the same."""
        for _ in range(count):
            self.teller.tell(report, pods)
            self.teller.send_due()
            last = self.teller.with_troubles(report)
            self.now += 30
        return last


def faulty(pods: list[Pod]) -> Report:
    """A pass in which every pod's set is fought over."""
    conditions = tuple(
        Condition(code="drift-conflict", subject=each.full_name, message=f"{each.full_name}: odd")
        for each in pods
    )
    return replace(EMPTY, conditions=conditions)


def bound(pods: list[Pod]) -> Report:
    """A pass that wrote every pod's set, which is in force now."""
    template = write(1)
    return replace(
        EMPTY,
        writes=tuple(
            replace(template, step=replace(template.step, pod=each.full_name)) for each in pods
        ),
        proofs=tuple(proof(each, "0-3") for each in pods),
    )


@pytest.fixture
def own(bare_control_plane: ControlPlane) -> ControlPlane:
    """A server of the test's own, so that every request about Events in it is the test's."""
    make_namespace(bare_control_plane, "storm")
    return bare_control_plane


def test_a_storm_of_a_thousand_faults_costs_a_bounded_number_of_requests(
    own: ControlPlane,
) -> None:
    pods = [in_namespace(number, "storm") for number in range(1000)]
    with closing(connect(own.kubeconfig)) as cluster:
        agent = Agent(cluster, "n1")
        agent.passes(1, faulty(pods), *pods)
        assert own.counted("events") == {"create": 21}
        agent.passes(119, faulty(pods), *pods)  # an hour
    counted = own.counted("events")
    assert counted["create"] == 20 + 1 + 119 * 3
    assert counted["patch"] == 11  # every five minutes, the same one
    (held_back,) = of_subject(own, about_node("n1"))
    assert held_back["reason"] == "EventsHeldBack"
    assert held_back["count"] == 12
    assert "faults have no Event of their own yet: " in held_back["message"]
    assert len(events(own, "storm", reason="CPUSetConflict")) == 20 + 119 * 3


def test_a_restart_makes_no_event_anew_and_no_normal_one(own: ControlPlane) -> None:
    pods = [in_namespace(number, "storm") for number in range(5)]
    with closing(connect(own.kubeconfig)) as cluster:
        agent = Agent(cluster, "n1")
        agent.passes(2, replace(bound(pods), conditions=faulty(pods).conditions), *pods)
        before = {each["metadata"]["resourceVersion"] for each in events(own, "storm")}
        assert len(before) == 10
        agent.restart()
        again = replace(bound(pods), writes=(), conditions=faulty(pods).conditions)
        agent.passes(2, again, *pods)
    assert {each["metadata"]["resourceVersion"] for each in events(own, "storm")} == before
    assert own.counted("events") == {"create": 15}


def test_what_an_outage_kept_back_is_told_after_it_and_the_failure_is_named_once(
    own: ControlPlane,
) -> None:
    pods = [in_namespace(number, "storm") for number in range(3)]
    ended = replace(EMPTY, failures=("no sensor",))
    with closing(connect(own.kubeconfig)) as cluster:
        agent = Agent(cluster, "n1")
        own.halt()
        first = agent.passes(1, bound(pods), *pods)
        begun = time.monotonic()
        last = agent.passes(6, replace(ended, proofs=bound(pods).proofs), *pods)
        assert time.monotonic() - begun < 20
        own.resume()
        assert len(first.failures) == 1
        assert "is the server running" in first.failures[0]
        assert last.failures == ("no sensor", *first.failures)
        agent.now += 300
        healthy = agent.passes(2, replace(EMPTY, proofs=bound(pods).proofs), *pods)
        assert healthy.failures == ()
    reasons = {each["reason"] for each in events(own, "storm")}
    assert reasons == {"CPUSetBind"}
    assert of_subject(own, about_node("n1")) == []  # it ended before it could be told


def allow_events(plane: ControlPlane, namespace: str, account: str, *verbs: str) -> None:
    """Give a ServiceAccount of `default` rights on the Events of one namespace."""
    group, kinds = "rbac.authorization.k8s.io", ("Role", "RoleBinding")
    roles, bindings = (
        f"/apis/{group}/v1/namespaces/{namespace}/{kind.lower()}s" for kind in kinds
    )
    meta = {"apiVersion": f"{group}/v1", "metadata": {"name": account}}
    rule = {"apiGroups": [""], "resources": ["events"], "verbs": verbs}
    plane.ask("POST", roles, {**meta, "kind": "Role", "rules": [rule]})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
    reference = {"apiGroup": group, "kind": "Role", "name": account}
    binding = {**meta, "kind": "RoleBinding", "subjects": [subject], "roleRef": reference}
    plane.ask("POST", bindings, binding)
    wanted = {"namespace": namespace, "resource": "events", "verb": verbs[-1]}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": f"system:serviceaccount:default:{account}", "resourceAttributes": wanted},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    for _ in range(600):
        if plane.ask("POST", path, review)["status"]["allowed"]:
            return
        time.sleep(0.1)
    raise AssertionError(f"{account} may not {verbs[-1]} events after a minute")


def test_create_and_patch_on_events_are_all_the_rights_that_are_needed(own: ControlPlane) -> None:
    token = service_account_token(own, "teller")
    for namespace in ("storm", "default"):
        allow_events(own, namespace, "teller", "create", "patch")
    fought, unbound = in_namespace(1, "storm"), in_namespace(2, "storm")
    report = faulty([fought, unbound])
    with closing(connect(own.kubeconfig_for("teller", token))) as cluster:
        agent = Agent(cluster, "n1")
        assert agent.passes(120, report, fought, unbound).failures == ()
    assert [each["count"] for each in events(own, "storm")] == [2, 2]


def test_rights_that_are_missing_in_a_namespace_cost_its_pods_alone(own: ControlPlane) -> None:
    make_namespace(own, "closed")
    token = service_account_token(own, "narrow")
    for namespace in ("storm", "default"):
        allow_events(own, namespace, "narrow", "create", "patch")
    pods = [in_namespace(number, "closed") for number in range(8)] + [in_namespace(9, "storm")]
    report = replace(faulty(pods), problems=("pod a/b is left out",))
    kubeconfig: Path = own.kubeconfig_for("narrow", token)
    with closing(connect(kubeconfig)) as cluster:
        agent = Agent(cluster, "n1")
        last = agent.passes(4, report, *pods)
    (failure,) = last.failures
    assert "Pod closed/p" in failure
    assert "rights to create events in the namespace closed" in failure
    assert events(own, "closed") == []
    assert len(events(own, "storm")) == 1
    assert len(of_subject(own, about_node("n1"))) == 1
    assert own.counted("events") == {"create": 3}
