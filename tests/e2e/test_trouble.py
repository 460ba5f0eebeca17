"""What the agent depends on goes away and comes back while pods are bound."""

import os
import time

import pytest

from numa_agent.core import cpulist
from tests.e2e.bench.guest import Guest
from tests.e2e.cluster import Born, Cluster
from tests.e2e.placed import by_group, outside, own, uid, uid_of
from tests.e2e.pods import assigned, pod
from tests.e2e.served import WRITES, Served, counted
from tests.e2e.trouble import (
    Before,
    TroubleBench,
    bound,
    comes_true,
    settled,
    unpublished,
)
from tests.e2e.watching import Watch
from tests.e2e.waves import moved

FIELDS = ("capacity", "allocatable", "available")
AWAY_SECONDS = int(os.environ.get("E2E_AWAY_SECONDS", "30"))

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [TroubleBench], indirect=True, scope="session"),
    pytest.mark.timeout(900 + AWAY_SECONDS, func_only=True),
]

KILL_SHELL = """\
for pid in $(cat {folder}/*/cgroup.procs); do
    [ "$(tr '\\0' ' ' </proc/$pid/cmdline | head -c 8)" != "/bin/sh " ] || kill -9 $pid
done
"""

RESTART_CONTAINERD = """\
set -e
pid=$(cat /run/containerd.pid)
kill $pid
while [ -d /proc/$pid ]; do sleep 0.1; done
containerd -c /run/share/containerd.toml >/run/share/containerd-again.log 2>&1 </dev/null &
echo $! >/run/containerd.pid
until ctr version >/dev/null 2>&1; do sleep 0.2; done
"""


def groups(node: Guest, uid: str) -> dict[str, str]:
    """The CPUs in force in a pod's cgroup and in those of its containers."""
    found = by_group(node)
    return {group: cpulist.render(cpus) for group, cpus in found.items() if uid_of(group) == uid}


def restart_app(cluster: Cluster, uid: str) -> None:
    """Kill a pod's shell and wait until kubelet has started another."""
    before = groups(cluster.node, uid).keys()
    folder = f"/sys/fs/cgroup/kubepods/*/pod{uid}"
    cluster.node.run(KILL_SHELL.format(folder=folder))
    cluster.until("another container", lambda: groups(cluster.node, uid).keys() - before)


def answering(cluster: Cluster) -> bool:
    """Whether the agent says that it is ready."""
    return Served.by(cluster).page("/readyz") == "ready\n"


def test_the_api_server_is_away(cluster: Cluster, node: Guest) -> None:
    bound(cluster)
    cluster.apply(pod("ends", annotations=assigned("4", mems="1")))
    cluster.running("ends")
    before, held, decided = Before.of(cluster), own(cluster), uid(cluster, "decided")
    agent = Served.by(cluster)

    def drift() -> int:
        return agent.count("numa_agent_drift_total")

    def inside() -> bool:
        return {*groups(node, decided).values()} == {"6-7"}

    with Watch(node, "api-away") as watch:
        cluster.kubectl("delete", "pod", "ends", "--wait=false")
        cluster.plane.halt()
        back = time.monotonic() + AWAY_SECONDS
        try:
            restart_app(cluster, decided)
            assert inside()
            drifted = drift()
            node.run(f"echo 0-3 >$(echo /sys/fs/cgroup/kubepods/*/pod{decided})/cpuset.cpus")
            cluster.until("what somebody wrote is repaired", lambda: drift() > drifted)
            assert inside()
            while time.monotonic() < back:
                assert inside()
                time.sleep(1)
        finally:
            cluster.plane.resume()
        del held[decided]  # somebody wrote something else
        assert moved(watch.changes, held) == []
    cluster.until("what ended is gone", lambda: cluster.pod("ends") is None)
    comes_true(cluster, "its CPU is free", lambda: unpublished(cluster))
    cluster.apply(pod("after", annotations=assigned("5", mems="1")))
    cluster.running("after")
    assert cluster.born("after") == Born(cpus="5", mems="1")
    settled(cluster, before)


def test_containerd_is_started_again(cluster: Cluster, node: Guest) -> None:
    bound(cluster)
    before, held, decided = Before.of(cluster), own(cluster), uid(cluster, "decided")
    address = Served.by(cluster).address
    with Watch(node, "containerd") as watch:
        node.run(RESTART_CONTAINERD, seconds=90)
        restart_app(cluster, decided)
        # containerd has been seen to come back without a pod's sandbox: then kubelet ends that
        # pod's containers and starts others, at another address.
        cluster.until("the agent answers", lambda: answering(cluster))
        cluster.apply(pod("after", annotations=assigned("5", mems="1")))
        cluster.running("after")
        assert cluster.born("after") == Born(cpus="5", mems="1")
        kills = int(Served.by(cluster).address != address)
        settled(cluster, before, kills=kills)
        assert moved(watch.changes, held) == []


def test_a_cpu_is_unplugged_and_plugged_in_again(cluster: Cluster, node: Guest) -> None:
    bound(cluster)
    before, decided = Before.of(cluster), uid(cluster, "decided")
    comes_true(cluster, "every pod is inside", lambda: outside(cluster))
    wrote = counted(cluster, WRITES)

    def published() -> dict[str, str]:
        return {field: cluster.available(field=field)["node-1"] for field in FIELDS}

    shown = published()
    plug = "echo {} >/sys/devices/system/cpu/cpu7/online"
    try:
        node.run(plug.format(0))
        # The kernel tells cpusets in its own time.
        cluster.until("it goes", lambda: {*groups(node, decided).values()} == {"6"})
        said = cluster.until("told", lambda: cluster.events("decided").get("CPUSetDegraded"))
        assert "7" in said
        less = {**shown, "capacity": "3", "allocatable": "3"}
        cluster.until("the published object has one less", lambda: published() == less)
        assert not outside(cluster)
    finally:
        node.run(plug.format(1))
    # The kernel remembers what was written, so that there is nothing to write.
    cluster.until("it is back", lambda: {*groups(node, decided).values()} == {"6-7"})
    cluster.until("the published object has it again", lambda: published() == shown)
    settled(cluster, before, expected=["CPUSetDegraded"])
    assert counted(cluster, WRITES) == wrote
