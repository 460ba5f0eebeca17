"""What every container got, by the pass's own reading; nothing is written."""

from dataclasses import dataclass

from numa_agent.agent import Planned, around_of, planned_of, prove, read_all
from numa_agent.config import Config
from numa_agent.core.report import Proof
from numa_agent.core.topology import Topology
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import ports_of, reaching
from numa_agent.wiring.plans import named


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The verdict on every running container, and why sources failed.

    `planned` is None, and `proofs` empty, where the pods or kubelet's CPUs are unknown.
    """

    topology: Topology
    planned: Planned | None
    proofs: tuple[Proof, ...]
    failures: tuple[str, ...]


def verify_once(config: Config, pod_name: str | None = None) -> Verified:
    """Look at every running container, or at those of one pod (namespace/name).

    Raises SourceError without a map, and ConfigError where no such pod runs here.
    """
    with asking_nvml(config) as ask, reaching(config) as cluster:
        ports = ports_of(config, ask, cluster, None)
        now = read_all(ports.sources)
        failures = now.failures
        planned = planned_of(ports, now, failures)
        proofs: tuple[Proof, ...] = ()
        if planned is not None:
            if pod_name is not None:
                named((pod for pod in planned.inputs.pods if not pod.finished), pod_name)
            spilled = ports.sources.spilled([node.id for node in now.topology.nodes])
            around = around_of(now, spilled, closely=True)
            proofs = prove(
                ports.cpusets, planned, around, (), failures, everyone=True, only=pod_name
            )
        failures += dict.fromkeys(ports.damaged())
    return Verified(
        topology=now.topology, planned=planned, proofs=proofs, failures=tuple(failures)
    )
