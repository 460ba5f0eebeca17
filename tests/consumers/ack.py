"""How arena, the public reader of gputopo's ConfigMaps, finds and reads the one of a node.

https://github.com/kubeflow/arena/blob/master/pkg/topnode/define.go (which ConfigMaps it lists) and
https://github.com/kubeflow/arena/blob/master/pkg/topnode/gputopology.go (what it makes of one).
ACK's own scheduler isn't public, so nothing here speaks of it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Manifest = dict[str, Any]

NAMESPACE = "kube-system"
LABEL, VALUE = "ack.node.gpu.schedule", "topology"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTopologyNode:
    """What arena knows of one node; a key that is absent or can't be decoded is empty to it."""

    healthy: dict[str, bool] = field(default_factory=dict)
    links: list[list[str]] = field(default_factory=list)
    bandwidths: list[list[float]] = field(default_factory=list)

    @property
    def printed(self) -> dict[str, list[str]]:
        """The tables of `arena top node -d`: columns by device, rows as the matrix has them.

        A matrix without rows is no table at all (WideFormat).
        """
        columns = ["", *(f"GPU{number}" for number in range(len(self.healthy)))]
        tables: dict[str, Sequence[Sequence[object]]] = {
            "LinkTypeMatrix": self.links,
            "BandwidthMatrix": self.bandwidths,
        }
        return {
            name: [
                "\t".join(columns),
                *("\t".join([f"GPU{i}", *map(str, row)]) for i, row in enumerate(matrix)),
            ]
            for name, matrix in tables.items()
            if matrix
        }


def is_gpu_topology_node(labels: dict[str, str]) -> bool:
    """IsGPUTopologyNode: the Node's label decides, before any ConfigMap is looked at."""
    return labels.get(LABEL) == VALUE


def find(config_maps: Iterable[Manifest], node_name: str) -> Manifest | None:
    """The ConfigMap that arena takes: of its namespace and label, the first that names the node.

    The API server lists in the order of names (BuildNodes, NewGPUTopologyNode).
    """
    listed = sorted(
        (
            found
            for found in config_maps
            if found["metadata"]["namespace"] == NAMESPACE
            and found["metadata"].get("labels", {}).get(LABEL) == VALUE
        ),
        key=lambda found: str(found["metadata"]["name"]),
    )
    return next(
        (found for found in listed if found["metadata"]["labels"].get("nodename") == node_name),
        None,
    )


def read(config_map: Manifest) -> GpuTopologyNode:
    """What arena decodes (convert2NodeInfo): decoding errors are dropped without a word."""
    data: dict[str, str] = config_map.get("data", {})
    devices = _decoded(data.get("devices"), {})
    return GpuTopologyNode(
        healthy={gpu: health == "Healthy" for gpu, health in devices.items()},
        links=_decoded(data.get("linkType"), []),
        bandwidths=_decoded(data.get("bandwith"), []),
    )


def faults(node: GpuTopologyNode) -> list[str]:
    """What would make arena print a wrong table, since it checks nothing itself.

    It numbers rows and columns by position and finds a pod's GPU by its text.
    """
    count = len(node.healthy)
    found = []
    if set(node.healthy) != {str(number) for number in range(count)}:
        found.append(f"devices are {sorted(node.healthy)}, rows are numbered from 0")
    for name, matrix in (("linkType", node.links), ("bandwith", node.bandwidths)):
        if matrix and [len(row) for row in matrix] != [count] * count:
            found.append(f"{name} isn't {count} x {count}")
    return found


def _decoded(text: str | None, otherwise: Any) -> Any:
    try:
        value = otherwise if text is None else json.loads(text)
    except ValueError:
        return otherwise
    return value if type(value) is type(otherwise) else otherwise
