"""The pod of docs/examples/train.yaml: cards by the agent's plugin, CPUs beside them by its
assigner. The scheduler knows nothing of NUMA, kubelet's policy is none.
"""

import pytest

from tests.e2e.bench.bench import Bench
from tests.e2e.bench.gpus import CARDS, RESOURCE, GpuBench
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.seed import (
    CPUS,
    SIZE,
    granted,
    healthy,
    keep,
    left,
    offered,
    ready_agent,
    seen,
    train,
    without,
    writes,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [GpuBench], indirect=True, scope="session"),
]

RESTART_KUBELET = """\
set -e
pid=$(cat /run/kubelet.pid)
set -- $(tr '\\0' ' ' </proc/$pid/cmdline)
kill $pid
while [ -d /proc/$pid ]; do sleep 0.1; done
mv /run/share/kubelet.log /run/share/kubelet-before.log
"$@" >/run/share/kubelet.log 2>&1 </dev/null &
echo $! >/run/kubelet.pid
"""

REGISTERED = "Got registration request from device plugin with resource"


def test_a_pod_gets_cpus_beside_its_cards_by_the_plain_scheduler(
    cluster: Cluster, bench: Bench
) -> None:
    cluster.until("the node offers its cards", lambda: offered(cluster) == len(CARDS))
    published = {"node-0": "2", "node-1": "2"}
    cluster.until("its object has them", lambda: cluster.available(RESOURCE) == published)
    cpus, cards = before = left(cluster)
    cluster.apply(train("train"))
    node = seen(cluster, "train")
    less = without(cpus, node, CPUS), without(cards, node, SIZE)
    cluster.until("availability drops", lambda: left(cluster) == less)
    keep(bench, cluster, "train")

    cluster.apply(train("second", memory="128Mi"))
    other = seen(cluster, "second")
    assert other != node
    both = without(less[0], other, CPUS), without(less[1], other, SIZE)
    cluster.until("availability drops again", lambda: left(cluster) == both)
    keep(bench, cluster, "second")

    cluster.apply(train("third"))
    said = cluster.until("no room", lambda: cluster.events("third").get("FailedScheduling"))
    assert f"Insufficient {RESOURCE}" in said
    assert (cluster.pod("third") or {})["status"]["phase"] == "Pending"
    cluster.delete("third")
    cluster.delete("second")
    cluster.delete("train")
    cluster.until("all is free again", lambda: left(cluster) == before)
    cluster.until(
        "no decision is kept",
        lambda: "default" not in cluster.node.read("/run/numa-agent/decisions.json"),
    )


def test_nobody_moves_while_agent_and_kubelet_come_back(cluster: Cluster) -> None:
    cluster.apply(train("train"))
    node = seen(cluster, "train")
    cluster.until("said", lambda: writes(cluster, "train"))
    force, cards, first = cluster.in_force("train"), granted(cluster, "train"), cluster.agent
    before = registrations(cluster)
    cluster.kubectl("delete", "pod", "-n", NAMESPACE, first, seconds=60)
    cluster.until("another agent", lambda: ready_agent(cluster) not in ("", first))
    cluster.until("registered by it", lambda: registrations(cluster) > before)
    cluster.until("kubelet has its cards", lambda: healthy(cluster) == len(CARDS))
    cluster.until("the node offers its cards", lambda: offered(cluster) == len(CARDS))
    assert cluster.in_force("train") == force
    assert writes(cluster, "train") == []
    assert seen(cluster, "train") == node
    rest = without({"node-0": "2", "node-1": "2"}, node, SIZE)
    cluster.until("its object has them", lambda: cluster.available(RESOURCE) == rest)

    cluster.node.run(RESTART_KUBELET)
    cluster.until("registered anew", lambda: registrations(cluster))
    # The Node says what it had before until kubelet tells it otherwise.
    cluster.until("kubelet has its cards", lambda: healthy(cluster) == len(CARDS))
    cluster.until("the node offers its cards", lambda: offered(cluster) == len(CARDS))
    # It hears of its pods from the API server, as it does of new ones.
    cluster.until("kubelet knows whose they are", lambda: granted(cluster, "train") == cards)
    assert cluster.in_force("train") == force
    assert writes(cluster, "train") == []
    cluster.apply(train("second"))
    assert seen(cluster, "second") != node
    cluster.delete("second")


def registrations(cluster: Cluster) -> int:
    """How often a device plugin has registered with the kubelet that runs now."""
    log = cluster.node.share / "kubelet.log"
    return log.read_text(errors="replace").count(REGISTERED) if log.exists() else 0
