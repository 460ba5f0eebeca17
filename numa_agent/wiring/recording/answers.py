"""What live APIs answer, as parts of a recording: asked now, or those of a recorded machine."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numa_agent import __version__
from numa_agent.config import (
    PODRESOURCES_SOCKET,
    RECORDED_ANSWERS,
    RECORDED_MARK,
    Config,
)
from numa_agent.core.documents import Document, mapping
from numa_agent.core.documents import text as as_text
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet_config import parse_settings
from numa_agent.core.recording import answers, kubelet, nvml
from numa_agent.core.recording.pseudonyms import Kind, Names
from numa_agent.host.recorded import is_recorded
from numa_agent.host.recording.answers import UNREADABLE, read_answer
from numa_agent.host.recording.nvml import heard_live, heard_recorded
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Tree
from numa_agent.wiring.passes import connected
from numa_agent.wiring.recording.parts import Parts

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster

Reduce = Callable[[Document, Names], Document]

_REDUCED: dict[str, Reduce] = {
    "node": answers.node,
    "pods": answers.pods,
    "podresources": answers.podresources,
    "configz": kubelet.configz,
    "nvml": nvml.answers,
}
_MEMBERS = "the members read"
_NOT_ASKED: Document = {
    "format": nvml.FORMAT,
    "init": {"error": "NotSupported"},
    "system": {},
    "gpus": [],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What the answers say of where to look: kubelet's cgroupRoot where kubelet was asked for it,
    else "", and the names below /dev of the GPUs."""

    cgroup_root: str = ""
    gpu_files: frozenset[str] = frozenset()


def add_answers(parts: Parts, tree: Tree, config: Config, *, nvidia: bool) -> Learned:
    """Add the answers.

    A folder that is a map only has none, and its recording is one too.
    """
    if is_recorded(config.host_root):
        found = _recorded(parts, tree, config)
    elif config.live:
        found = _live(parts, config, nvidia=nvidia)
    else:
        return Learned()
    for name, document in found.items():
        _add(parts, name, document)
    node = as_text(mapping(mapping(found.get("node")).get("metadata")).get("name"))
    _add_mark(parts, node or config.node_name)
    configz = found.get("configz")
    return Learned(
        cgroup_root="" if configz is None else parse_settings(configz)[0].cgroup_root,
        gpu_files=nvml.device_files(found.get("nvml", {})),
    )


def _add(parts: Parts, name: str, document: Document) -> None:
    reduce = _REDUCED[name]
    parts.add(
        f"{RECORDED_ANSWERS}/{name}.json",
        _MEMBERS,
        lambda names: json.dumps(reduce(document, names), indent=1) + "\n",
    )


def _add_mark(parts: Parts, node: str | None) -> None:
    def written(names: Names) -> str:
        shown = "" if node is None else names.of(Kind.NODE, node)
        told = "are as they were" if names.keep else "are pseudonyms"
        about = f"Recorded from a node; names {told}. MANIFEST lists what is in it."
        return (
            "format: numa-agent.recorded/v1\n"
            "name: recorded-machine\n"
            f"about: {about}\n"
            f"source: numa-agent record {__version__}\n"
            "numbers: a machine's own\n"
            f"node: {json.dumps(shown)}\n"
        )

    parts.add(RECORDED_MARK, "written anew", written)


def _recorded(parts: Parts, tree: Tree, config: Config) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for name in _asked(config):
        try:
            document = read_answer(tree, name)
        except LeftOutError as error:
            path = f"{RECORDED_ANSWERS}/{name}.json"
            parts.add(path, "a stand-in", lambda _: UNREADABLE)
            parts.fail(path, str(error))
            continue
        if document is not None:
            found[name] = heard_recorded(document) if name == "nvml" else document
    return found


def _asked(config: Config) -> tuple[str, ...]:
    asked = {
        "node": True,
        "pods": True,
        "podresources": config.podresources != "off",
        "configz": config.kubelet_config == "configz",
        "nvml": config.nvml != "off",
    }
    return tuple(name for name, is_asked in asked.items() if is_asked)


def _live(parts: Parts, config: Config, *, nvidia: bool) -> dict[str, Document]:
    """What is answered now, in the order in which a pass asks."""
    found: dict[str, Document] = {}
    wanted: list[str] = [
        name for name in ("pods", "podresources", "node", "configz") if name in _asked(config)
    ]
    of_cluster: list[str] = [name for name in wanted if name != "podresources"]
    with _reached(parts, config, of_cluster) as cluster:
        for name in wanted:
            if name == "podresources":
                _ask(parts, found, name, lambda: _granted(config))
            elif cluster is not None and config.node_name is not None:
                _ask(parts, found, name, _reader(cluster, name, config.node_name))
    if nvidia and config.nvml != "off":
        found["nvml"] = heard_live(config.host_root, config.nvml)
    elif nvidia:
        found["nvml"] = _NOT_ASKED
    return found


def _reader(cluster: "Cluster", name: str, node: str) -> Callable[[], Document]:
    if name == "pods":
        return lambda: cluster.pods_on(node)
    return lambda: cluster.node(node) if name == "node" else cluster.configz(node)


@contextmanager
def _reached(parts: Parts, config: Config, names: list[str]) -> Iterator["Cluster | None"]:
    """The cluster, None where it can't be asked: what is on the machine is worth having too."""
    why = "which Node this is wasn't said"
    said = f"{why}: set --node-name, nodeName or NODE_NAME"
    if config.node_name is not None:
        try:
            with connected(config) as cluster:
                yield cluster
            return
        except SourceError as error:
            why, said = "the API server can't be asked", str(error)
    for name in names:
        parts.fail(f"{RECORDED_ANSWERS}/{name}.json", why, said)
    yield None


def _ask(
    parts: Parts, found: dict[str, Document], name: str, read: Callable[[], Document]
) -> None:
    try:
        found[name] = read()
    except SourceError as error:
        # The error may name the node and the server.
        parts.fail(f"{RECORDED_ANSWERS}/{name}.json", "there was no answer", str(error))


def _granted(config: Config) -> Document:
    # The client brings protobuf along, so that only a live recording loads it.
    from numa_agent.host.podresources import read_pod_resources

    socket = PODRESOURCES_SOCKET if config.podresources == "auto" else config.podresources
    return read_pod_resources(config.host_root / socket.lstrip("/"))
