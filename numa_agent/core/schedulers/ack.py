"""ACK's language: koordlet's NodeResourceTopology, node label checks and, on request, GPU links.

ACK's agent is Koordinator's koordlet, which reports the topology there
(https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/enable-numa-topology-aware-scheduling).
The GPU modes of a node: https://www.alibabacloud.com/help/doc-detail/191140.html. What gputopo's
ConfigMap holds is known from its public reader,
https://github.com/kubeflow/arena/blob/master/pkg/topnode/gputopology.go.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.devices import NVIDIA, Gpu, Link
from numa_agent.core.node import Node
from numa_agent.core.pci import PciAddress
from numa_agent.core.schedulers.koordinator.adopt import adopt as adopt
from numa_agent.core.schedulers.koordinator.topology import topology as reported
from numa_agent.core.topology import Topology
from numa_agent.core.view import Json, Rendering, View

MODE = "ack.node.gpu.schedule"
"""The Node's label that chooses how ACK hands out its GPUs."""

ASKED = "numa-agent.io/publish-gputopo"
"""The Node's annotation that, when `true`, asks for the ConfigMap of its GPUs."""

NAMESPACE = "kube-system"

_TOPOLOGY = "topology"
_MODES = {
    "default": "whole GPUs as nvidia.com/gpu, topology ignored",
    "cgpu": "shared GPUs, isolated memory",
    "core_mem": "shared GPUs, isolated memory and compute",
    "share": "shared GPUs, not isolated",
    "mps": "shared GPUs by NVIDIA MPS",
}
_RESOURCE = "aliyun.com/gpu"
_ITSELF = "N-A"
_LABEL_LENGTH = 63
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""


def publish(view: View) -> Rendering:
    """The NodeResourceTopology as koordlet reports it, and the GPUs' ConfigMap where asked for."""
    zones, conditions = reported(view)
    manifests = [] if zones is None else [zones]
    found = [*conditions, *_kubelet(view), *_mode(view.node, view.topology)]
    if view.node.labels.get(MODE) == _TOPOLOGY:
        gpus = _gpus(view.topology)
        found += _gpu_problems(view.node, gpus, view.topology)
        if view.node.annotations.get(ASKED) == "true":
            found += _name_problem(view.node)
            manifests += _gpu_config_map(view.node, gpus, view.topology.links)
    return Rendering(manifests=tuple(manifests), conditions=tuple(sorted(found)))


def _condition(node: Node, code: str, message: str) -> Condition:
    return Condition(code=code, subject=node.name, message=f"node {node.name}: {message}")


def _kubelet(view: View) -> Iterator[Condition]:
    policy = view.settings.cpu_manager_policy
    if policy != "none":
        yield _condition(
            view.node,
            "ack-cpu-manager-policy",
            f"kubelet's cpuManagerPolicy is {policy}, ACK's CPU binding needs none: with another"
            " policy kubelet writes the same cpusets",
        )


def _mode(node: Node, topology: Topology) -> Iterator[Condition]:
    told = _mode_problem(node, sum(_is_ours(gpu) for gpu in topology.gpus))
    if told is not None:
        yield _condition(node, *told)


def _mode_problem(node: Node, count: int) -> tuple[str, str] | None:
    """Code and message of what is between a node's GPUs and ACK's use of their topology."""
    mode = node.labels.get(MODE)
    gpus = "1 NVIDIA GPU" if count == 1 else f"{count} NVIDIA GPUs"
    if mode is None:
        left = sorted(
            n for n, amount in node.capacity.items() if n.startswith(_RESOURCE) and amount
        )
        if left:
            return (
                "ack-gpu-mode-removed",
                f"no label {MODE}, but the Node still counts {', '.join(left)}: a mode goes on"
                f" when its label is removed; set {MODE}=default or {MODE}={_TOPOLOGY}",
            )
        message = (
            f"{gpus} and no label {MODE}: ACK hands out whole GPUs and ignores their topology;"
            f" set {MODE}={_TOPOLOGY} to change that"
        )
        return ("ack-gpu-mode-absent", message) if count else None
    if mode == _TOPOLOGY:
        message = f"label {MODE}={mode}, but the map has no NVIDIA GPU that pods can have"
        return None if count else ("ack-gpu-mode-without-gpus", message)
    if mode not in _MODES:
        known = ", ".join((*_MODES, _TOPOLOGY))
        return "ack-gpu-mode-unknown", f"label {MODE}={mode}: ACK documents {known}"
    message = (
        f"{gpus} and label {MODE}={mode} ({_MODES[mode]}): GPU topology needs"
        f" {MODE}={_TOPOLOGY}, and a node has one mode at a time"
    )
    return ("ack-gpu-mode-other", message) if count else None


