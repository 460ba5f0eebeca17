"""Which annotation counts for a pod, when two disagree, and whose word is believed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.decision import decide, untrusted
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from tests.machine_tree import container, cpus, pod

OWN = "numa-agent.io/assignment"
STATUS = "scheduling.koordinator.sh/resource-status"
SWITCH = "cpuset-scheduler"
SPEC = "scheduling.alibabacloud.com/numa-topology-spec"


def own(**members: object) -> str:
    return json.dumps({"version": 1, **members})


def elements(**containers: str) -> str:
    """ACK's cpuset, all CPUs in NUMA node 0."""
    return json.dumps(
        {
            name: {"0": {"elems": {str(cpu): {} for cpu in sorted(cpus(text))}}}
            for name, text in containers.items()
        }
    )


def annotated(annotations: dict[str, str], *containers: str) -> Pod:
    """A pod whose spec has these containers; none stands for a spec that wasn't seen."""
    demands = [Demand(container=name, role=Role.APP, requests={}) for name in containers]
    return replace(
        pod(1, containers=tuple(container(1, name=name) for name in containers)),
        annotations=annotations,
        demands=Demands(containers=tuple(demands)),
    )


def refusal(refused: Pod, *trust: Any) -> AssignmentError:
    with pytest.raises(AssignmentError) as caught:
        decide(refused, *trust)
    return caught.value


@pytest.mark.parametrize(
    ("annotations", "source", "place"),
    [
        ({OWN: own(cpus="2-3")}, OWN, Placement(cpus=cpus("2-3"))),
        ({STATUS: '{"cpuset": "2-3"}'}, STATUS, Placement(cpus=cpus("2-3"))),
        (
            {SWITCH: "required", "cpuset": elements(app="2-3")},
            "cpuset",
            Placement(cpus=cpus("2-3"), mems=frozenset({0})),
        ),
        # ACK's newer feature may write as Koordinator does: that isn't documented.
        (
            {SWITCH: "required", STATUS: '{"cpuset": "2-3"}'},
            STATUS,
            Placement(cpus=cpus("2-3")),
        ),
    ],
)
def test_each_language_alone_decides(
    annotations: dict[str, str], source: str, place: Placement
) -> None:
    found = decide(annotated(annotations, "app"))
    assert found is not None
    assert (found.source, found.of("app")) == (source, place)


@pytest.mark.parametrize(
    "annotations",
    [{}, {"cpuset": elements(app="2")}, {SWITCH: "true"}, {STATUS: "{}"}, {SPEC: "{}"}],
)
def test_where_nothing_is_decided_there_is_no_assignment(annotations: dict[str, str]) -> None:
    assert decide(annotated(annotations, "app")) is None


@pytest.mark.parametrize(
    "bad",
    [
        {OWN: '{"version": 1, "cpus": "all"}'},
        {STATUS: '{"cpuset": "3-2"}'},
        {SWITCH: "true", "cpuset": "0-3"},
        {SWITCH: "prefer"},
        {SPEC: '{"numaTopologyPolicy": "SingleNUMANode",}'},
        {"scheduling.koordinator.sh/numa-topology-spec": "x"},
    ],
)
def test_one_bad_annotation_costs_the_pod_its_good_ones(bad: dict[str, str]) -> None:
    good = {OWN: own(cpus="2-3"), STATUS: '{"cpuset": "2-3"}'}
    error = refusal(annotated({**good, **bad}, "app"))
    assert error.code == "malformed"
    assert str(error).startswith(f"{[*bad][-1]} {[*bad.values()][-1]!r}: ")


def test_two_languages_that_decide_the_same_cpus_agree() -> None:
    said = {
        STATUS: '{"cpuset": "2-3", "numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]}',
        SWITCH: "true",
        "cpuset": elements(app="2-3", log="2-3"),
    }
    found = decide(annotated(said, "app", "log"))
    place = Placement(cpus=cpus("2-3"), mems=frozenset({1}))
    assert found == Assignment(
        source=f"{STATUS} and cpuset", pod=place, containers={"app": place, "log": place}
    )


