"""What Koordinator is told of: the recorded machines, and small ones that a test makes up."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from numa_agent.config import KUBELET_DIR, Config
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node, parse_node
from numa_agent.core.pods import parse_pods
from numa_agent.core.schedulers.koordinator import assignment
from numa_agent.core.topology import CpuGroup, NumaNode, Topology
from numa_agent.core.view import View
from numa_agent.host.cpuinfo import read_cpu_info
from numa_agent.host.kubelet import read_cpu_state
from numa_agent.host.recorded import read_answer
from numa_agent.wiring.map import read_map
from tests.machine_tree import cpus, machine, numa_node
from tests.recorded import machine as folder_of

NODE = Node(name="n1", uid="u1")


def recorded(name: str) -> View:
    """The view of one recorded machine, with its pods' assignments in force."""
    root = folder_of(name)
    pods = parse_pods(read_answer(root, "pods")).pods
    said = {pod.uid: assignment(pod.annotations) for pod in pods}
    settings, reserved = _kubelet(root)
    state = read_cpu_state(root)
    return View(
        node=parse_node(read_answer(root, "node")),
        topology=read_map(
            Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)
        ),
        accounts=(),
        settings=settings,
        pods=pods,
        reserved=reserved,
        assigned={uid: found.cpus for uid, found in said.items() if found is not None},
        kubelet_exclusive={} if state is None else state.by_pod,
        cpu_info=read_cpu_info(root),
    )


def _kubelet(root: Path) -> tuple[KubeletSettings, CpuSet]:
    said = yaml.safe_load((root / KUBELET_DIR / "config.yaml").read_text())
    settings = KubeletSettings(
        cpu_manager_policy=said["cpuManagerPolicy"],
        # kubelet's own defaults, where a real one's configuration names none.
        topology_manager_policy=said.get("topologyManagerPolicy", "none"),
        topology_manager_scope=said.get("topologyManagerScope", "container"),
    )
    # One CPU is a number to YAML.
    return settings, cpulist.parse(str(said.get("reservedSystemCPUs", "")))


def topology(*nodes: NumaNode, cores: str, packages: str, **facts: Any) -> Topology:
    """A machine of these nodes; `cores` and `packages` are CPU lists parted by spaces."""
    groups = [cpus(text) for text in packages.split()]
    return replace(
        machine(*nodes),
        cores=tuple(cpus(text) for text in cores.split()),
        packages=tuple(CpuGroup(id=number, cpus=own) for number, own in enumerate(groups)),
        **facts,
    )


TWO_SOCKETS = topology(
    numa_node(0, "0-1,4-5"),
    numa_node(1, "2-3,6-7"),
    cores="0,4 1,5 2,6 3,7",
    packages="0-1,4-5 2-3,6-7",
)
"""Two packages of two cores of two threads, a NUMA node each."""


def view(
    topology: Topology = TWO_SOCKETS,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    assigned: Mapping[str, str] | None = None,
    kubelet: Mapping[str, str] | None = None,
    **facts: Any,
) -> View:
    """The view of a machine on which nothing runs unless it is said; sets are CPU lists."""
    given: dict[str, Any] = {
        "node": replace(NODE, annotations=annotations or {}, labels=labels or {}),
        "topology": topology,
        "accounts": (),
        "settings": KubeletSettings(),
        "pods": (),
        "assigned": {uid: cpus(text) for uid, text in (assigned or {}).items()},
        "kubelet_exclusive": {uid: cpus(text) for uid, text in (kubelet or {}).items()},
    }
    return View(**given | facts)