def _is_ours(gpu: Gpu) -> bool:
    """Whether ACK's plugin would hand it out: NVIDIA's, and not given away to a guest."""
    device = gpu.device
    return gpu.nvml is not None or (device.vendor == NVIDIA and not device.given_away)


def _gpus(topology: Topology) -> Sequence[Gpu]:
    """NVIDIA's GPUs in the order of their index, empty where one of them has no place in it."""
    ours = [gpu for gpu in topology.gpus if _is_ours(gpu)]
    indexed = {gpu.nvml.index: gpu for gpu in ours if gpu.nvml is not None}
    # Rows of the matrix are places in a list: an index that is missing would shift the rest.
    return [indexed[i] for i in sorted(indexed)] if set(indexed) == set(range(len(ours))) else []


def _gpu_problems(node: Node, gpus: Sequence[Gpu], topology: Topology) -> Iterator[Condition]:
    """Why the matrix of the GPUs' links can't be told whole, and which GPUs aren't whole."""
    message = None
    if gpus:
        if unknown := _unknown_pairs(gpus, topology.links):
            message = f"no source tells the links of GPUs {', '.join(unknown)}"
    elif ours := [str(gpu.device.address) for gpu in topology.gpus if _is_ours(gpu)]:
        message = f"NVML doesn't number every one of the GPUs {', '.join(ours)}"
    if message is not None:
        yield _condition(node, "ack-gpu-links-unknown", message)
    if mig := [str(index) for index, gpu in enumerate(gpus) if _in_mig_mode(gpu)]:
        message = f"GPU {', '.join(mig)} in MIG mode: {MODE}={_TOPOLOGY} hands out whole GPUs"
        yield _condition(node, "ack-gpu-mig-mode", message)


def _unknown_pairs(gpus: Sequence[Gpu], links: Sequence[Link]) -> list[str]:
    cells = _cells(gpus, links)
    return [
        f"{row}-{column}"
        for row, line in enumerate(cells)
        for column, cell in enumerate(line)
        if row < column and cell is None
    ]


def _name_problem(node: Node) -> Iterator[Condition]:
    if len(node.name) > _LABEL_LENGTH:
        yield _condition(
            node,
            "ack-node-name-too-long",
            f"a name of {len(node.name)} characters fits no label (at most {_LABEL_LENGTH}), so"
            " nobody would find the ConfigMap of its GPUs",
        )


def _gpu_config_map(node: Node, gpus: Sequence[Gpu], links: Sequence[Link]) -> Iterator[Json]:
    """gputopo's ConfigMap by the keys that its reader knows, without `bandwith`.

    That one is measured between GPUs, and a guess would decide which GPUs a job gets.
    """
    cells = _cells(gpus, links)
    if not gpus or len(node.name) > _LABEL_LENGTH or any(None in line for line in cells):
        return
    health = {
        str(index): "Healthy" if _is_to_be_had(gpu) else "Unhealthy"
        for index, gpu in enumerate(gpus)
    }
    metadata: Json = {
        "name": f"numa-agent-gputopo-{node.name}",
        "namespace": NAMESPACE,
        "labels": {MODE: _TOPOLOGY, "nodename": node.name},
    }
    if node.uid is not None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
        metadata["ownerReferences"] = [owner]
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"devices": _text(health), "linkType": _text(cells)},
    }


def _cells(gpus: Sequence[Gpu], links: Sequence[Link]) -> list[list[str | None]]:
    """The matrix of links by index; None in it where no source tells."""
    pairs = {(link.a, link.b): link for link in links}
    return [[_ITSELF if a is b else _cell(a, b, pairs) for b in gpus] for a in gpus]


def _cell(a: Gpu, b: Gpu, pairs: Mapping[tuple[PciAddress, PciAddress], Link]) -> str | None:
    low, high = sorted((a.device.address, b.device.address))
    link = pairs.get((low, high))
    if link is None:
        return None
    if link.nvlinks:
        return f"NV{link.nvlinks}"
    # A GPU that fell off its bus keeps its place and has no NVLink that anybody could use.
    untold = link.nvlinks is None and _is_to_be_had(a) and _is_to_be_had(b)
    return None if untold or link.level is None else link.level.value


def _is_to_be_had(gpu: Gpu) -> bool:
    """Whether a pod can be given the whole GPU."""
    return gpu.health == "ok" and not _in_mig_mode(gpu)


def _in_mig_mode(gpu: Gpu) -> bool:
    return gpu.nvml is not None and gpu.nvml.mig_mode is True


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
