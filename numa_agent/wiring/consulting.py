"""What the doctor asks the API server, question by question: one refused costs that one alone."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from numa_agent.config import Config
from numa_agent.core.doctor import Told
from numa_agent.core.doctor.facts import ClusterFacts, ServedKind
from numa_agent.core.doctor.rights import Right, kinds_for, rights_for
from numa_agent.core.documents import Document
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.node import Node, parse_node
from numa_agent.core.schedulers.ack import ASKED
from numa_agent.host.recorded import read_answer
from numa_agent.wiring.facts import tell
from numa_agent.wiring.sources import node_name

if TYPE_CHECKING:
    from numa_agent.cluster.inspecting import Inspector

_SERVER = "API server"
_REVIEW = "SelfSubjectAccessReview"


def nobody_asked(why: str, unreachable: str | None = None) -> ClusterFacts:
    """The facts where there is no server to ask, and why."""
    return ClusterFacts(
        unreachable=unreachable,
        user=Told(source=_SERVER, why=why),
        rights=Told(source=_SERVER, why=why),
        kinds=Told(source=_SERVER, why=why),
        clock_ahead=Told(source=_SERVER, why=why),
        node=Told(source=_SERVER, why=why),
        rivals=Told(source=_SERVER, why=why),
    )


def recorded(config: Config, absent: str) -> ClusterFacts:
    """The facts of a recorded machine: it knows its Node."""
    answer = tell(
        config, "answers/node.json", lambda: _node(read_answer(config.host_root, "node"))
    )
    return replace(nobody_asked(absent), node=answer)


def consulted(config: Config) -> tuple[ClusterFacts, Callable[[], Document] | None]:
    """The facts of the live machine's cluster, and kubelet's /configz where it is asked for."""
    # The client is heavy, so that only what needs it loads it.
    from numa_agent.cluster.inspecting import inspector

    try:
        asked = inspector(config.kubeconfig)
    except SourceError as error:
        return nobody_asked(str(error)), None
    with closing(asked):
        facts = answers(asked, config)
        configz: Callable[[], Document] | None = None
        if config.kubelet_config == "configz" and facts.unreachable is None:
            told = tell(config, _SERVER, lambda: asked.cluster.configz(node_name(config)))
            configz = _again(told)
    return facts, configz


def answers(asked: "Inspector", config: Config) -> ClusterFacts:
    """What one server says to every question."""
    try:
        name = asked.user()
    except ApiError as error:
        if error.status in (None, 401) or error.status >= 500:
            return nobody_asked("it doesn't answer", unreachable=str(error))
        name = None
    ahead = asked.clock_ahead
    node = tell(config, _SERVER, lambda: _node(asked.cluster.node(node_name(config))))
    unnamed = "it doesn't tell who asks"
    return ClusterFacts(
        unreachable=None,
        user=Told(source=_SERVER, value=name, why="" if name else unnamed),
        rights=tell(
            config, _REVIEW, lambda: {right: asked.may(right) for right in _wanted(config, node)}
        ),
        kinds=tell(config, _SERVER, lambda: _kinds(asked, config.scheduler)),
        clock_ahead=Told(source="its Date header", value=ahead, why="it sends no Date"),
        node=node,
        rivals=Told(source=_SERVER, why="not compared"),
    )


def _wanted(config: Config, node: Told[Node]) -> tuple[Right, ...]:
    annotations = {} if node.value is None else node.value.annotations
    return rights_for(
        config.scheduler,
        events=config.events,
        token_reviews=config.metrics_auth != "off",
        configz=config.kubelet_config == "configz",
        gpu_map=config.scheduler == "ack" and annotations.get(ASKED) == "true",
        marks=config.assigner_annotate or config.assigner_unplaced != "keep",
        evictions=config.assigner_unplaced == "evict",
    )


def _kinds(asked: "Inspector", scheduler: str) -> tuple[ServedKind, ...]:
    return tuple(
        ServedKind(
            group_version=f"{group}/{version}",
            plural=plural,
            served=asked.serves(group, version, plural),
        )
        for group, version, plural in kinds_for(scheduler)
    )


def _node(document: Document) -> Node:
    try:
        return parse_node(document)
    except ValueError as error:
        raise SourceError(f"the Node: {error}") from error


def _again(told: Told[Document]) -> Callable[[], Document]:
    """What gives an answer that was had before, or raises for it."""

    def read() -> Document:
        if told.value is None:
            raise SourceError(told.why)
        return told.value

    return read
