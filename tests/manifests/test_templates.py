"""Who may write such annotations into the templates of pods, on a real API server."""

import json
from collections.abc import Callable

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.manifests.assigning import MERGE, OWN, PODS, SPACE, SPEC, pod, refused
from tests.manifests.objects import Json
from tests.manifests.person import Person, account

pytestmark = pytest.mark.apiserver

TEMPLATES: dict[str, tuple[str, Callable[[Json], Json]]] = {
    "Deployment": ("/apis/apps/v1/namespaces/{}/deployments", lambda t: _selecting(t)),
    "ReplicaSet": ("/apis/apps/v1/namespaces/{}/replicasets", lambda t: _selecting(t)),
    "DaemonSet": ("/apis/apps/v1/namespaces/{}/daemonsets", lambda t: _selecting(t)),
    "StatefulSet": (
        "/apis/apps/v1/namespaces/{}/statefulsets",
        lambda t: {"spec": {**_selecting(t)["spec"], "serviceName": "s"}},
    ),
    "ReplicationController": (
        "/api/v1/namespaces/{}/replicationcontrollers",
        lambda t: {"spec": {"template": t}},
    ),
    "Job": (
        "/apis/batch/v1/namespaces/{}/jobs",
        lambda t: {"spec": {"template": _once(t), "suspend": True}},
    ),
    "CronJob": (
        "/apis/batch/v1/namespaces/{}/cronjobs",
        lambda t: {
            "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": _once(t)}}}
        },
    ),
    "PodTemplate": ("/api/v1/namespaces/{}/podtemplates", lambda t: {"template": t}),
}


def _selecting(template: Json) -> Json:
    return {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}


def _once(template: Json) -> Json:
    return {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}


def workload(kind: str, name: str, annotations: dict[str, str]) -> Json:
    template: Json = {
        "metadata": {"labels": {"app": "x"}, "annotations": annotations},
        "spec": SPEC,
    }
    content = TEMPLATES[kind][1](template)
    group = TEMPLATES[kind][0].removeprefix("/apis/").removeprefix("/api/")
    version = group.partition("/namespaces/")[0]
    meta = {"name": name, "namespace": SPACE}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **content}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_carries_no_assignment_of_an_ordinary_user(
    kind: str, developer: Person
) -> None:
    folder = TEMPLATES[kind][0].format(SPACE)
    assert refused(developer.ask("POST", folder, workload(kind, "bad", {OWN: "x"})))
    made = developer.ask("POST", folder, workload(kind, "good", {"team": "x"}))
    assert made.status == 201
    changed = json.loads(json.dumps(made.content).replace('{"team": "x"}', f'{{"{OWN}": "y"}}'))
    assert refused(developer.ask("PUT", f"{folder}/good", changed))


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_a_template_that_has_one_already_can_be_changed_elsewhere(
    kind: str, plane: ControlPlane, developer: Person
) -> None:
    folder = TEMPLATES[kind][0].format(SPACE)
    plane.ask("POST", folder, workload(kind, "before", {OWN: "x"}))
    label = {"metadata": {"labels": {"team": "y"}}}
    assert developer.ask("PATCH", f"{folder}/before", label, MERGE).status == 200


def test_who_has_the_right_writes_pods_and_templates(assigner: Person) -> None:
    for kind in TEMPLATES:
        if kind == "PodTemplate":
            continue  # the role `edit` has no right on it at all
        folder = TEMPLATES[kind][0].format(SPACE)
        answer = assigner.ask("POST", folder, workload(kind, "assigned", {OWN: "x"}))
        assert answer.status == 201, answer.said


CONTROLLERS = {
    "replicaset-controller": PODS,
    "statefulset-controller": PODS,
    "daemon-set-controller": PODS,
    "job-controller": PODS,
    "replication-controller": PODS,
    "deployment-controller": TEMPLATES["ReplicaSet"][0].format(SPACE),
    "cronjob-controller": TEMPLATES["Job"][0].format(SPACE),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_makes_what_a_template_says(
    name: str, plane: ControlPlane, developer: Person
) -> None:
    path = CONTROLLERS[name]
    kind = {"deployment-controller": "ReplicaSet", "cronjob-controller": "Job"}.get(name)
    manifest = pod({OWN: "x"}) if kind is None else workload(kind, f"of-{name}", {OWN: "x"})
    answer = account(plane, "kube-system", name).ask("POST", path, manifest)
    assert answer.status == 201, answer.said
