"""Pods as the API server gives them, and as it never should."""

from typing import Any

import pytest

from numa_agent.core.pods import Pod, PodsRead, QosClass, parse_pods

UID = "11111111-2222-4333-8444-aaaaaaaaaaaa"
HASH = "0123456789abcdef0123456789abcdef"
CONTAINER = "c" * 64


def status(name: str = "app", container_id: object = None, **state: object) -> dict[str, Any]:
    if container_id is None:
        container_id = f"containerd://{CONTAINER}"
    return {"name": name, "containerID": container_id, "state": state or {"running": {}}}


def document(name: str = "p", **changes: Any) -> dict[str, Any]:
    """A v1 Pod; changes of metadata or status by their field's name."""
    metadata = {"namespace": "shop", "name": name, "uid": UID}
    pod_status: dict[str, Any] = {
        "phase": "Running",
        "startTime": "2026-03-02T08:10:00Z",
        "qosClass": "Burstable",
        "containerStatuses": [status()],
    }
    of_metadata = {"namespace", "uid", "annotations", "ownerReferences"}
    for field, value in changes.items():
        (metadata if field in of_metadata else pod_status)[field] = value
    return {"metadata": metadata, "status": pod_status}


def read(*documents: object) -> PodsRead:
    return parse_pods({"kind": "PodList", "items": list(documents)})


def only(*documents: object) -> Pod:
    answer = read(*documents)
    assert answer.problems == ()
    (pod,) = answer.pods
    return pod


def test_a_pod_is_what_the_api_says_of_it() -> None:
    pod = only(document(annotations={"cpuset": "{}", "a": "b"}))
    assert (pod.full_name, pod.uid, pod.phase, pod.qos) == (
        "shop/p",
        UID,
        "Running",
        QosClass.BURSTABLE,
    )
    assert pod.annotations == {"cpuset": "{}"}
    (container,) = pod.containers
    assert (container.name, container.id, container.running) == (
        "app",
        CONTAINER,
        True,
    )


def test_init_app_and_ephemeral_containers_are_all_seen() -> None:
    # Case 10: a sidecar is an init container that runs on; a finished one runs no more.
    pod = only(
        document(
            initContainerStatuses=[status("i1", terminated={"exitCode": 0}), status("s1")],
            ephemeralContainerStatuses=[status("debug")],
        )
    )
    assert [(container.name, container.running) for container in pod.containers] == [
        ("i1", False),
        ("s1", True),
        ("app", True),
        ("debug", True),
    ]


def test_a_container_that_waits_has_no_id_yet() -> None:
    pod = only(document(containerStatuses=[status(container_id="", waiting={})]))
    (container,) = pod.containers
    assert (container.id, container.running) == (None, False)


@pytest.mark.parametrize("runtime", ["containerd", "cri-o", "docker"])
def test_a_runtime_s_name_is_apart_from_its_container_id(runtime: str) -> None:
    pod = only(document(containerStatuses=[status(container_id=f"{runtime}://{CONTAINER}")]))
    assert pod.containers[0].id == CONTAINER


@pytest.mark.parametrize(
    ("text", "qos"),
    [
        ("Guaranteed", QosClass.GUARANTEED),
        ("Burstable", QosClass.BURSTABLE),
        ("BestEffort", QosClass.BEST_EFFORT),
    ],
)
def test_the_quality_of_service_is_the_one_in_the_status(text: str, qos: QosClass) -> None:
    assert only(document(qosClass=text)).qos is qos


def test_a_static_pod_s_cgroup_is_named_by_its_config_s_hash() -> None:
    # Case 12: the mirror pod's own uid isn't in any path.
    annotations = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
    pod = only(document(annotations=annotations))
    assert (pod.uid, pod.cgroup_uid) == (UID, HASH)
    assert only(document()).cgroup_uid == UID


