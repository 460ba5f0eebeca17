"""A pod that is resized in place while it runs: docs/assignment.md and docs/assigner.md."""

import json

import pytest

from numa_agent.core import cpulist
from tests.e2e.cluster import Born, Cluster
from tests.e2e.pods import assigned, container, pod
from tests.e2e.seed import decided as kept
from tests.e2e.test_assigner import ASKS
from tests.e2e.watching import Watch

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


def placed(cluster: Cluster, name: str) -> frozenset[int]:
    """The two CPUs that the assigner gave a pod, once it says so."""
    cluster.until("NUMAAssigned", lambda: cluster.events(name).get("NUMAAssigned"))
    return decided(cluster, name, 2)


def decided(cluster: Cluster, name: str, count: int) -> frozenset[int]:
    """The CPUs decided for a pod, in force once there are so many."""
    cluster.until("in force", lambda: len(cpulist.parse(cluster.in_force(name)[0])) == count)
    cpus = cpulist.parse(cluster.in_force(name)[0])
    assert cpulist.parse(kept(cluster, name)["cpus"]) == cpus
    return cpus


def test_a_pod_with_a_decision_keeps_its_cpus_when_it_is_resized(cluster: Cluster) -> None:
    cpu, memory = cluster.available(), cluster.available("memory")
    cluster.apply(pod("resized", annotations=assigned("6-7", mems="1")))
    cluster.running("resized")
    less(cluster, cpu, 1, 2, "cpu")
    less(cluster, memory, 1, 64 * MIB, "memory")
    before = weight(cluster, "resized")
    with Watch(cluster.node, "resized") as watch:
        resize(cluster, "resized", limits=False, cpu="2", memory="128Mi")
        cluster.until("kubelet wrote it", lambda: weight(cluster, "resized") > before)
        less(cluster, memory, 1, 128 * MIB, "memory")
        less(cluster, cpu, 1, 2, "cpu")
        resize(cluster, "resized", limits=False, cpu="100m", memory="32Mi")
        cluster.until("and again", lambda: weight(cluster, "resized") < before)
        less(cluster, memory, 1, 32 * MIB, "memory")
        less(cluster, cpu, 1, 2, "cpu")
        assert watch.seen(cluster.group("resized")) == {"6-7"}
    assert cluster.verdicts("resized") == {"app": "aligned"}
    assert cluster.born("resized") == Born(cpus="6-7", mems="1")
    [status] = (cluster.pod("resized") or {})["status"]["containerStatuses"]
    assert status["restartCount"] == 0


def test_the_assigner_gives_a_resized_pod_more_and_takes_some_back(cluster: Cluster) -> None:
    # Of node 0 one core is kept for all, so that node 1 is the one with room for three.
    cluster.apply(pod("filler", annotations=assigned("2-3", mems="0")))
    cluster.running("filler")
    cluster.until("less for others", lambda: not cluster.idle())
    before = cluster.available()
    cluster.apply(pod("grows", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("grows")
    two = placed(cluster, "grows")
    with Watch(cluster.node, "grows") as watch:
        resize(cluster, "grows", limits=True, cpu="3", memory="64Mi")
        less(cluster, before, 1, 3, "cpu")
        three = decided(cluster, "grows", 3)
        resize(cluster, "grows", limits=True, cpu="1", memory="64Mi")
        less(cluster, before, 1, 1, "cpu")
        one = decided(cluster, "grows", 1)
        resize(cluster, "grows", limits=True, cpu="5", memory="64Mi")
        # Five seconds: docs/events.md; the next pass is more than a minute away.
        said = cluster.until(
            "told", lambda: cluster.events("grows").get("NUMANotPlaced"), seconds=45
        )
        assert f"never-fits: it keeps CPUs {cpulist.render(one)} of NUMA node 1" in said
        assert decided(cluster, "grows", 1) == one
        less(cluster, before, 1, 1, "cpu")
        resize(cluster, "grows", limits=True, cpu="2", memory="64Mi")
        less(cluster, before, 1, 2, "cpu")
        again = decided(cluster, "grows", 2)
        seen = watch.seen(cluster.group("grows"))
    assert two < three <= NODES[1]
    assert one < three
    assert one < again <= NODES[1]
    # Never had it any but these.
    assert {cpulist.parse(cpus) for cpus in seen} == {one, two, three, again}
    assert cluster.verdicts("grows") == {"app": "aligned"}


def test_a_pod_that_outgrows_its_node_moves_to_the_other(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("outgrows", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("outgrows")
    assert placed(cluster, "outgrows") == {2, 3}
    less(cluster, before, 0, 2, "cpu")
    resize(cluster, "outgrows", limits=True, cpu="3", memory="64Mi")
    less(cluster, before, 1, 3, "cpu")
    assert decided(cluster, "outgrows", 3) <= NODES[1]
    # What it had in memory stays where it is, and is told.
    assert cluster.in_force("outgrows")[1] == "0"
    cluster.until("told", lambda: cluster.events("outgrows").get("MemoryNotBound"))
