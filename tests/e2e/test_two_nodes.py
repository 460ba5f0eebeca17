"""Two nodes of one cluster: each agent keeps to its own."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.bench.bench import Bench
from tests.e2e.cluster import NAMESPACE, TOPOLOGIES, Born, Cluster, condition
from tests.e2e.pods import Json, assigned, pod


class TwoNodes(Bench):
    """Two guests, alike."""

    def __init__(self) -> None:
        super().__init__(nodes=2)


pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [TwoNodes], indirect=True, scope="session"),
]

POLICY = "an agent writes the objects of the node that its token is bound to, and no others"


def nodes(cluster: Cluster) -> tuple[Cluster, Cluster]:
    first, second = cluster.each_node()
    return first, second


def bound(cluster: Cluster, name: str, cpus: str, mems: str) -> None:
    """Apply a pod for the cluster's node with that decision, and see it born inside."""
    manifest = pod(name, annotations=assigned(cpus, mems=mems))
    manifest["spec"]["nodeSelector"] = {"kubernetes.io/hostname": cluster.node.name}
    cluster.apply(manifest)
    cluster.running(name)
    assert cluster.born(name) == Born(cpus=cpus, mems=mems)
    assert cluster.verdicts(name) == {"app": "aligned"}


def less(before: dict[str, str], zone: str, count: int) -> dict[str, str]:
    """An availability with so many CPUs less."""
    return {**before, zone: str(int(before[zone]) - count)}


def version(cluster: Cluster) -> str:
    """That of the node's published object, which changes whenever somebody writes it."""
    found = cluster.plane.ask("GET", f"{TOPOLOGIES}/{cluster.node.name}")
    return str(found["metadata"]["resourceVersion"])


def test_each_agent_binds_and_publishes_its_own_node_alone(cluster: Cluster) -> None:
    one, two = nodes(cluster)
    listed = cluster.plane.ask("GET", TOPOLOGIES)["items"]
    assert {each["metadata"]["name"] for each in listed} == {one.node.name, two.node.name}
    assert [owner(each) for each in (one, two)] == [one.node.name, two.node.name]
    before = one.available()
    bound(one, "mine", "6-7", "1")
    one.until("its node has less", lambda: one.available() == less(before, "node-1", 2))
    assert two.available() == before
    # The same CPUs are free on the other node.
    bound(two, "yours", "6-7", "1")
    two.until("the other has less too", lambda: two.available() == less(before, "node-1", 2))
    for here, there, name in ((one, two, "mine"), (two, one, "yours")):
        identity = (here.pod(name) or {})["metadata"]["uid"]
        find = f"find /sys/fs/cgroup/kubepods -maxdepth 3 -name 'pod{identity}'"
        assert here.node.run(find).strip()
        assert not there.node.run(find).strip()
        assert f"{name}: " not in cluster.kubectl("logs", "-n", NAMESPACE, there.agent)


def test_a_pod_made_again_elsewhere_under_its_name_is_bound_there(cluster: Cluster) -> None:
    one, two = nodes(cluster)
    before = one.available()
    bound(one, "wanders", "2-3", "0")
    one.until("less on the first", lambda: one.available() == less(before, "node-0", 2))
    cluster.delete("wanders")
    bound(two, "wanders", "6-7", "1")
    two.until("less on the second", lambda: two.available() == less(before, "node-1", 2))
    one.until("all on the first again", lambda: one.available() == before)


def owner(cluster: Cluster) -> str:
    """The Node that the node's published object belongs to."""
    found = cluster.plane.ask("GET", f"{TOPOLOGIES}/{cluster.node.name}")
    [reference] = found["metadata"]["ownerReferences"]
    return str(reference["name"])


def as_agent(cluster: Cluster, *words: str, data: Json | None = None) -> str:
    """What kubectl says with the token that kubelet gave the agent of this node."""
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    projected = f"/var/lib/kubelet/pods/{agent['metadata']['uid']}/volumes"
    token = cluster.node.run(f"cat {projected}/kubernetes.io~projected/*/token").strip()
    kubeconfig = cluster.plane.kubeconfig_for(f"agent-{cluster.node.name}", token)
    try:
        return cluster.kubectl("--kubeconfig", str(kubeconfig), *words, data=data)
    except AssertionError as error:
        return str(error)


def test_an_agents_rights_end_at_its_own_object(cluster: Cluster) -> None:
    one, two = nodes(cluster)
    kind = "noderesourcetopologies"
    patch = ("--type=merge", "-p", json.dumps({"metadata": {"labels": {"mine": "true"}}}))
    for here, there in ((one, two), (two, one)):
        assert "system:serviceaccount:numa-agent:numa-agent" in as_agent(here, "auth", "whoami")
        assert POLICY in as_agent(here, "patch", kind, there.node.name, *patch)
        assert POLICY in as_agent(here, "create", "-f", "-", data=topology("127.0.0.1"))
        assert "forbidden" in as_agent(here, "delete", kind, there.node.name).lower()
        assert "forbidden" in as_agent(here, "delete", kind, here.node.name).lower()
        # Its own it may write, so that it is the name that decides.
        assert "patched" in as_agent(here, "patch", kind, here.node.name, *patch)
        assert labels(cluster) == {here.node.name: {"mine": "true"}, there.node.name: {}}
        cluster.kubectl("label", kind, here.node.name, "mine-")


def labels(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Those of every published object."""
    items = (each["metadata"] for each in cluster.plane.ask("GET", TOPOLOGIES)["items"])
    return {each["name"]: each.get("labels", {}) for each in items}


def topology(name: str) -> Json:
    """A published object of this name."""
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "topologyPolicies": [],
        "zones": [],
    }


@pytest.fixture
def switched_on(cluster: Cluster, bench: Bench) -> Iterator[None]:
    """See that every guest is on again before `cluster` cleans up."""
    yield
    if not all(guest.on for guest in cluster.guests):
        bench.switch_on("before-switched-on")


@pytest.mark.timeout(900, func_only=True)
@pytest.mark.usefixtures("switched_on")
def test_a_node_that_goes_down_leaves_the_other_alone(cluster: Cluster, bench: Bench) -> None:
    one, two = nodes(cluster)
    before = one.available()
    bound(one, "stays", "2-3", "0")
    bound(two, "falls", "6-7", "1")
    two.until("less on the second", lambda: two.available() == less(before, "node-1", 2))
    started = two.started("falls")
    two.node.stop()
    last, path = version(two), f"/api/v1/nodes/{two.node.name}"
    cluster.until(
        "it is missed", lambda: condition(cluster.find(path) or {}, "Ready") == "Unknown"
    )
    assert two.available() == less(before, "node-1", 2)
    assert one.in_force("stays") == ("2-3", "0")
    bound(one, "comes", "6-7", "1")
    both = less(less(before, "node-0", 2), "node-1", 2)
    one.until("the first goes on", lambda: one.available() == both)
    # What the other had last is still told, and nobody writes it.
    assert version(two) == last
    bench.switch_on("before-the-fall")
    two.until("its pod runs anew", lambda: two.started("falls") not in (started, ""))
    two.until("inside", lambda: two.in_force("falls")[0] == "6-7")
    two.until("told anew", lambda: two.available() == less(before, "node-1", 2))
    assert one.in_force("stays") == ("2-3", "0")
    assert one.available() == both
