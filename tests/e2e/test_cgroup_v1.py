"""A node with cgroup v1, where containers' own cgroups are bound and each after its start."""

from functools import partial

import pytest

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.cgroups import Layout
from tests.e2e.bench.kubelet import Policy
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.managers import KUBELET, restart_kubelet
from tests.e2e.pods import LOOK, assigned, container, pod
from tests.e2e.seed import decided, ready_agent, writes
from tests.e2e.test_assigner import ASKS

REFUSED = "CPUSetRefused"

V1 = partial(Bench, layout=Layout(version="v1"))

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [V1], indirect=True, scope="session"),
]


def bound(cluster: Cluster, name: str, cpus: str, *containers: str) -> None:
    """Wait until the kernel holds each container of a running pod to its CPUs."""
    for each in containers or ("app",):
        cluster.until(
            f"{each} of {name} is inside",
            lambda each=each: cluster.in_force(name, each)[0] == cpus,  # type: ignore[misc]
        )


def test_a_pods_containers_are_bound_and_their_cpus_leave_the_others(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("other"))
    first = container("first", script=LOOK)
    sidecar = container("sidecar", restartPolicy="Always")
    cluster.apply(pod("bound", annotations=assigned("6-7", mems="1"), init=[first, sidecar]))
    cluster.running("other", "bound")
    bound(cluster, "bound", "6-7", "app", "sidecar")
    bound(cluster, "other", "0-5")
    assert cluster.verdicts("bound") == {"app": "aligned", "sidecar": "aligned"}
    # Pods' own directories are kubelet's: a narrowed one keeps the next container from starting.
    assert cluster.in_force("bound")[0] == "0-7"
    less = {**before, "node-1": str(int(before["node-1"]) - 2)}
    cluster.until("the published availability drops", lambda: cluster.available() == less)
    cluster.delete("bound")
    bound(cluster, "other", "0-7")


def test_a_container_that_restarts_is_bound_again(cluster: Cluster) -> None:
    cluster.apply(pod("restarting", annotations=assigned("2-3", mems="0")))
    cluster.running("restarting")
    bound(cluster, "restarting", "2-3")
    before = cluster.started("restarting")
    cluster.kubectl("exec", "restarting", "--", "kill", "1", check=False)
    cluster.until("started anew", lambda: cluster.started("restarting") not in (before, ""))
    bound(cluster, "restarting", "2-3")
    assert cluster.verdicts("restarting") == {"app": "aligned"}


def test_a_pod_that_asks_gets_cpus_of_one_node(cluster: Cluster) -> None:
    cluster.apply(pod("asks", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("asks")
    cluster.until("NUMAAssigned", lambda: cluster.events("asks").get("NUMAAssigned"))
    cpus = decided(cluster, "asks")["cpus"]
    bound(cluster, "asks", cpus)
    told = cluster.verify("asks")["app"]
    assert (told["verdict"], told["asked"]["has_it"]) == ("aligned", True), told
    assert told["cpus"]["decided"] == cpus


def test_an_agent_that_comes_back_finds_all_as_it_should_be(cluster: Cluster) -> None:
    cluster.apply(pod("stays", annotations=assigned("6-7")))
    cluster.running("stays")
    bound(cluster, "stays", "6-7")
    first = cluster.agent
    cluster.kubectl("delete", "pod", "-n", NAMESPACE, first, seconds=60)
    assert cluster.in_force("stays", "app")[0] == "6-7"
    cluster.until("another agent", lambda: ready_agent(cluster) not in ("", first))
    assert cluster.in_force("stays", "app")[0] == "6-7"
    assert writes(cluster, "stays") == []
    assert cluster.verdicts("stays") == {"app": "aligned"}


def test_beside_kubelets_static_policy_no_pod_is_bound(cluster: Cluster) -> None:
    """docs/binding.md, kubelet-static: the same files are kubelet's."""
    cluster.apply(pod("early", annotations=assigned("6-7")))
    cluster.running("early")
    bound(cluster, "early", "6-7")
    switch(cluster, "static")
    try:
        bound(cluster, "early", "0-7")
        own = container(cpu="2", guaranteed=True)
        cluster.apply(pod("late", annotations=assigned("6-7")), pod("exclusive", own))
        cluster.running("late", "exclusive")
        for name in ("early", "late"):
            said = cluster.until("refused", lambda name=name: cluster.events(name).get(REFUSED))  # type: ignore[misc]
            assert said.startswith("kubelet-static"), said
        theirs = cpulist.parse(cluster.in_force("exclusive", "app")[0])
        assert len(theirs) == 2
        rest = cpulist.render(frozenset(range(8)) - theirs)
        for name in ("early", "late"):
            bound(cluster, name, rest)
        assert writes(cluster, "late") == writes(cluster, "exclusive") == []
        # A scheduler that assigns CPUs can't work there.
        said = cluster.ask_agent("doctor", "--scheduler", "koordinator").decode()
        assert "FAULT    kubelet-writes-the-same-files" in said, said
    finally:
        cluster.clean()
        switch(cluster, "none")


def switch(cluster: Cluster, policy: Policy) -> None:
    """Give kubelet another policy and wait until it is in force."""
    restart_kubelet(cluster, policy)
    state = f"cat {KUBELET}/cpu_manager_state"
    cluster.until(
        f"kubelet's policy is {policy}",
        lambda: f'"policyName":"{policy}"' in cluster.node.run(state, check=False),
    )
