"""The agent as users get it: its pod, what it publishes, what Prometheus scrapes."""

import pytest

from tests.e2e.bench.bench import Bench
from tests.e2e.cluster import NAMESPACE, TOPOLOGIES, Cluster

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]


def test_the_agent_is_ready_without_privilege(cluster: Cluster) -> None:
    pod = cluster.pod(cluster.agent, NAMESPACE)
    assert pod is not None
    [status] = pod["status"]["containerStatuses"]
    assert (status["ready"], status["restartCount"]) == (True, 0)
    group = f"/sys/fs/cgroup/kubepods/burstable/pod{pod['metadata']['uid']}"
    pid = cluster.node.run(f"cat {group}/*/cgroup.procs | sort -n | tail -1").strip()
    text = cluster.node.read(f"/proc/{pid}/status")
    own = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    assert own["Name"].startswith(("numa-agent", "python"))
    assert {own[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (own["NoNewPrivs"], own["Seccomp"]) == ("1", "2")


def test_the_object_has_the_guests_zones(cluster: Cluster, bench: Bench) -> None:
    zones = cluster.zones()
    assert sorted(zones) == ["node-0", "node-1"]
    costs = {each["name"]: each["value"] for each in zones["node-0"]["costs"]}
    assert costs == {"node-0": 10, "node-1": 21}
    for zone in zones.values():
        [cpu] = (each for each in zone["resources"] if each["name"] == "cpu")
        assert cpu["capacity"] == "4"
    shown = cluster.kubectl("get", "noderesourcetopologies", "-o", "wide")
    (bench.folder / "noderesourcetopologies.txt").write_text(
        f"{shown}\n{cluster.kubectl('get', 'noderesourcetopologies', '-o', 'yaml')}"
    )
    assert cluster.node.name in shown
    written = cluster.plane.ask("GET", f"{TOPOLOGIES}/{cluster.node.name}")
    assert written["metadata"]["ownerReferences"][0]["name"] == cluster.node.name