def test_all_three_languages_can_agree() -> None:
    said = {
        OWN: own(mems="0-1", containers={"app": {"cpus": "2-3"}}),
        STATUS: '{"cpuset": "2-3"}',
        SWITCH: "true",
        "cpuset": elements(app="2-3"),
    }
    found = decide(annotated(said, "app"))
    assert found is not None
    assert found.source == f"{OWN} and {STATUS} and cpuset"
    assert found.of("app") == Placement(cpus=cpus("2-3"), mems=frozenset({0, 1}))


def test_memory_nodes_alone_are_added_to_the_cpus_of_another_language() -> None:
    for own_text in (own(mems="1"), own(containers={"app": {"mems": "1"}})):
        found = decide(annotated({OWN: own_text, STATUS: '{"cpuset": "2-3"}'}, "app"))
        assert found is not None
        assert found.of("app") == Placement(cpus=cpus("2-3"), mems=frozenset({1}))


def test_memory_nodes_are_those_of_the_first_language_that_names_any() -> None:
    status = (
        '{"cpuset": "2-3", "numaNodeResources": [{"node": 1, "resources": {"memory": "1Gi"}}]}'
    )
    for own_text, node in ((own(cpus="2-3"), 1), (own(cpus="2-3", mems="0"), 0)):
        found = decide(annotated({OWN: own_text, STATUS: status}, "app"))
        assert found is not None
        assert found.of("app") == Placement(cpus=cpus("2-3"), mems=frozenset({node}))


@pytest.mark.parametrize(
    "said",
    [
        {OWN: own(cpus="2-4"), STATUS: '{"cpuset": "2-3"}'},
        {OWN: own(nodes="0"), STATUS: '{"cpuset": "2-3"}'},
        {
            OWN: own(nodes="0"),
            STATUS: '{"numaNodeResources": [{"node": 1, "resources": {"cpu": "1"}}]}',
        },
        {OWN: own(containers={"app": {"cpus": "2-3"}}), STATUS: '{"cpuset": "2-3"}'},
    ],
)
def test_two_languages_that_decide_different_cpus_are_refused_with_both_texts(
    said: dict[str, str],
) -> None:
    error = refusal(annotated(said, "app", "log"))
    assert error.code == "conflicting"
    first, other = (f"{key} {text!r}" for key, text in said.items())
    assert str(error) == f"{first} and {other} decide different CPUs: remove one"


def test_a_container_that_only_one_language_binds_is_a_conflict() -> None:
    said = {STATUS: '{"cpuset": "2-3"}', SWITCH: "true", "cpuset": elements(app="2-3")}
    assert decide(annotated(said, "app")) is not None
    assert refusal(annotated(said, "app", "log")).code == "conflicting"


def test_where_the_pod_s_containers_were_not_seen_all_must_agree() -> None:
    said = {STATUS: '{"cpuset": "2-3"}', SWITCH: "true", "cpuset": elements(app="2-3")}
    assert refusal(annotated(said)).code == "conflicting"
    assert decide(annotated({OWN: own(cpus="2"), STATUS: '{"cpuset": "2"}'})) is not None


@pytest.mark.parametrize(
    "said",
    [
        {OWN: own(containers={"ap": {"cpus": "2"}})},
        {SWITCH: "true", "cpuset": elements(ap="2")},
    ],
)
def test_a_container_that_the_pod_lacks_is_refused_with_the_nearest_name(
    said: dict[str, str],
) -> None:
    error = refusal(annotated(said, "log", "app"))
    assert error.code == "unknown-container"
    assert str(error).endswith("the pod has no container 'ap'; did you mean 'app'?")


def test_of_many_containers_the_first_are_named_where_none_is_like_the_wrong_one() -> None:
    said = {OWN: own(containers={"zzz": {"cpus": "2"}})}
    error = refusal(annotated(said, *(f"c{number}" for number in range(1000))))
    listed = "c0, c1, c10, c100, c101, c102, c103, c104, ..."
    assert str(error).endswith(f"the pod has no container 'zzz'; known are {listed}")


