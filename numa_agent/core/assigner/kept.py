"""What the assigner decided and keeps, and the file that it outlives a restart in.

The file is JSON: a version, the digest of what follows, and the pods by uid. It is read whole or
not at all, since half a decision could give one CPU to two pods.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from numa_agent.core import cpulist
from numa_agent.core.assigner.values import Apart, NodeIds
from numa_agent.core.assignment import Assignment, Placement
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.topology import Topology

ASSIGNER = "numa-agent's assigner"
"""Who decided, where a story or a reason names it."""

VERSION = 1
MOST_BYTES = 16 << 20
"""Of the file: room for 500 pods of as many containers as a pod is read with, with long names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A decision for one pod, which holds until the pod is gone.

    `cpus` are the pod's own, `containers` the part of each that has some for itself, `sharing` the
    containers that share what is nobody's own on `nodes`. `single` says that it must be within one
    node. `asked` is the annotation that asked, `at` when it was decided (seconds since 1970).
    """

    pod: str
    nodes: NodeIds
    cpus: CpuSet = frozenset()
    containers: Mapping[str, CpuSet] = field(default_factory=dict)
    sharing: tuple[str, ...] = ()
    single: bool = False
    apart: Apart = Apart.NOBODY
    asked: str = ""
    at: float = 0.0

    def assignment(self, topology: Topology) -> Assignment:
        """It as binding takes it. Its memory is on those of its nodes that have some."""
        mems = frozenset(
            node.id for node in topology.nodes if node.id in self.nodes and node.memory_bytes
        )
        shared = Placement(nodes=self.nodes, mems=mems)
        own = {
            name: Placement(cpus=cpus, mems=mems) for name, cpus in self.containers.items() if cpus
        }
        whole = Placement(cpus=self.cpus, mems=mems) if self.cpus else shared
        if own == dict.fromkeys(own, whole):
            own = {}
        return Assignment(
            source=ASSIGNER, pod=whole, containers=own | dict.fromkeys(self.sharing, shared)
        )

    @property
    def annotation(self) -> str:
        """It in the words of numa-agent.io/assignment (docs/assignment.md)."""
        said: dict[str, object] = {"version": 1, "mems": render(self.nodes)}
        said |= {"cpus": render(self.cpus)} if self.cpus else {"nodes": render(self.nodes)}
        own = {
            name: {"cpus": render(cpus)}
            for name, cpus in self.containers.items()
            if cpus and cpus != self.cpus
        }
        shares = self.sharing if self.cpus else ()
        shared = {name: {"nodes": render(self.nodes)} for name in shares}
        if own or shared:
            said["containers"] = own | shared
        return json.dumps(said, sort_keys=True)


def render_kept(kept: Mapping[str, Kept]) -> str:
    """The file's text: the same for the same decisions."""
    pods = {uid: _as_json(each) for uid, each in sorted(kept.items())}
    body = {"pods": pods, "version": VERSION}
    return json.dumps({**body, "digest": _digest(body)}, sort_keys=True) + "\n"


def parse_kept(text: str) -> dict[str, Kept]:
    """The decisions in a file. Raises ValueError, which names the fault, for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it isn't JSON: {error}") from error
    if not isinstance(found, dict) or "version" not in found:
        raise ValueError("it isn't an object with a version")
    if found["version"] != VERSION:
        raise ValueError(f"its version is {found['version']!r:.40}, known is {VERSION}")
    digest = found.pop("digest", None)
    if digest != _digest(found):
        raise ValueError("its digest isn't that of what it holds")
    try:
        return {uid: _kept(each) for uid, each in found["pods"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"a decision in it can't be read: {error}") from error


def _digest(body: Mapping[str, object]) -> str:
    text = json.dumps(body, sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _as_json(kept: Kept) -> dict[str, object]:
    return {
        "pod": kept.pod,
        "nodes": render(kept.nodes),
        "cpus": render(kept.cpus),
        "containers": {name: render(cpus) for name, cpus in kept.containers.items()},
        "sharing": list(kept.sharing),
        "single": kept.single,
        "apart": kept.apart.value,
        "asked": kept.asked,
        "at": round(kept.at, 3),
    }


def _kept(found: Mapping[str, object]) -> Kept:
    containers, sharing = found["containers"], found["sharing"]
    if not isinstance(containers, dict) or not isinstance(sharing, list):
        raise ValueError("its containers aren't told")
    at = found["at"]
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError("its time isn't told")
    return Kept(
        pod=str(found["pod"]),
        nodes=_ids(found["nodes"]),
        cpus=_ids(found["cpus"]),
        containers={str(name): _ids(cpus) for name, cpus in containers.items()},
        sharing=tuple(str(name) for name in sharing),
        single=found["single"] is True,
        apart=Apart(str(found["apart"])),
        asked=str(found["asked"]),
        at=float(at),
    )


def _ids(text: object) -> frozenset[int]:
    if not isinstance(text, str):
        raise ValueError(f"{text!r:.40} isn't a list of ids")
    return cpulist.parse(text) if text else frozenset()
