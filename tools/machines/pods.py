"""answers/pods.json: the node's pods as the API server lists them.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

import hashlib

from .identity import config_hash, container_id, make_uuid, pod_uid
from .plugins import Offers, count, held
from .spec import Container, Machine, Pod

BOOT = "2026-03-02T08:00:00Z"
"""When every recorded machine's node object was made."""

_FINISHED = "2026-03-02T09:30:00Z"


def _started(number: int) -> str:
    """The pods start minute by minute, in their description's order."""
    return f"2026-03-02T08:{number % 60:02}:00Z"


def quantity(size: int) -> str:
    """A size in bytes as the API server spells it, in the largest unit that divides it."""
    for shift, unit in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def pod_list(machine: Machine, offers: Offers) -> dict[str, object]:
    """A v1 PodList; in it, as from the API server, the items carry no kind of their own."""
    items = [_pod(machine, pod, number, offers) for number, pod in enumerate(machine.pods, 1)]
    metadata = {"resourceVersion": "1000"}
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}


def _pod(machine: Machine, pod: Pod, number: int, offers: Offers) -> dict[str, object]:
    return {
        "metadata": _metadata(machine, pod, number),
        "spec": {
            "containers": [_container(pod, container, offers) for container in pod.containers],
            "restartPolicy": "Never" if pod.owner.startswith("Job/") else "Always",
            "serviceAccountName": "default",
            "nodeName": machine.node_name,
            "schedulerName": pod.scheduler,
        },
        "status": _status(machine, pod, number),
    }


def _metadata(machine: Machine, pod: Pod, number: int) -> dict[str, object]:
    metadata: dict[str, object] = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod_uid(machine, pod),
        "resourceVersion": str(900 + number),
        "creationTimestamp": _started(number),
    }
    annotations = pod.annotations | _static_annotations(machine, pod)
    metadata |= {"labels": pod.labels} if pod.labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    return metadata | _owner(machine, pod)


def _static_annotations(machine: Machine, pod: Pod) -> dict[str, str]:
    """What a mirror pod tells of the static pod that it stands for."""
    if not pod.static:
        return {}
    digest = config_hash(machine, pod)
    names = ("config.hash", "config.mirror")
    return {f"kubernetes.io/{name}": digest for name in names} | {
        "kubernetes.io/config.source": "file",
        "kubernetes.io/config.seen": BOOT,
    }


def _owner(machine: Machine, pod: Pod) -> dict[str, object]:
    if not pod.owner:
        return {}
    kind, _, name = pod.owner.partition("/")
    versions = {"Job": "batch/v1", "Node": "v1"}
    reference = {
        "apiVersion": versions.get(kind, "apps/v1"),
        "kind": kind,
        "name": name,
        "uid": make_uuid(machine.name, kind, name),
        "controller": True,
    }
    return {"ownerReferences": [reference]}


def _container(pod: Pod, container: Container, offers: Offers) -> dict[str, object]:
    requests: dict[str, str] = {}
    if container.cpu:
        requests["cpu"] = container.cpu
    if container.memory:
        requests["memory"] = quantity(container.memory)
    requests |= count(held(container, offers))
    # Extended resources have to stand in both; the rest only where the pod is Guaranteed.
    whole = pod.qos == "Guaranteed"
    limits = {name: text for name, text in requests.items() if whole or "/" in name}
    resources = {"limits": limits, "requests": requests}
    return {
        "name": container.name,
        "image": f"{container.name}:1",
        "resources": {name: values for name, values in resources.items() if values},
        "imagePullPolicy": "IfNotPresent",
    }


def _status(machine: Machine, pod: Pod, number: int) -> dict[str, object]:
    status: dict[str, object] = {
        "phase": pod.phase,
        "conditions": _conditions(pod, _started(number)),
        "hostIP": "192.0.2.10",
        "startTime": _started(number),
        "qosClass": pod.qos,
    }
    if pod.phase != "Pending":
        status["podIP"] = f"198.51.100.{number}"
        status["containerStatuses"] = [
            _container_status(machine, pod, container, _started(number))
            for container in pod.containers
        ]
    return status


def _conditions(pod: Pod, since: str) -> list[dict[str, str]]:
    ready = "True" if pod.running else "False"
    states = {
        "PodScheduled": "True",
        "Initialized": "True",
        "ContainersReady": ready,
        "Ready": ready,
    }
    return [
        {"type": kind, "status": state, "lastTransitionTime": since}
        for kind, state in states.items()
    ]


def _container_status(
    machine: Machine, pod: Pod, container: Container, started: str
) -> dict[str, object]:
    runtime_id = f"{machine.cgroup.runtime}://{container_id(machine, pod, container)}"
    image = f"{container.name}:1"
    return {
        "name": container.name,
        "state": _state(pod, runtime_id, started),
        "lastState": {},
        "ready": pod.running,
        "restartCount": 0,
        "image": image,
        "imageID": f"sha256:{hashlib.sha256(image.encode()).hexdigest()}",
        "containerID": runtime_id,
        "started": pod.running,
    }


def _state(pod: Pod, runtime_id: str, started: str) -> dict[str, object]:
    if pod.running:
        return {"running": {"startedAt": started}}
    failed = pod.phase == "Failed"
    ended = {"exitCode": int(failed), "reason": "Error" if failed else "Completed"}
    times = {"startedAt": started, "finishedAt": _FINISHED}
    return {"terminated": ended | times | {"containerID": runtime_id}}
