"""The two agents on the bench: ours as it was deployed, then in its place the one that polls."""

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from benchmarks.churn.deploying import POLLS, poller
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.control_plane import ControlPlane
from tests.e2e.cluster import TOPOLOGIES, Cluster

OURS = "numa-agent"
"""As POLLS the name of a namespace, a ServiceAccount, a DaemonSet and a label."""

Json = dict[str, Any]
Requests = Counter[tuple[str, str]]


def user(name: str) -> str:
    """Who an agent is to the API server."""
    return f"system:serviceaccount:{name}:{name}"


class Audited(ControlPlane):
    """Every request of the two agents is recorded, and of others those that look for a mark."""

    def _write_audit_policy(self) -> None:
        self._audit_log = self._folder / "audit.log"
        marks = [{"group": "", "resources": ["configmaps"]}]
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "Metadata", "users": [user(OURS), user(POLLS)]},
                {"level": "Metadata", "users": ["admin"], "resources": marks},
                {"level": "None"},
            ],
        }
        (self._folder / "audit-policy.yaml").write_text(json.dumps(policy))

    def asked(self, name: str) -> Requests:
        """How often an agent sent each verb about each resource."""
        found = {}
        for line in self._audited():
            event = json.loads(line)
            if event["user"]["username"] == user(name):
                # A watch is written down when it begins and when it ends.
                resource = event.get("objectRef", {}).get("resource", "-")
                found[event["auditID"]] = event["verb"], resource
        return Counter(found.values())


class ChurnBench(Bench):
    """The bench of the end-to-end scenarios, with an API server that counts."""

    control_plane = Audited

    @property
    def plane(self) -> Audited:
        """The control plane."""
        plane = self.cluster.plane
        assert isinstance(plane, Audited)
        return plane


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What an agent has used since its start: CPU in seconds, bytes of its pod's network."""

    cpu: float
    received: int
    sent: int
    writes: int
    requests: Requests

    def since(self, before: "Used") -> "Used":
        """What was used after an earlier look."""
        return Used(
            cpu=self.cpu - before.cpu,
            received=self.received - before.received,
            sent=self.sent - before.sent,
            writes=self.writes - before.writes,
            requests=self.requests - before.requests,
        )


def used(bench: ChurnBench, name: str) -> Used:
    """What the agent of that name has used so far."""
    cluster = bench.cluster
    [agent] = _pods(cluster, name)
    group = f"/sys/fs/cgroup/kubepods/burstable/pod{agent['metadata']['uid']}"
    leaf = agent["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    text = cluster.node.run(
        f"cat {group}/cpu.stat; read -r pid <{group}/{leaf}/cgroup.procs; cat /proc/$pid/net/dev"
    )
    micros = re.search(r"^usage_usec (\d+)$", text, re.MULTILINE)
    network = re.search(r"^ *eth0:(.*)$", text, re.MULTILINE)
    assert micros is not None, text
    assert network is not None, text
    columns = network[1].split()
    return Used(
        cpu=int(micros[1]) / 1e6,
        received=int(columns[0]),
        sent=int(columns[8]),
        writes=_writes(cluster, name, agent),
        requests=bench.plane.asked(name),
    )


def _writes(cluster: Cluster, name: str, agent: Json) -> int:
    """Its own count of the sets that it wrote."""
    if name == POLLS:
        said = cluster.kubectl("logs", "-n", POLLS, agent["metadata"]["name"])
        for line in re.findall(r"^(?!writes ).*$", said, re.MULTILINE):
            print(f"{POLLS}: {line}", file=sys.stderr)
        return int(re.findall(r"^writes (\d+)$", said, re.MULTILINE)[-1])
    url = f"http://{agent['status']['podIP']}:9316/metrics"
    text = cluster.node.run(f"busybox wget -q -O - {url}")
    counted = re.findall(
        r'^numa_agent_cpuset_writes_total\{.*"taken".*\} (\S+)$', text, re.MULTILINE
    )
    return int(sum(map(float, counted)))


def put_poller(cluster: Cluster) -> None:
    """Take our agent away, and all it published, and deploy the other in its place.

    What ours wrote of pods that are gone went with them.
    """
    cluster.kubectl("delete", "daemonset", OURS, "-n", OURS, "--timeout=60s", seconds=70)
    cluster.until("our agent is gone", lambda: not _pods(cluster, OURS))
    cluster.plane.ask("DELETE", f"{TOPOLOGIES}/{cluster.node.name}")
    listed = {"kind": "List", "apiVersion": "v1", "items": poller()}
    cluster.kubectl("apply", "-f", "-", data=listed)
    cluster.until("the polling agent has published", cluster.zones)


def _pods(cluster: Cluster, name: str) -> list[Json]:
    selector = f"labelSelector=app.kubernetes.io%2Fname%3D{name}"
    found: list[Json] = cluster.plane.ask("GET", f"/api/v1/namespaces/{name}/pods?{selector}")[
        "items"
    ]
    return found
