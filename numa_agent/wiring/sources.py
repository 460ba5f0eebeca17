"""What a pass reads: of a recorded machine from its folder, of a live one where it is."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from numa_agent.agent import Kept, NodeSources
from numa_agent.config import PODRESOURCES_SOCKET, Config, ConfigError, read_overrides
from numa_agent.core.accounting import is_of
from numa_agent.core.documents import Document
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.grants import PodResources
from numa_agent.core.kubelet_config import parse_settings
from numa_agent.core.node import Node, parse_node
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.core.pods import PodsRead, parse_pods
from numa_agent.core.report import PODS
from numa_agent.host.boot import read_boot_id
from numa_agent.host.cpuinfo import read_cpu_info
from numa_agent.host.kubelet import read_cpu_state, read_memory_state, read_settings
from numa_agent.host.recorded import is_recorded, read_answer
from numa_agent.host.sysfs.free import read_free_memory
from numa_agent.host.sysfs.spilled import read_spilled
from numa_agent.wiring.asking import Patient, Seldom
from numa_agent.wiring.map import AskNvml, assembled, patient

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster
    from numa_agent.cluster.watch import PodWatch

T = TypeVar("T")


NODE_SECONDS = 300.0
"""A Node's resources change seldom, and the API server has many to ask it."""

PATIENCE = 2.0
"""Seconds to wait for kubelet, the API server and NVML: no container waits longer for its CPUs."""


def sources(
    config: Config, ask: AskNvml, cluster: "Cluster | None", watched: "PodWatch | None" = None
) -> NodeSources:
    """Every source of the machine that the configuration names.

    A folder with recorded.yaml answers for every source. Else the machine must be the live one,
    whose Node must be named, so that the API server can be asked for its pods; where they are
    `watched`, nobody is waited for longer than PATIENCE.
    """
    root = config.host_root
    if is_recorded(root):
        return _of_files(
            config,
            ask,
            node=lambda: _node(read_answer(root, "node"), f"{root}/answers/node.json"),
            pods=lambda: parse_pods(read_answer(root, "pods")),
            configz=lambda: read_answer(root, "configz"),
            granted=lambda: read_answer(root, "podresources"),
        )
    name = node_name(config)
    if cluster is None:
        raise ConfigError(f"{root} is a live machine: its API server is needed")
    socket = PODRESOURCES_SOCKET if config.podresources == "auto" else config.podresources

    def node() -> Node:
        return _own(_node(cluster.node(name), f"node {name}"), root)

    def configz() -> Document:
        return cluster.configz(name)

    def granted() -> Document:
        return _granted(root / socket.lstrip("/"))

    if watched is None:
        return _of_files(
            config,
            ask,
            node=node,
            pods=lambda: parse_pods(cluster.pods_on(name)),
            configz=configz,
            granted=granted,
        )
    found = _of_files(
        config,
        patient(ask, PATIENCE),
        node=_seldom("node", node, lambda known: _is_old(known, found)),
        pods=watched.pods,
        configz=_seldom("kubelet's configz", configz),
        # Of an older answer nobody knows which pods it counts.
        granted=Patient("podresources", granted, seconds=PATIENCE),
    )
    return found


def _seldom(
    name: str, read: Callable[[], T], outdated: Callable[[T], bool] = lambda _: False
) -> Callable[[], T]:
    # All of these ask the API server, kubelet's configz as well.
    patient = Patient(name, read, seconds=PATIENCE, late=True, failed=ApiError)
    return Seldom(patient, seconds=NODE_SECONDS, random=random.random, outdated=outdated)


def _is_old(node: Node, found: NodeSources) -> bool:
    """Whether kubelet says other things than the Node, which it tells a while later."""
    read = (each[0] for each in found.settings.last if each is not None)
    return _differs(node, found.granted.last) or any(not is_of(node, each) for each in read)


def _differs(node: Node, granted: tuple[PodResources | None, ...]) -> bool:
    """Whether kubelet has another number of a device than the Node.

    After a device plugin's start, say, or that of an agent that offers cards itself.
    """
    offer = granted[0].offer if granted and granted[0] is not None else None
    units = Counter[str]()
    for device in () if offer is None else offer.devices:
        units[device.resource] += len(device.ids)
    return any(node.allocatable.get(name, 0) != count for name, count in units.items())


def node_name(config: Config) -> str:
    """The live machine's Node. Raises ConfigError for another machine, or without a name."""
    if not config.live:
        raise ConfigError(
            f"{config.host_root} is a map only: it has no recorded.yaml and isn't the live machine"
            f" (liveRoot: {config.live_root}). `numa-agent topology` shows it"
        )
    if config.node_name is None:
        raise ConfigError("which Node is this? set --node-name, nodeName or NODE_NAME")
    return config.node_name


def _of_files(
    config: Config,
    ask: AskNvml,
    *,
    node: Callable[[], Node],
    pods: Callable[[], PodsRead],
    configz: Callable[[], Document],
    granted: Callable[[], Document],
) -> NodeSources:
    root = config.host_root
    path = None if config.kubelet_config in {"auto", "configz"} else Path(config.kubelet_config)
    drop_ins = None if config.kubelet_config_dir is None else Path(config.kubelet_config_dir)
    running = config.kubelet_config == "configz"
    asked = config.podresources != "off"
    # Once: a file that breaks later costs a running agent nothing.
    overrides = read_overrides(config.locality_overrides)
    return NodeSources(
        topology=lambda: assembled(config, ask, overrides),
        node=Kept("node", node),
        pods=Kept(PODS, pods),
        settings=Kept(
            "kubelet-configuration",
            lambda: parse_settings(configz()) if running else read_settings(root, path, drop_ins),
        ),
        cpu_state=Kept("cpu-manager-state", lambda: read_cpu_state(root)),
        memory_state=Kept("memory-manager-state", lambda: read_memory_state(root)),
        granted=Kept("podresources", lambda: parse_pod_resources(granted()) if asked else None),
        cpu_info=Kept("cpuinfo", lambda: read_cpu_info(root)),
        free_memory=lambda nodes: read_free_memory(root, nodes),
        spilled=lambda nodes: read_spilled(root, nodes),
        trusted_managers=config.trusted_managers,
    )


def _granted(socket: Path) -> Document:
    # The client brings protobuf along, so that only a live pass loads it.
    from numa_agent.host.podresources import read_pod_resources

    return read_pod_resources(socket)


def _own(node: Node, root: Path) -> Node:
    """The Node, if it is this machine: both know the id drawn at boot."""
    ours = read_boot_id(root)
    if node.boot_id is not None and ours is not None and node.boot_id != ours:
        raise SourceError(
            f"node {node.name} is another machine or has booted since: its boot id is"
            f" {node.boot_id}, ours {ours}; compare --node-name with the Node that this runs on"
        )
    return node


def _node(document: Document, source: str) -> Node:
    try:
        return parse_node(document)
    except ValueError as error:
        raise SourceError(f"{source}: {error}") from error