def test_a_config_s_hash_in_the_form_of_a_uid_is_none() -> None:
    # Who may write annotations of a pod may not get at another pod's cgroup by them.
    annotations = {"kubernetes.io/config.hash": UID, "kubernetes.io/config.mirror": UID}
    answer = read(document("bad", annotations=annotations, uid=UID.replace("a", "b")))
    assert answer.pods == ()
    assert "is no configuration's hash" in answer.problems[0]


@pytest.mark.parametrize("started", ["", "2026-03-02T08:10:00Z"])
def test_of_pods_that_name_one_cgroup_none_is_taken_while_nobody_can_tell_whose_it_is(
    started: str,
) -> None:
    hashed = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
    other = UID.replace("a", "b")
    two = read(
        document("a", annotations=hashed, startTime=started),
        document("b", annotations=hashed, uid=other, startTime=started),
    )
    assert two.pods == ()
    assert [problem.split(" is left out")[0] for problem in two.problems] == [
        "pod shop/a",
        "pod shop/b",
    ]
    # One of them holds what nobody knows.
    assert two.left_out


@pytest.mark.parametrize("false", ["", "2026-03-02T08:10:01Z"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_false_mirror_takes_nothing_from_the_pod_that_kubelet_started(
    false: str, turned: bool
) -> None:
    hashed = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
    true = document("z", annotations=hashed)
    other = document("a", annotations=hashed, uid=UID.replace("a", "b"), startTime=false)
    answer = read(*((other, true) if turned else (true, other)))
    assert [each.name for each in answer.pods] == ["z"]
    assert [problem.split(" is left out")[0] for problem in answer.problems] == ["pod shop/a"]
    # Whose cgroup it is is known, and the other has none.
    assert not answer.left_out


def test_a_mirror_takes_nothing_from_a_pod_with_that_uid() -> None:
    hashed = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
    early = document("a", annotations=hashed, startTime="2020-01-01T00:00:00Z")
    answer = read(early, document("z", uid=HASH))
    assert [each.name for each in answer.pods] == ["z"]


def test_pods_that_have_ended_clash_with_none() -> None:
    hashed = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
    ended = document("a", annotations=hashed, phase="Failed")
    assert [each.name for each in read(ended, document("b", annotations=hashed)).pods] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("phase", "finished"),
    [
        *((phase, False) for phase in ("Pending", "Running", "Unknown")),
        *((phase, True) for phase in ("Succeeded", "Failed")),
    ],
)
def test_a_pod_is_finished_when_its_phase_is_final(phase: str, finished: bool) -> None:
    assert only(document(phase=phase)).finished is finished


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (None, ""),
        (7, ""),
        ("Evicted", "Evicted"),
        ("OutOfnvidia.com/gpu", "OutOfnvidia.com/gpu"),
        ("a sentence", ""),
        ("x\nRunning", ""),
        ("x" * 200, ""),
    ],
)
def test_a_pod_s_reason_is_one_word(said: object, reason: str) -> None:
    assert only(document(phase="Failed", reason=said)).reason == reason


def test_pods_are_in_the_order_they_started_and_those_not_started_come_last() -> None:
    answer = read(
        document("waits", startTime=None),
        document("second", startTime="2026-03-02T09:00:00Z"),
        document("b", startTime="2026-03-02T08:00:00Z"),
        document("a", startTime="2026-03-02T08:00:00Z"),
    )
    assert [pod.name for pod in answer.pods] == ["a", "b", "second", "waits"]
    assert answer.pods[-1].started == ""


ODD_IDS = ["../../x", "..", "/", UID + "/..", UID.upper(), UID + "\n", "x" * 5000, HASH[:-1], "*"]


STATIC = {"kubernetes.io/config.mirror": "0123456789abcdef" * 2}


