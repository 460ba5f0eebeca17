"""NVML's answers of recorded machines, and what reading them gives without a library."""

import copy
import json
from typing import Any

from numa_agent.core.nvml import NvmlAnswers
from numa_agent.host.nvml.read import read
from numa_agent.host.nvml.recorded import RecordedCalls
from tests.recorded import machine

PEERS = (
    "common_ancestor",
    "p2p_read",
    "p2p_write",
    "p2p_nvlink",
    "p2p_atomics",
    "p2p_pci",
)
LINKS = ("nvlink_state", "nvlink_version", "nvlink_remote_type", "nvlink_remote_bus_id")


def document_of(name: str) -> Any:
    return json.loads((machine(name) / "answers" / "nvml.json").read_text())


def recorded(document: Any) -> NvmlAnswers:
    return read(RecordedCalls(document, "nvml.json"))


def changed(document: Any, gpu: int, **answers: Any) -> Any:
    """The document with some answers of one GPU replaced."""
    found = copy.deepcopy(document)
    found["gpus"][gpu] |= answers
    return found


def refusing(document: Any, gpu: int, error: str) -> Any:
    """The document with every call on one GPU refused, but that for its handle."""
    keys = document["gpus"][gpu]
    return changed(document, gpu, **{key: {"error": error} for key in keys if key != "handle"})


def unopened(document: Any, gpu: int, error: str) -> Any:
    """The document with one GPU that the driver gives no handle for."""
    return changed(document, gpu, handle={"error": error})


def one_gpu(**answers: Any) -> Any:
    """A machine with one GPU that answers this and nothing else."""
    return {
        "format": "numa-agent.nvml/v1",
        "init": None,
        "system": {"driver_version": "580.95.05"},
        "gpus": [{"handle": None, **answers}],
    }


MIG_WITH_HOLES = one_gpu(
    uuid="GPU-1",
    name="NVIDIA H100 80GB HBM3",
    memory_bytes=85520809984,
    mig_mode={"current": 1, "pending": 1},
    mig_devices=[
        {"error": "NotFound"},
        {
            "uuid": "MIG-1",
            "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
            "gpu_instance": 7,
            "compute_instance": 0,
            "memory_bytes": 10 << 30,
        },
        {"error": "NotFound"},
        {"error": "NotFound"},
        {
            "uuid": "MIG-4",
            "name": "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb",
            "gpu_instance": 2,
            "compute_instance": {"error": "NoPermission"},
            "memory_bytes": 40 << 30,
        },
        {"error": "NotFound"},
        {"error": "NotFound"},
    ],
)


def _one_way(gpu: int, first: int) -> Any:
    """A GPU of a pair whose calls on the other all answer differently."""
    refused = {"error": "InvalidArgument"}
    pairs = {
        key: [first + number, refused] if gpu else [refused, first + number]
        for number, key in enumerate(PEERS)
    }
    return {"handle": None, **pairs}


UNEQUAL_PAIR = one_gpu() | {"gpus": [_one_way(0, 10), _one_way(1, 20)]}

SPARSE_LINKS = one_gpu(
    uuid="GPU-1",
    nvlink_state=[0, 1, {"error": "Unknown"}, 0, 1, 1],
    nvlink_version=[2, 2, 2, 2, 2, {"error": "NotSupported"}],
    nvlink_remote_type=[255, 0, 0, 255, 1, 255],
    nvlink_remote_bus_id=[
        {"error": "InvalidArgument"},
        "00000000:1B:00.0",
        "00000000:43:00.0",
        {"error": "InvalidArgument"},
        "00010000:1B:1F.0",
        {"error": "NotSupported"},
    ],
)