def test_a_container_known_from_the_status_alone_can_be_named() -> None:
    seen = replace(
        annotated({OWN: own(containers={"debug": {"cpus": "2"}})}, "app"),
        containers=(container(1, name="app"), container(2, name="debug")),
    )
    found = decide(seen)
    assert found is not None
    assert found.of("debug").cpus == {2}


def test_any_container_may_be_named_where_the_spec_was_not_seen() -> None:
    assert decide(annotated({OWN: own(containers={"app": {"cpus": "2"}})})) is not None


# What a kube-apiserver of v1.36 keeps: first after koord-scheduler's patch of a pod that the
# controller manager made, then after somebody edited the annotation.
CREATED = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2026-03-02T08:09:58Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {
        "f:metadata": {"f:annotations": {".": {}, "f:other": {}}},
        "f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}}}},
    },
}


def wrote(manager: str, *keys: str, operation: str = "Update") -> dict[str, object]:
    fields: dict[str, object] = {f"f:{key}": {} for key in keys}
    return {
        **CREATED,
        "manager": manager,
        "operation": operation,
        "fieldsV1": {"f:metadata": {"f:annotations": fields}},
    }


SCHEDULED = [wrote("koord-scheduler", STATUS), CREATED]
EDITED = [CREATED, wrote("kubectl-edit", STATUS)]
ASSIGNED = {STATUS: '{"cpuset": "2-3"}', "other": "x"}
TRUSTED = ("koord-scheduler", "ack-scheduler")


def test_without_trusted_managers_everyone_is_believed() -> None:
    for managed_fields in ((), SCHEDULED, EDITED, None):
        assert decide(annotated(ASSIGNED, "app"), managed_fields) is not None
    assert untrusted(EDITED, ()) == {}


def test_the_scheduler_s_word_is_believed() -> None:
    assert decide(annotated(ASSIGNED, "app"), SCHEDULED, TRUSTED) is not None
    assert untrusted(SCHEDULED, TRUSTED, [STATUS]) == {}


def test_somebody_else_s_word_is_refused_with_their_name() -> None:
    error = refusal(annotated(ASSIGNED, "app"), EDITED, TRUSTED)
    assert error.code == "untrusted"
    assert str(error) == (
        f"{STATUS} '{{\"cpuset\": \"2-3\"}}' was written by 'kubectl-edit';"
        " trustedManagers are ack-scheduler, koord-scheduler"
    )


@pytest.mark.parametrize("managed_fields", [(), None, [{}], [CREATED], "x"])
def test_a_field_that_nobody_owns_is_nobody_s_word(managed_fields: object) -> None:
    # A pod's managedFields can be cleared, and what comes with a Binding has no owner.
    error = refusal(annotated(ASSIGNED, "app"), managed_fields, TRUSTED)
    assert error.code == "untrusted"
    assert "was written by nobody that is known" in str(error)


def test_an_owner_that_applied_the_scheduler_s_own_value_does_no_harm() -> None:
    applied = wrote("platform", STATUS, operation="Apply")
    assert decide(annotated(ASSIGNED, "app"), [applied, *SCHEDULED], TRUSTED) is not None


def test_only_annotations_that_decide_something_need_a_trusted_writer() -> None:
    harmless = {STATUS: "{}", OWN: own(cpus="2"), "cpuset": "x", SPEC: "{}"}
    written = [wrote("koord-scheduler", OWN), wrote("kubectl-edit", STATUS, "cpuset", SPEC)]
    assert decide(annotated(harmless, "app"), written, TRUSTED) is not None


def test_each_annotation_that_decides_needs_one() -> None:
    said = {STATUS: '{"cpuset": "2"}', OWN: own(cpus="2")}
    written = [wrote("koord-scheduler", STATUS), wrote("kubectl-edit", OWN)]
    assert OWN in str(refusal(annotated(said, "app"), written, TRUSTED))
    assert untrusted(written, TRUSTED) == {OWN: ("kubectl-edit",), "cpuset": ()}
