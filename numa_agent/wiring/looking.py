"""What a pass reads and plans, for the commands that stop there and write nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numa_agent.agent import Planned, Ports, Readings, around_of, planned_of, prove, read_all
from numa_agent.config import Config
from numa_agent.core.report import Proof
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import ports_of, reaching

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the machine; `planned` is None where the pods or kubelet's CPUs are unknown.

    `cluster` is None for a recorded machine. What fails later is added to `failures`.
    """

    ports: Ports
    now: Readings
    planned: Planned | None
    cluster: "Cluster | None"
    failures: list[str]

    def problems(self, only: str | None = None) -> tuple[str, ...]:
        """What of the pods can't be read, or of what concerns one of them."""
        read = self.now.pods.values[0].problems if self.now.pods.values else ()
        begins = ("",) if only is None else (f"pod {only} ", f"pod {only}:")
        return tuple(problem for problem in read if problem.startswith(begins))

    def proved(
        self, planned: Planned, only: str | None = None, *, closely: bool = True
    ) -> tuple[Proof, ...]:
        """The verdict on every running container, or those of one pod."""
        nodes = [node.id for node in self.now.topology.nodes]
        around = around_of(self.now, self.ports.sources.spilled(nodes), closely=closely)
        return prove(
            self.ports.cpusets, planned, around, (), self.failures, everyone=True, only=only
        )


@contextmanager
def looking(config: Config) -> Iterator[Look]:
    """Read everything once and plan. Raises SourceError without a map."""
    with asking_nvml(config) as ask, reaching(config) as cluster:
        ports = ports_of(config, ask, cluster, None)
        if ports.assigning is not None:
            ports.assigning.not_saving()
        now = read_all(ports.sources)
        failures = now.failures
        planned = planned_of(ports, now, failures)
        yield Look(ports=ports, now=now, planned=planned, cluster=cluster, failures=failures)
