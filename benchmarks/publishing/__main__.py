"""Count what many nodes send to one real API server, against a naive publisher in the same run.

    python -m benchmarks.publishing [--nodes N] [--minutes M]

Every node makes its object, lives through one burst of pod changes and then idles, on a simulated
clock that its own pacer reads; the requests are real. The naive publisher puts its whole object
every 3 s, zones in any order, as publishers do that keep them in a hash map. Bytes are those of
the bodies, there and back.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from numa_agent.cluster.answers import Answer
from numa_agent.cluster.api import READ_SECONDS, Cluster
from numa_agent.cluster.connection import Connection, Request, load
from numa_agent.core.pacing import Pacer
from numa_agent.core.publishing import publish
from tests.apiserver.control_plane import ControlPlane, build, missing

CRD = Path(__file__).parents[2] / "manifests" / "crd" / "noderesourcetopologies.yaml"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
PASS_SECONDS = 5
NAIVE_SECONDS = 3
BURST = 10
"""Pod events in one burst, 50 ms apart: a deployment that scales on one node."""

Json = dict[str, Any]


@dataclass(kw_only=True)
class Count:
    """Requests by method, body bytes, and writes that made a new resourceVersion."""

    requests: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    stored: int = 0
    server_seconds: float = 0.0
    wall_seconds: float = 0.0


@dataclass(kw_only=True)
class Counting:
    """A connection whose requests are counted."""

    connection: Connection
    count: Count = field(default_factory=Count)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The server's address."""
        return self.connection.url

    def send(self, request: Request) -> Answer:
        """Send it and count it."""
        answer = self.connection.send(request)
        count = self.count
        count.requests[request.method] = count.requests.get(request.method, 0) + 1
        count.bytes += len((request.body or "").encode()) + len(answer.body)
        if request.method != "GET" and answer.document is not None:
            self._see(answer.document)
        return answer

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _see(self, document: Json) -> None:
        name, version = (document["metadata"][key] for key in ("name", "resourceVersion"))
        self.count.stored += self.versions.get(name) != version
        self.versions[name] = version


class Node:
    """One agent's loop on a simulated clock."""

    def __init__(self, cluster: Cluster, name: str, seed: int) -> None:
        self._cluster = cluster
        self._name = name
        self._pacer = Pacer(random.Random(seed).random)
        self._now = 0.0
        self._free = 100

    def run_to(self, end: float) -> None:
        """Take a pass every PASS_SECONDS, and publish what is due."""
        while self._now < end:
            self.offer()
            self._until(min(self._now + PASS_SECONDS, end))

    def burst(self) -> None:
        """See BURST pods come, one by one."""
        for _ in range(BURST):
            self._free -= 1
            self.offer()
            self._until(self._now + 0.05)
        self._until(self._now + 1.5)

    def offer(self) -> None:
        """Say what the object should hold now."""
        self._pacer.offer(self._now, self._free)

    def _until(self, end: float) -> None:
        while (wait := self._pacer.due(self._now)) is not None and self._now + wait <= end:
            self._now += wait
            if self._pacer.due(self._now) == 0:
                published = publish(self._cluster, manifest(self._name, self._free))
                self._pacer.tell(self._now, self._free, published)
        self._now = end


class Naive:
    """A publisher that puts its whole object every NAIVE_SECONDS, changed or not."""

    def __init__(self, server: Counting, name: str, seed: int) -> None:
        self._server = server
        self._name = name
        self._random = random.Random(seed)
        self._stored: Json = {}

    def create(self) -> None:
        """Make the object."""
        self._send("POST", TOPOLOGIES, manifest(self._name, 100))

    def run(self, seconds: float) -> None:
        """Put it once for every NAIVE_SECONDS."""
        for _ in range(int(seconds / NAIVE_SECONDS)):
            zones = self._stored["zones"]
            self._stored["zones"] = self._random.sample(zones, len(zones))
            self._send("PUT", f"{TOPOLOGIES}/{self._name}", self._stored)

    def _send(self, method: str, path: str, body: Json) -> None:
        request = Request(
            what=f"{method} {path}",
            method=method,
            path=path,
            query={},
            content_type="application/json",
            body=json.dumps(body),
        )
        answer = self._server.send(request)
        if not 200 <= answer.status < 300 or answer.document is None:
            sys.exit(f"{request.what}: HTTP {answer.status}")
        self._stored = answer.document