@pytest.mark.parametrize("odd", [*ODD_IDS, ""])
def test_a_uid_that_could_leave_its_folder_costs_that_pod_alone(odd: str) -> None:
    answer = read(document("bad", uid=odd), document("good"))
    assert [pod.name for pod in answer.pods] == ["good"]
    (problem,) = answer.problems
    assert problem.startswith("pod shop/bad is left out: ")
    assert problem.endswith("isn't a pod's uid")
    assert len(problem) < 300


@pytest.mark.parametrize("odd", [*ODD_IDS, ""])
def test_a_config_hash_that_could_leave_its_folder_costs_that_pod_alone(odd: str) -> None:
    answer = read(
        document("bad", annotations=STATIC | {"kubernetes.io/config.hash": odd}), document()
    )
    assert [pod.name for pod in answer.pods] == ["p"]
    (problem,) = answer.problems
    assert problem.startswith("pod shop/bad is left out: ")


@pytest.mark.parametrize(
    "odd",
    [
        *(f"containerd://{text}" for text in (*ODD_IDS, "", CONTAINER[:-1], CONTAINER + "0")),
        *(CONTAINER, f"://{CONTAINER}", f"../x://{CONTAINER}", f"containerd:/{CONTAINER}"),
        *(f"containerd://{CONTAINER.upper()}", f"containerd://../{CONTAINER}"),
    ],
)
def test_a_container_id_that_could_leave_its_folder_costs_that_container_alone(odd: str) -> None:
    bad = document("bad", containerStatuses=[status(container_id=odd)])
    answer = read(bad, document("good"))
    # Its pod stays, and holds what it was assigned.
    assert sorted(pod.name for pod in answer.pods) == ["bad", "good"]
    assert [c.id for pod in answer.pods if pod.name == "bad" for c in pod.containers] == [None]
    (problem,) = answer.problems
    assert problem.startswith("pod shop/bad: container app is left alone: its id ")
    assert len(problem) < 400
    assert not answer.left_out


def test_a_pod_without_a_name_is_told_of_too() -> None:
    answer = read({}, {"metadata": {"name": "p"}}, document())
    assert [pod.name for pod in answer.pods] == ["p"]
    assert answer.problems == ("a pod without a namespace or name is left out",) * 2


def test_an_unknown_quality_of_service_costs_that_pod_alone() -> None:
    answer = read(document("bad", qosClass="Platinum"), document())
    assert [pod.name for pod in answer.pods] == ["p"]
    assert answer.problems == ("pod shop/bad is left out: qosClass 'Platinum' isn't known",)
    assert answer.left_out


def test_a_finished_pod_that_lacks_half_its_status_is_no_problem() -> None:
    rejected = {
        "metadata": {"namespace": "a", "name": "b", "uid": "b-1"},
        "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"},
    }
    assert parse_pods({"items": [rejected]}) == PodsRead((), ())


def owner(kind: object, name: object, controller: object = True) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": controller}


def test_a_pod_s_controller_is_the_owner_that_says_so() -> None:
    owners = [owner("Tool", "t", controller=False), owner("ReplicaSet", "web-5d6")]
    assert only(document(ownerReferences=owners)).controller == "ReplicaSet/web-5d6"
    assert only(document(ownerReferences=owners[:1])).controller is None
    assert only(document()).controller is None


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "x",
        {},
        [None, 1, "x", []],
        [owner(None, "a")],
        [owner("", "a")],
        [owner("A", 7)],
        [owner("A", "a", "true")],
        [owner("A", "a", 1)],
    ],
)
def test_owners_of_another_shape_are_no_controller(odd: object) -> None:
    assert only(document(ownerReferences=odd)).controller is None


def test_a_controller_s_name_is_bounded_and_so_are_owners() -> None:
    (found,) = read(document(ownerReferences=[owner("K" * 9999, "n" * 9999)])).pods
    assert found.controller == f"{'K' * 63}/{'n' * 253}"
    many = [owner("A", str(number), controller=False) for number in range(64)]
    assert only(document(ownerReferences=[*many, owner("A", "a")])).controller is None
