"""One pod's story, by the pass's own reading; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from numa_agent.agent import Planned, Readings, bound_of, view_of
from numa_agent.config import Config, ConfigError
from numa_agent.core.cpusets import Step
from numa_agent.core.documents import Document, items, mapping, text
from numa_agent.core.errors import SourceError
from numa_agent.core.explaining import (
    Case,
    Story,
    own_rooms,
    placing,
    published_rooms,
    tell,
    waiting,
)
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_running import running
from numa_agent.core.pods import Pod, parse_pod
from numa_agent.core.report import Proof
from numa_agent.wiring.looking import looking

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A story, the verdicts that it stands on, and why sources failed."""

    story: Story
    proofs: tuple[Proof, ...]
    failures: tuple[str, ...]


def explain_once(config: Config, name: str) -> Explained:
    """Tell of one pod (namespace/name): of this node, or in the cluster and not placed yet.

    Raises SourceError without a map or the pods, and ConfigError where there is no such pod or
    another node has it.
    """
    with looking(config) as look:
        now, planned, failures = look.now, look.planned, look.failures
        if planned is None:
            raise SourceError(f"no pod can be explained: {'; '.join(failures)}")
        view = view_of(now, planned.desired, failures)
        accounts = () if view is None else tuple(view.accounts)
        pod = next((each for each in planned.inputs.pods if each.full_name == name), None)
        problems = look.problems(name)
        failures.extend(problems)
        if pod is None and problems:
            raise SourceError("; ".join(problems))
        if pod is None:
            story = _unplaced(look.cluster, name)
            return Explained(story=story, proofs=(), failures=tuple(failures))
        assigning = look.ports.assigning
        proofs = look.proved(planned, name)
        everyone = proofs or look.proved(planned, closely=False)
        before = len(failures)
        bound = bound_of(look.ports, now, planned, failures)
        held_back = None if bound is not None else "; ".join(failures[before:])
        failures.extend(dict.fromkeys(look.ports.damaged()))
    node_name = now.node.values[0].name if now.node.values else config.node_name or "?"
    chosen = assigning.kept.get(pod.uid) if assigning else None
    case = Case(
        node_name=node_name,
        pod=pod,
        inputs=planned.inputs,
        wanted=planned.desired,
        steps=() if bound is None else _steps(planned, pod),
        held_back=held_back,
        proofs=proofs,
        accounts=accounts,
        settings=_settings(now),
        told_to=config.scheduler,
        chosen=chosen,
        chosen_at="" if chosen is None else _moment(chosen.at),
        unplaced=assigning.unplaced.get(pod.uid) if assigning else None,
    )
    story = tell(case)
    if not proofs and pod.phase != "Succeeded":
        story = waiting(story, pod, own_rooms(node_name, accounts, everyone))
    return Explained(story=story, proofs=proofs, failures=tuple(failures))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _steps(planned: Planned, pod: Pod) -> Sequence[Step]:
    return [step for target, own in planned.steps if target.pod.uid == pod.uid for step in own]


def _settings(now: Readings) -> KubeletSettings | None:
    read = now.settings.values[0] if now.settings.values else None
    if read is None:
        return None
    cpu = now.cpu_state.values[0] if now.cpu_state.values else None
    memory = now.memory_state.values[0] if now.memory_state.values else None
    settings, _ = running(read[0], cpu, memory)
    return settings


def _unplaced(cluster: "Cluster | None", name: str) -> Story:
    namespace, _, own = name.partition("/")
    document = None if cluster is None or not own else cluster.pod(namespace, own)
    if cluster is None or document is None:
        raise ConfigError(f"no pod {name}; write NAMESPACE/NAME of one that is here")
    elsewhere = text(mapping(document.get("spec")).get("nodeName"))
    if elsewhere:
        raise ConfigError(
            f"pod {name} is on node {elsewhere}, whose kernel only an agent there can ask:"
            f" kubectl exec -n numa-agent PODTHERE -- numa-agent explain {name}"
            f" (kubectl get pods -A -l app.kubernetes.io/name=numa-agent --field-selector"
            f" spec.nodeName={elsewhere})"
        )
    pod = parse_pod(document).pod
    if pod is None:
        raise SourceError(f"pod {name} can't be read")
    rooms = list(published_rooms(cluster.topologies()))
    return placing(pod, rooms, _why(document))


def _why(document: Document) -> str:
    """The scheduler's own word, by the pod's condition PodScheduled."""
    for entry in items(mapping(document.get("status")).get("conditions")):
        condition = mapping(entry)
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"not yet: {text(condition.get('message')) or 'no reason is given'}"
    return "not yet: no scheduler has said why"
