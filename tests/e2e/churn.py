"""Exclusive pods that come and go beside a bound one, and who writes what meanwhile."""

import json
import time

from tests.e2e.cluster import Cluster
from tests.e2e.managers import exclusive, given, group, watched, writes
from tests.e2e.pods import Json

CALM_SECONDS = 20.0
"""Two periods of kubelet's CPU manager, in which it looks at each container."""


class Churn:
    """Lets pods come and go, and keeps what was written and what `bound` could use.

    `cycles` is how often; `agent_writes` are the agent's by its own count, and `calm_writes` those
    of its and kubelet's after the last pod had gone. `lines` are what was watched.
    """

    def __init__(self, cluster: Cluster, bound: str) -> None:
        self.cycles = 0
        self.agent_writes: dict[str, int] = {}
        self.calm_writes = 0
        self._cluster = cluster
        self._bound = bound
        self.lines: list[Json] = []

    def run(self, seconds: float) -> None:
        """Go on for so long, then wait until nobody has anything to do any more."""
        cluster = self._cluster
        before, end = writes(cluster), time.monotonic() + seconds
        with watched(cluster, self._bound) as log:
            while time.monotonic() < end or self.cycles < 2:
                cluster.apply(exclusive("two", cpus=2), exclusive("one", cpus=1))
                cluster.running("two", "one")
                cluster.delete("one")
                cluster.delete("two")
                self.cycles += 1
            cluster.until("kubelet has it all back", lambda: given(cluster) == {"": "0-7"})
            cluster.until("and gave it to all", lambda: self._pools() == {"0-7"})
            cluster.until("the bound pod's CPUs are all that aren't available", self._only_bound)
            count = len(self._read(log.read_text()))
            time.sleep(CALM_SECONDS)
            self.calm_writes = len(self._read(log.read_text())) - count
        self.lines = self._read(log.read_text())
        self.agent_writes = {key: n - before.get(key, 0) for key, n in writes(cluster).items()}

    @property
    def seconds(self) -> float:
        """How long it was watched."""
        return float(self.lines[-1]["at"] - self.lines[0]["at"])

    @property
    def in_force(self) -> set[str]:
        """All that any container of the bound pod could ever use."""
        return {line["in_force"] for line in self.lines if "in_force" in line} - {"gone"}

    def seconds_outside(self, cpus: str) -> float:
        """How long a container of the bound pod could use anything else, to 20 ms."""
        total, end = 0.0, self.lines[-1]["at"]
        since: dict[str, float] = {}
        for line in self.lines:
            if "in_force" in line and (begun := since.pop(line["group"], None)) is not None:
                total += line["at"] - begun
            if line.get("in_force", cpus) not in (cpus, "gone"):
                since[line["group"]] = line["at"]
        return total + sum((end - begun for begun in since.values()), 0.0)

    def written(self, *, pods: bool, below: str = "") -> list[Json]:
        """The writes to pods' own directories, which the agent makes, or to containers', which
        kubelet's runtime does; all of them, or those of the one pod."""
        return [
            line
            for line in self.lines
            if "wrote" in line
            and line["group"].startswith(below)
            and pods == line["group"].rpartition("/")[2].startswith("pod")
        ]

    def told(self) -> dict[str, object]:
        """The figures."""
        own = group(self._cluster, self._bound)
        return {
            "seconds": round(self.seconds, 1),
            "cycles": self.cycles,
            "agent's writes by its own count": self.agent_writes,
            "writes to pods' directories": len(self.written(pods=True)),
            "writes to containers' directories": len(self.written(pods=False)),
            "writes to the bound pod's directory": len(self.written(pods=True, below=own)),
            "writes to the bound pod's containers": len(self.written(pods=False, below=own)),
            "writes when all was over": self.calm_writes,
        }

    def _pools(self) -> set[str]:
        """What kubelet wrote to the containers of those that share; it leaves sandboxes alone."""
        files = "/sys/fs/cgroup/kubepods/burstable/*/*/cpuset.cpus"
        return set(self._cluster.node.run(f"cat {files}").split())

    def _only_bound(self) -> bool:
        return self._cluster.available() == {"node-0": "3", "node-1": "1"}

    @staticmethod
    def _read(text: str) -> list[Json]:
        """The lines that are whole."""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
