"""kubelet restarts, and its CPU manager's policy is switched, while pods are bound."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import NAMESPACE, TOPOLOGIES, Cluster
from tests.e2e.managers import (
    KUBELET,
    container_cpus,
    exclusive,
    given,
    passes,
    quarrels,
    restart_kubelet,
    uses,
    writes,
)
from tests.e2e.pods import assigned, pod

pytestmark = pytest.mark.e2e

BOUND = ("6-7", "1")


@pytest.fixture
def as_before(cluster: Cluster) -> Iterator[None]:
    """kubelet's policy is none again when the scenario is over, whatever became of it."""
    yield
    if policy(cluster) != "none":
        cluster.clean()
        restart_kubelet(cluster, "none")


def test_a_restart_of_kubelet_alone_changes_nothing(cluster: Cluster) -> None:
    cluster.apply(pod("bound", annotations=assigned("6-7", mems="1")))
    cluster.running("bound")
    cluster.until(
        "availability drops", lambda: cluster.available() == {"node-0": "4", "node-1": "2"}
    )
    assert cluster.verdicts("bound") == {"app": "aligned"}
    agent, started = cluster.agent, cluster.started("bound")
    written, published = writes(cluster), generation(cluster)
    restart_kubelet(cluster)
    done = passes(cluster)
    cluster.until("another pass", lambda: passes(cluster) > done)
    assert writes(cluster) == written
    assert generation(cluster) == published
    assert uses(cluster, "bound") == {"6-7"}
    assert cluster.verdicts("bound") == {"app": "aligned"}
    assert (cluster.agent, cluster.started("bound")) == (agent, started)
    assert cluster.started(agent, NAMESPACE) < started


@pytest.mark.timeout(1800, func_only=True)
def test_a_pod_stays_bound_while_the_policy_is_switched_there_and_back(
    cluster: Cluster, as_before: None
) -> None:
    cluster.apply(pod("bound", annotations=assigned("6-7", mems="1")), pod("plain"))
    cluster.running("bound", "plain")
    cluster.until("bound", lambda: cluster.in_force("bound") == BOUND)
    started = cluster.started("bound")

    restart_kubelet(cluster, "static")
    cluster.until("the object says so", lambda: attributes(cluster) == ("static", "0,4"))
    cluster.until("less is offered", lambda: cluster.available() == {"node-0": "3", "node-1": "1"})
    cluster.until("kubelet writes its CPUs", lambda: "0-7" in container_cpus(cluster, "bound"))
    assert uses(cluster, "bound") == {"6-7"}
    cluster.apply(exclusive("alone"))
    cluster.running("alone")
    assert given(cluster)["alone/app"] == "2-3"
    cluster.until("the others keep off", lambda: uses(cluster, "plain") == {"0-1,4-5"})
    assert uses(cluster, "bound") == {"6-7"}
    assert cluster.verdicts("bound") == {"app": "aligned"}

    restart_kubelet(cluster, "none")
    cluster.until("the object says so", lambda: attributes(cluster)[0] == "none")
    # What was exclusive is shared again, for a pod that is told nothing as for the others.
    cluster.until("all is shared", lambda: uses(cluster, "plain") == {"0-5"})
    cluster.until("for that one too", lambda: uses(cluster, "alone") == {"0-5"})
    assert uses(cluster, "bound") == {"6-7"}
    # What kubelet doesn't reserve any more is offered when the agent reads the Node again.
    cluster.until(
        "it is offered",
        lambda: cluster.available() == {"node-0": "4", "node-1": "2"},
        seconds=240,
    )
    assert attributes(cluster) == ("none", None)
    assert uses(cluster, "bound") == {"6-7"}
    assert cluster.verdicts("bound") == {"app": "aligned"}
    assert cluster.started("bound") == started
    assert quarrels(cluster) == {}


def policy(cluster: Cluster) -> str:
    """The policy that kubelet's configuration on the node names."""
    found = json.loads(cluster.node.read(f"{KUBELET}/config.yaml"))
    return str(found["cpuManagerPolicy"])


def generation(cluster: Cluster) -> int:
    """How often the content of the published object has changed."""
    found = cluster.find(f"{TOPOLOGIES}/{cluster.node.name}") or {}
    return int(found["metadata"]["generation"])


def attributes(cluster: Cluster) -> tuple[str | None, str | None]:
    """What the object says of kubelet's CPU manager: its policy, and the CPUs it reserves."""
    found = cluster.find(f"{TOPOLOGIES}/{cluster.node.name}") or {"attributes": []}
    named = {each["name"]: each["value"] for each in found["attributes"]}
    return named.get("cpuManagerPolicy"), named.get("reservedSystemCPUs")
