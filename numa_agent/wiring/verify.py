"""What every container got, by the pass's own reading; nothing is written."""

from dataclasses import dataclass

from numa_agent.agent import Planned
from numa_agent.config import Config
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Proof
from numa_agent.core.topology import Topology
from numa_agent.wiring.looking import looking
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

    A pod or container that can't be read is a failure, too: nobody has looked at it. Raises
    SourceError without a map or where that pod can't be read, and ConfigError where no such pod
    runs here.
    """
    with looking(config) as look:
        proofs: tuple[Proof, ...] = ()
        if look.planned is not None:
            problems = look.problems(pod_name)
            if pod_name is not None:
                live = [pod for pod in look.planned.inputs.pods if not pod.finished]
                if problems and pod_name not in {pod.full_name for pod in live}:
                    raise SourceError("; ".join(problems))
                named(live, pod_name)
            proofs = look.proved(look.planned, pod_name)
            look.failures.extend(problems)
        failures = (*look.failures, *dict.fromkeys(look.ports.damaged()))
    return Verified(
        topology=look.now.topology, planned=look.planned, proofs=proofs, failures=failures
    )
