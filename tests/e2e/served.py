"""What the agent serves of itself, asked from its node."""

import json
import re
from dataclasses import dataclass
from typing import Self

from tests.e2e.bench.guest import Guest
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.pods import Json

PORT = 9316
PASSES = "numa_agent_passes_total"
WRITES = "numa_agent_cpuset_writes_total"


@dataclass(frozen=True, slots=True)
class Served:
    """The pages of the agent's pod, which are there without the API server."""

    node: Guest
    address: str

    @classmethod
    def by(cls, cluster: Cluster) -> Self:
        """Those of the agent that runs on the cluster's node now."""
        agent = cluster.pod(cluster.agent, NAMESPACE)
        assert agent is not None
        return cls(cluster.node, agent["status"]["podIP"])

    def page(self, path: str) -> str:
        """The text that it serves there."""
        return self.node.run(f"busybox wget -qO- http://{self.address}:{PORT}{path}")

    def report(self) -> Json:
        """The last pass."""
        found: Json = json.loads(self.page("/statusz"))
        return found

    def series(self, name: str) -> dict[str, int]:
        """One of the counters: its values by their labels, as they are printed."""
        found = re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", self.page("/metrics"), re.MULTILINE)
        return {labels: int(float(value)) for labels, value in found}

    def count(self, name: str) -> int:
        """The sum over a counter's labels."""
        return sum(self.series(name).values())


def counted(cluster: Cluster, name: str) -> int:
    """The sum over the labels of one of the counters of the agent that runs now."""
    return Served.by(cluster).count(name)
