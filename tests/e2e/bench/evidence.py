"""What tells why a scenario failed, kept before anything is cleaned up."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.e2e.bench.guest import GuestHungError
from tests.e2e.cluster import CONFIG, NAMESPACE, Cluster

OBJECTS = (
    "pods,nodes,events,daemonsets,configmaps,serviceaccounts,"
    "noderesourcetopologies,validatingadmissionpolicies"
)
OURS = ("-n", NAMESPACE, "-l", "app.kubernetes.io/name=numa-agent", "--prefix", "--tail=-1")


def leave(cluster: Cluster, target: Path) -> None:
    """Keep in a folder the logs of the control plane, the nodes and the agents, our objects, and
    each node as a recorded machine; those of further nodes in folders of their names."""
    _copy(cluster.plane.logs, target)
    _keep(cluster, target / "agent.log", "logs", *OURS)
    _keep(cluster, target / "agent-before-its-restart.log", "logs", "--previous", *OURS)
    _keep(cluster, target / "objects.yaml", "get", OBJECTS, "-A", "-o", "yaml")
    for each in cluster.each_node():
        own = target if each.node is cluster.node else target / each.node.name
        own.mkdir(exist_ok=True)
        _copy(each.node.logs, own)
        with suppress(AssertionError):
            agent = ("exec", "-n", NAMESPACE, each.agent, "--", "numa-agent")
            _keep(cluster, own / "node.tar.gz", *agent, "record", "-", *CONFIG)


def _copy(logs: Iterable[Path], target: Path) -> None:
    for log in logs:
        with suppress(OSError):
            shutil.copy(log, target)


def _keep(cluster: Cluster, file: Path, *words: str) -> None:
    """What kubectl says, or why it doesn't. One that hangs must not hide the failure."""
    try:
        file.write_bytes(cluster.kubectl_bytes(*words, check=False))
    except (AssertionError, GuestHungError) as error:
        file.write_text(str(error))
