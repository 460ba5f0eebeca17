"""Pods whose first process says what it may use, before all else."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.bench.images import SHELL

Json = dict[str, Any]

LOOK = """\
while read -r name value; do
  case $name in Cpus_allowed_list:|Mems_allowed_list:) echo "$name $value";; esac
done </proc/self/status
"""
STAY = "trap 'exit 0' TERM\nsleep 100000 &\nwait\n"


def container(
    name: str = "app",
    *,
    cpu: str = "500m",
    memory: str = "64Mi",
    guaranteed: bool = False,
    script: str = LOOK + STAY,
    **more: object,
) -> Json:
    """A container of a Pod that requests so much; `guaranteed` gives it limits of the same."""
    requests = {"cpu": cpu, "memory": memory}
    return {
        "name": name,
        "image": SHELL,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", script],
        "resources": {"requests": requests, **({"limits": requests} if guaranteed else {})},
        **more,
    }


def pod(
    name: str,
    *containers: Json,
    annotations: Mapping[str, str] | None = None,
    init: Sequence[Json] = (),
    **more: object,
) -> Json:
    """A Pod of these containers, one Burstable `app` without any."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": False,
            "initContainers": list(init),
            "containers": list(containers) or [container()],
            **more,
        },
    }


def assigned(cpus: str, **more: object) -> dict[str, str]:
    """The annotation that decides a pod's CPUs: docs/assignment.md."""
    return {"numa-agent.io/assignment": json.dumps({"version": 1, "cpus": cpus, **more})}
