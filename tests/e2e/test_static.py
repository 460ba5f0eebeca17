"""Beside kubelet's static CPU manager: its exclusive pods, shared ones, and what it reserves."""

import json

import pytest

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.churn import Churn
from tests.e2e.cluster import Born, Cluster
from tests.e2e.managers import (
    StaticBench,
    container_cpus,
    exclusive,
    given,
    group,
    held,
    quarrels,
    status,
)
from tests.e2e.pods import assigned, pod

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [StaticBench], indirect=True, scope="session"),
]

BY_KUBELET = "kubelet's static CPU manager"
ASKS = {"cpuset-scheduler": "required"}


@pytest.fixture
def quiet_minutes(request: pytest.FixtureRequest) -> float:
    """How long pods come and go."""
    return float(request.config.getoption("--quiet-minutes"))


def test_an_exclusive_pod_keeps_exactly_what_kubelet_gave_it(cluster: Cluster) -> None:
    before = cluster.available()
    # Two of the node's CPUs of each zone are kubelet's.
    assert before == {"node-0": "3", "node-1": "3"}
    cluster.apply(exclusive("alone"))
    cluster.running("alone")
    cpus = given(cluster)["alone/app"]
    assert len(cpulist.parse(cpus)) == 2
    assert cluster.born("alone") == Born(cpus=cpus, mems="0-1")
    told = cluster.verify("alone")["app"]
    assert (told["verdict"], told["asked"]["has_it"]) == ("aligned", True), told
    assert told["asked"]["decided_by"] == BY_KUBELET
    assert (told["cpus"]["decided"], told["cpus"]["effective"]) == (cpus, cpus)
    cluster.until("its CPUs aren't available", lambda: cluster.available() == less(before, cpus))
    # The agent wrote nothing: what is once written can't be made empty again.
    assert (cluster.cgroup("alone", "cpuset.cpus"), cluster.cgroup("alone", "cpuset.mems")) == (
        "",
        "",
    )
    assert container_cpus(cluster, "alone") == {"", cpus}


@pytest.mark.timeout(3600, func_only=True)
def test_a_bound_pod_stays_bound_while_exclusive_ones_come_and_go(
    cluster: Cluster, bench: Bench, quiet_minutes: float
) -> None:
    cluster.apply(pod("bound", annotations=assigned("6-7", mems="1")), pod("plain"))
    cluster.running("bound", "plain")
    cluster.until("bound", lambda: cluster.in_force("bound") == ("6-7", "1"))
    # From the pass on that published it the agent's count has all that it wrote at first.
    first = {"node-0": "3", "node-1": "1"}
    cluster.until("its CPUs aren't available", lambda: cluster.available() == first)
    churn = Churn(cluster, "bound")
    churn.run(quiet_minutes * 60)
    told = churn.told()
    (bench.folder / "churn.json").write_text(json.dumps(told, indent=1))
    assert churn.in_force == {"6-7"}, told
    assert churn.seconds_outside("6-7") == 0
    # kubelet did write all the while, and CPUs that aren't the pod's.
    own = group(cluster, "bound")
    by_kubelet = {line["held"] for line in churn.written(pods=False, below=own)}
    assert len(by_kubelet) > 1, told
    assert all(cpulist.parse(cpus) - {6, 7} for cpus in by_kubelet), by_kubelet
    # The pod's own directory is where it is held: nobody had to write that again.
    assert churn.written(pods=True, below=own) == []
    taken = sum(n for key, n in churn.agent_writes.items() if "taken" in key)
    assert len(churn.written(pods=True)) == taken, told
    assert quarrels(cluster) == {}
    assert churn.calm_writes == 0, told
    assert cluster.verdicts("bound") == {"app": "aligned"}


def test_cpus_that_kubelet_holds_or_reserves_are_nobody_elses(cluster: Cluster) -> None:
    cluster.apply(exclusive("alone"))
    cluster.running("alone")
    taken = given(cluster)["alone/app"]
    cluster.apply(
        pod("onto-reserved", annotations=assigned("0,4")),
        pod("onto-exclusive", annotations=assigned(taken)),
        pod("asks", annotations=ASKS),
    )
    cluster.running("onto-reserved", "onto-exclusive", "asks")
    for name, cpus, code in (
        ("onto-reserved", "0,4", "cpus-reserved"),
        ("onto-exclusive", taken, "cpus-taken"),
    ):
        said = cluster.until("refused", lambda: cluster.events(name).get("CPUSetRefused"))  # noqa: B023
        assert said.startswith(f"{code}: numa-agent.io/assignment gives CPUs {cpus}, of which")
    cluster.until("NUMAAssigned", lambda: cluster.events("asks").get("NUMAAssigned"))

    def reported() -> tuple[str, str]:
        cpus = status(cluster)["cpus"]
        return cpus["reserved"], cpus["kubelet_exclusive"]

    cluster.until("the report says so", lambda: reported() == ("0,4", taken))
    given_out = cpulist.parse(taken)
    for name in ("onto-reserved", "onto-exclusive", "asks"):
        assert not held(cluster, name) & given_out, name
    # No CPU is the asking pod's own: kubelet hands those out. It shares those of one node.
    assert held(cluster, "asks") in ({0, 1, 2, 3} - given_out, {4, 5, 6, 7} - given_out)
    cluster.until(
        "availability without all of those",
        lambda: cluster.available() == less({"node-0": "3", "node-1": "3"}, taken),
    )
    assert cluster.in_force("alone")[0] == "0-7"
    assert container_cpus(cluster, "alone") == {"", taken}


def test_where_kubelet_gives_a_pod_anothers_cpus_it_has_them(cluster: Cluster) -> None:
    cluster.apply(pod("bound", annotations=assigned("6-7", mems="1")))
    cluster.running("bound")
    cluster.until("bound", lambda: cluster.in_force("bound") == ("6-7", "1"))
    # Of the six that kubelet may give, four on whole cores are 2-3 and 6-7.
    cluster.apply(exclusive("greedy", cpus=4))
    cluster.running("greedy")
    assert given(cluster)["greedy/app"] == "2-3,6-7"
    said = cluster.until("refused", lambda: cluster.events("bound").get("CPUSetRefused"))
    assert said.startswith("cpus-taken: ")
    cluster.until("it shares", lambda: cluster.in_force("bound")[0] == "0-1,4-5")
    assert cluster.verify("greedy")["app"]["cpus"]["effective"] == "2-3,6-7"
    cluster.delete("greedy")
    cluster.until("it is back", lambda: cluster.in_force("bound") == ("6-7", "1"))
    assert quarrels(cluster) == {}


def less(available: dict[str, str], cpus: str) -> dict[str, str]:
    """An availability without these CPUs."""
    left = {zone: int(count) for zone, count in available.items()}
    for cpu in cpulist.parse(cpus):
        left[f"node-{cpu // 4}"] -= 1
    return {zone: str(count) for zone, count in left.items()}
