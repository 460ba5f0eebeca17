"""The objects of the agent that polls: a DaemonSet in the place of ours."""

from pathlib import Path
from typing import Any

from numa_agent import __version__
from tests.e2e.bench.images import AGENT

POLLS = "polling-agent"
PYTHON = "/opt/numa-agent/bin/python3"
"""Where the agent's image has it."""

Json = dict[str, Any]


def poller() -> list[Json]:
    """A DaemonSet that may do what poller.py does, with as much of the node as ours has."""
    labels = {"app.kubernetes.io/name": POLLS}
    named = {"metadata": {"name": POLLS, "namespace": POLLS, "labels": labels}}
    rights = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {
            "apiGroups": ["topology.node.k8s.io"],
            "resources": ["noderesourcetopologies"],
            "verbs": ["get", "create", "update"],
        },
    ]
    subject = {"kind": "ServiceAccount", "name": POLLS, "namespace": POLLS}
    program = {"poller.py": Path(__file__).with_name("poller.py").read_text()}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": POLLS}},
        {"apiVersion": "v1", "kind": "ServiceAccount", **named},
        {"apiVersion": "v1", "kind": "ConfigMap", **named, "data": program},
        {
            "apiVersion": f"{rights}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": POLLS},
            "rules": rules,
        },
        {
            "apiVersion": f"{rights}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": POLLS},
            "roleRef": {"apiGroup": rights, "kind": "ClusterRole", "name": POLLS},
            "subjects": [subject],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            **named,
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _pod()},
            },
        },
    ]


def _pod() -> Json:
    node = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    container = {
        "name": "agent",
        "image": f"{AGENT}:{__version__}",
        "command": [PYTHON, "/program/poller.py"],
        "env": [{"name": "NODE_NAME", "valueFrom": node}],
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "program", "mountPath": "/program"},
            {"name": "cgroup", "mountPath": "/host/sys/fs/cgroup"},
        ],
    }
    return {
        "serviceAccountName": POLLS,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [
            {"name": "program", "configMap": {"name": POLLS}},
            {"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup", "type": "Directory"}},
        ],
    }
