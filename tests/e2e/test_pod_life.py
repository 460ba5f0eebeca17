"""How pods end, and what of their CPUs is whose meanwhile."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from numa_agent.core import cpulist
from tests.e2e.cluster import Born, Cluster
from tests.e2e.pods import LOOK, STAY, assigned, container, pod

pytestmark = pytest.mark.e2e

SLOW_SECONDS = 20.0


def phase(cluster: Cluster, name: str) -> str:
    """The pod's, empty where there is none."""
    return str((cluster.pod(name) or {"status": {}})["status"].get("phase", ""))


def without(before: dict[str, str], zone: str, count: int) -> dict[str, str]:
    """An availability with so many CPUs less."""
    return {**before, zone: str(int(before[zone]) - count)}


def test_a_pod_that_is_done_gives_its_cpus_back_while_its_object_stays(cluster: Cluster) -> None:
    before = cluster.available()
    less = without(before, "node-1", 2)
    done = f"{LOOK}\nwhile [ ! -e /tmp/end ]; do usleep 200000; done\n"
    manifest = pod(
        "job",
        container(script=done),
        container("other", script=done),
        annotations=assigned("6-7", mems="1"),
        restartPolicy="OnFailure",
    )
    cluster.apply(manifest)
    cluster.running("job")
    cluster.until("availability drops", lambda: cluster.available() == less)
    cluster.kubectl("exec", "job", "-c", "app", "--", "touch", "/tmp/end")

    def ended() -> int:
        statuses = (cluster.pod("job") or {})["status"]["containerStatuses"]
        return sum("terminated" in each["state"] for each in statuses)

    cluster.until("one of two is done", lambda: ended() == 1)
    assert cluster.in_force("job") == ("6-7", "1")
    assert cluster.verdicts("job") == {"other": "aligned"}
    assert cluster.available() == less
    cluster.kubectl("exec", "job", "-c", "other", "--", "touch", "/tmp/end")
    cluster.until("succeeded", lambda: phase(cluster, "job") == "Succeeded")
    cluster.until("its CPUs are back", lambda: cluster.available() == before)
    # And they can be another's.
    cluster.apply(pod("next", annotations=assigned("6-7", mems="1")))
    cluster.running("next")
    assert cluster.born("next") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("next") == {"app": "aligned"}
    assert phase(cluster, "job") == "Succeeded"


def test_a_pod_that_crashes_again_and_again_keeps_its_cpus(cluster: Cluster) -> None:
    before = cluster.available()
    less = without(before, "node-1", 2)
    crashing = container(script=f"{LOOK}\nexit 1\n")
    cluster.apply(pod("crashing", crashing, annotations=assigned("6-7", mems="1")))

    def status() -> dict[str, object]:
        found = (cluster.pod("crashing") or {})["status"].get("containerStatuses", [{}])
        return dict(found[0])

    def waits() -> bool:
        state = status().get("state", {})
        assert isinstance(state, dict)
        return bool(state.get("waiting", {}).get("reason") == "CrashLoopBackOff")

    cluster.until("held back", waits)
    cluster.until("availability drops", lambda: cluster.available() == less)
    assert cluster.in_force("crashing") == ("6-7", "1")
    # Nobody else gets them meanwhile.
    cluster.apply(pod("greedy", annotations=assigned("6", mems="1")))
    cluster.until("refused", lambda: cluster.events("greedy").get("CPUSetRefused"))
    assert cluster.events("greedy")["CPUSetRefused"].startswith("cpus-taken")
    cluster.until("started twice more", lambda: int(str(status().get("restartCount", 0))) >= 2)
    cluster.until("held back again", waits)
    assert cluster.born("crashing") == Born(cpus="6-7", mems="1")
    assert cluster.available() == less


def test_a_pod_that_kubelet_evicts_gives_its_cpus_back(cluster: Cluster) -> None:
    before = cluster.available()
    fills = container(script=f"{LOOK}\nhead -c 30000000 /dev/zero >/tmp/full\n{STAY}")
    resources = fills["resources"]
    resources["limits"] = {"ephemeral-storage": "8Mi"}
    cluster.apply(pod("evicted", fills, annotations=assigned("6-7", mems="1")))
    cluster.until("failed", lambda: phase(cluster, "evicted") == "Failed")
    assert (cluster.pod("evicted") or {})["status"]["reason"] == "Evicted"
    cluster.until("its CPUs are back", lambda: cluster.available() == before)
    assert cluster.pod("evicted") is not None


def test_a_pod_deleted_by_force_has_its_cpus_until_it_is_gone(cluster: Cluster) -> None:
    before = cluster.available()
    less = without(before, "node-1", 2)
    cluster.apply(pod("slow", annotations=assigned("6-7", mems="1")))
    cluster.running("slow")
    cluster.until("availability drops", lambda: cluster.available() == less)
    processes = f"cat {cluster.group('slow')}/*/cgroup.procs 2>/dev/null || true"
    # While its runtime hangs kubelet can end nothing, which is why people force it.
    with stopped(cluster, "containerd"):
        cluster.kubectl("delete", "pod", "slow", "--force", "--grace-period=0")
        assert cluster.pod("slow") is None
        cluster.apply(pod("next", annotations=assigned("6-7", mems="1")))
        cluster.until("refused", lambda: cluster.events("next").get("CPUSetRefused"))
        assert cluster.events("next")["CPUSetRefused"].startswith("cpus-taken")
        other = f"cat {cluster.group('next')}/cpuset.cpus.effective 2>/dev/null || true"

        def held() -> frozenset[int]:
            return cpulist.parse(cluster.node.run(other))

        narrowed = False
        end = time.monotonic() + SLOW_SECONDS
        while time.monotonic() < end:
            assert cluster.available() == less
            cpus = held()
            if cpus & {6, 7} and not narrowed:
                # kubelet makes its cgroup with all CPUs, and the agent narrows it then.
                cluster.until("it shares", lambda: not held() & {6, 7}, seconds=10)
            else:
                assert not cpus & {6, 7}
            narrowed = narrowed or bool(cpus)
            assert cluster.node.run(processes).strip()
    cluster.until("it is gone", lambda: not cluster.node.run(processes).strip())
    cluster.until("the next has them", lambda: cluster.in_force("next")[0] == "6-7")
    cluster.running("next")
    told = cluster.verify("next")["app"]["cpus"]
    assert (told["decided"], told["effective"]) == ("6-7", "6-7")
    assert cluster.available() == less


@contextmanager
def stopped(cluster: Cluster, daemon: str) -> Iterator[None]:
    """Keep a daemon of the node from doing anything."""
    signal = f"kill -{{}} $(cat /run/{daemon}.pid)"
    cluster.node.run(signal.format("STOP"))
    try:
        yield
    finally:
        cluster.node.run(signal.format("CONT"))