def manifest(name: str, free: int) -> Json:
    """An object like that of a machine with two sockets, four NUMA nodes and eight GPUs."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": f"uid-of-{name}"}
    names = ("topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy")
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "attributes": [{"name": each, "value": "static"} for each in names],
        "zones": [_zone(number, free) for number in range(4)],
    }


def _zone(number: int, free: int) -> Json:
    amounts = {"cpu": 56, "hugepages-2Mi": 0, "memory": 2**38, "nvidia.com/gpu": 2}
    resources = [
        {"name": name, "capacity": str(n), "allocatable": str(n), "available": str(n)}
        for name, n in amounts.items()
    ]
    resources[0]["available"] = f"{max(free, 0)}"
    costs = [{"name": f"node-{other}", "value": 10 + abs(other - number)} for other in range(4)]
    return {"name": f"node-{number}", "type": "Node", "costs": costs, "resources": resources}


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=5, help="simulated, of our idling")
    arguments = parser.parse_args()
    reason = missing()
    if reason is not None:
        sys.exit(reason)
    with ControlPlane(build()) as plane:
        plane.install_crd(yaml.safe_load(CRD.read_text()))
        connection = Connection(load(plane.kubeconfig), READ_SECONDS)
        with closing(Counting(connection=connection)) as server:
            rows = _measure(plane, server, arguments.nodes, arguments.minutes)
    print("\n".join(_table(rows, arguments.nodes)))
    return 0


def _measure(
    plane: ControlPlane, server: Counting, nodes: int, minutes: float
) -> list[tuple[str, Count, float]]:
    """Each phase's count, and how many times a node did what the phase is named for."""
    cluster = Cluster(server)
    rows = []
    ours = [Node(cluster, f"ours-{number}", number) for number in range(nodes)]
    naive = [Naive(server, f"naive-{number}", number) for number in range(nodes)]
    with _counted(plane, server) as count:
        for node in ours:
            node.run_to(PASS_SECONDS)
    rows.append(("first publication", count, 1.0))
    with _counted(plane, server) as count:
        for node in ours:
            node.burst()
    rows.append((f"change ({BURST} pod events)", count, 1.0))
    with _counted(plane, server) as count:
        for node in ours:
            node.run_to(PASS_SECONDS + 2 + 60 * minutes)
    rows.append(("idle minute", count, minutes))
    for each in naive:
        each.create()
    with _counted(plane, server) as count:
        for each in naive:
            each.run(5 * NAIVE_SECONDS)
    rows.append((f"naive minute (PUT every {NAIVE_SECONDS} s)", count, 5 * NAIVE_SECONDS / 60))
    return rows


@contextmanager
def _counted(plane: ControlPlane, server: Counting) -> Iterator[Count]:
    server.count = count = Count()
    busy, start = _busy(plane), time.perf_counter()
    yield count
    count.wall_seconds = time.perf_counter() - start
    count.server_seconds = _busy(plane) - busy
    server.count = Count()


def _busy(plane: ControlPlane) -> float:
    """The CPU seconds that etcd and the API server have taken."""
    times = [psutil.Process(each).cpu_times() for each in plane.process_ids]
    return float(sum(each.user + each.system for each in times))


def _table(rows: list[tuple[str, Count, float]], nodes: int) -> list[str]:
    lines = [
        f"{f'per node, {nodes} nodes':<30}{'requests':>9}{'GET':>7}{'write':>7}{'stored':>8}"
        f"{'bytes':>9}{'server ms':>11}{'wall s':>8}"
    ]
    for name, count, times in rows:
        each = nodes * times
        total = sum(count.requests.values())
        reads = count.requests.get("GET", 0)
        lines.append(
            f"{name:<30}{total / each:>9.2f}{reads / each:>7.2f}{(total - reads) / each:>7.2f}"
            f"{count.stored / each:>8.2f}{count.bytes / each:>9.0f}"
            f"{1000 * count.server_seconds / each:>11.2f}{count.wall_seconds:>8.1f}"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
