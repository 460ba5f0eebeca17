"""A pod that is resized in place while it runs: docs/assignment.md and docs/assigner.md."""

import json

import pytest

from numa_agent.core import cpulist
from tests.e2e.cluster import Born, Cluster
from tests.e2e.pods import assigned, container, pod
from tests.e2e.test_assigner import ASKS
from tests.e2e.watch import watched

pytestmark = pytest.mark.e2e

MIB = 1 << 20
NODES = {0: frozenset(range(4)), 1: frozenset(range(4, 8))}


def resize(cluster: Cluster, name: str, *, limits: bool, **amounts: str) -> None:
    """As a user does, and wait until kubelet says that it is done."""
    resources = {"requests": amounts, **({"limits": amounts} if limits else {})}
    patch = json.dumps({"spec": {"containers": [{"name": "app", "resources": resources}]}})
    cluster.kubectl("patch", "pod", name, "--subresource", "resize", "--patch", patch)
    wanted = {"cpu": "500m", "memory": "64Mi"} | amounts

    def done() -> bool:
        [status] = (cluster.pod(name) or {})["status"]["containerStatuses"]
        return bool(status.get("resources", {}).get("requests") == wanted)

    cluster.until(f"{name} resized", done)


def weight(cluster: Cluster, name: str) -> int:
    """What the kernel has of a pod's CPU requests."""
    return int(cluster.cgroup(name, "cpu.weight"))


def less(cluster: Cluster, before: dict[str, str], node: int, amount: int, kind: str) -> None:
    """Wait until so much less than before is published of a node, and as much of the others."""
    zone = f"node-{node}"
    wanted = {**before, zone: str(int(before[zone]) - amount)}
    cluster.until(f"{amount} {kind} less on {zone}", lambda: cluster.available(kind) == wanted)


def decided(cluster: Cluster, name: str) -> frozenset[int]:
    """The CPUs that the agent decided for a pod, which must be those in force."""
    told = cluster.verify(name)["app"]
    cpus = told["cpus"]["decided"]
    assert cluster.in_force(name)[0] == cpus
    return frozenset(cpulist.parse(cpus))


def test_a_pod_with_a_decision_keeps_its_cpus_when_it_is_resized(cluster: Cluster) -> None:
    cpu, memory = cluster.available(), cluster.available("memory")
    cluster.apply(pod("resized", annotations=assigned("6-7", mems="1")))
    cluster.running("resized")
    less(cluster, cpu, 1, 2, "cpu")
    less(cluster, memory, 1, 64 * MIB, "memory")
    before = weight(cluster, "resized")
    with watched(cluster.node, cluster.group("resized")) as seen:
        resize(cluster, "resized", limits=False, cpu="2", memory="128Mi")
        cluster.until("kubelet wrote it", lambda: weight(cluster, "resized") > before)
        less(cluster, memory, 1, 128 * MIB, "memory")
        less(cluster, cpu, 1, 2, "cpu")
        resize(cluster, "resized", limits=False, cpu="100m", memory="32Mi")
        cluster.until("and again", lambda: weight(cluster, "resized") < before)
        less(cluster, memory, 1, 32 * MIB, "memory")
        less(cluster, cpu, 1, 2, "cpu")
    assert seen.keys() == {"6-7"}
    assert cluster.verdicts("resized") == {"app": "aligned"}
    assert cluster.born("resized") == Born(cpus="6-7", mems="1")
    [status] = (cluster.pod("resized") or {})["status"]["containerStatuses"]
    assert status["restartCount"] == 0


def test_the_assigner_gives_a_resized_pod_more_and_takes_some_back(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("grows", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("grows")
    cluster.until("NUMAAssigned", lambda: cluster.events("grows").get("NUMAAssigned"))
    two = decided(cluster, "grows")
    [node] = [each for each, cpus in NODES.items() if two <= cpus]
    with watched(cluster.node, cluster.group("grows")) as seen:
        resize(cluster, "grows", limits=True, cpu="3", memory="64Mi")
        less(cluster, before, node, 3, "cpu")
        cluster.until("three in force", lambda: len(decided(cluster, "grows")) == 3)
        three = decided(cluster, "grows")
        resize(cluster, "grows", limits=True, cpu="1", memory="64Mi")
        less(cluster, before, node, 1, "cpu")
        cluster.until("one in force", lambda: len(decided(cluster, "grows")) == 1)
        one = decided(cluster, "grows")
    assert one < two < three <= NODES[node]
    # Never had it any but these.
    assert {frozenset(cpulist.parse(cpus)) for cpus in seen} == {one, two, three}
    assert cluster.verdicts("grows") == {"app": "aligned"}


def test_a_pod_resized_to_what_no_node_has_keeps_what_it_has(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("wants", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("wants")
    cluster.until("NUMAAssigned", lambda: cluster.events("wants").get("NUMAAssigned"))
    two = decided(cluster, "wants")
    [node] = [each for each, cpus in NODES.items() if two <= cpus]
    with watched(cluster.node, cluster.group("wants")) as seen:
        resize(cluster, "wants", limits=True, cpu="5", memory="64Mi")
        said = cluster.until("told", lambda: cluster.events("wants").get("NUMANotPlaced"))
        assert said.startswith("never-fits")
        assert cpulist.render(two) in said
        less(cluster, before, node, 2, "cpu")
        resize(cluster, "wants", limits=True, cpu="2", memory="64Mi")
        cluster.until(
            "has what it asks for", lambda: cluster.verify("wants")["app"]["asked"]["has_it"]
        )
    assert {frozenset(cpulist.parse(cpus)) for cpus in seen} == {two}
    less(cluster, before, node, 2, "cpu")
