"""The Device: a node's NVIDIA GPUs and RDMA NICs, as koord-scheduler hands them out.

Shape: apis/scheduling/v1alpha1/device_types.go; what koordlet writes in it: pkg/koordlet/
statesinformer/impl/states_device_linux.go, both in https://github.com/koordinator-sh/koordinator.

An unhealthy device has `health: false` and no condition: a condition must carry the time of its
transition, which a rendering that is the same for the same input has no clock for, and neither
scheduler nor manager reads it.
"""

import re
from collections import Counter
from collections.abc import Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.devices import NVIDIA, Gpu, PciDevice
from numa_agent.core.quantity import binary
from numa_agent.core.schedulers.koordinator.device_faults import (
    ailments,
    amiss,
    left_out,
    twice,
    untold,
)
from numa_agent.core.schedulers.koordinator.metadata import metadata
from numa_agent.core.topology import Topology
from numa_agent.core.view import Json, View

API_VERSION = "scheduling.koordinator.sh/v1alpha1"
KIND = "Device"

GPU_VENDOR = "node.koordinator.sh/gpu-vendor"
GPU_MODEL = "node.koordinator.sh/gpu-model"
GPU_DRIVER = "node.koordinator.sh/gpu-driver-version"

_UNKNOWN = -1
"""Koordinator's number for a socket or node that isn't told; no device is then near any CPU."""


# A label that the API server refuses would take the whole object with it.
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def device(view: View) -> tuple[Json | None, tuple[Condition, ...]]:
    """The object to apply and what it can't say.

    There is none on a node without such devices, and none where NVML tells of no GPU though the
    machine has some: koord-manager takes the GPUs that aren't listed from the Node.
    """
    name, gpus = view.node.name, _nvidia(view.topology)
    known = [gpu for gpu in gpus if gpu.nvml is not None]
    if gpus and not known:
        return None, (untold(name, gpus),)
    listed = [gpu for gpu in known if _minor(gpu) is not None and _uuid(gpu) is not None]
    shared = [minor for minor, count in Counter(map(_minor, listed)).items() if count > 1]
    if shared:
        return None, (twice(name, shared),)
    devices = [*_gpus(listed), *_nics(view.topology)]
    conditions = (*left_out(name, gpus, listed), *amiss(name, listed))
    if not devices:
        return None, conditions
    manifest: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(view.node, _labels(listed, view.topology.gpu_driver)),
        "spec": {"devices": devices},
    }
    return manifest, conditions


def _nvidia(topology: Topology) -> list[Gpu]:
    """NVIDIA's GPUs that aren't given to a guest: those that NVML should know."""
    return [
        gpu for gpu in topology.gpus if gpu.device.vendor == NVIDIA and not gpu.device.given_away
    ]


def _minor(gpu: Gpu) -> int | None:
    return None if gpu.nvml is None else gpu.nvml.minor


def _uuid(gpu: Gpu) -> str | None:
    return None if gpu.nvml is None else gpu.nvml.uuid


def _gpus(listed: Sequence[Gpu]) -> list[Json]:
    return [_gpu(gpu) for gpu in sorted(listed, key=lambda gpu: _minor(gpu) or 0)]


def _gpu(gpu: Gpu) -> Json:
    resources = {"koordinator.sh/gpu-core": "100"}
    memory = None if gpu.nvml is None else gpu.nvml.memory_bytes
    if memory is not None:
        resources["koordinator.sh/gpu-memory"] = binary(memory)
    resources["koordinator.sh/gpu-memory-ratio"] = "100"
    return {
        "type": "gpu",
        "id": _uuid(gpu),
        "minor": _minor(gpu),
        "health": next(ailments(gpu), None) is None,
        "resources": resources,
        **_topology(gpu.device),
    }


def _nics(topology: Topology) -> list[Json]:
    """The RDMA NICs; their minor is their place among them, by address as text."""
    nics = sorted((nic for nic in topology.nics if nic.rdma), key=lambda nic: str(nic.address))
    return [_nic(nic, minor, topology) for minor, nic in enumerate(nics)]


def _nic(nic: PciDevice, minor: int, topology: Topology) -> Json:
    entry: Json = {
        "type": "rdma",
        "id": str(nic.address),
        "minor": minor,
        "health": True,
        "resources": {"koordinator.sh/rdma": "100"},
        **_topology(nic),
    }
    functions = sorted(
        str(device.address)
        for device in topology.pci_devices
        if device.physical_function == nic.address
    )
    if functions:
        virtual = [{"minor": _UNKNOWN, "busID": function} for function in functions]
        entry["vfGroups"] = [{"vfs": virtual}]
    return entry


def _topology(device: PciDevice) -> Json:
    """Its place; left out where its root complex isn't known.

    Devices with one and the same text there would count as being behind one PCIe root.
    """
    if device.path is None:
        return {}
    place = {
        "socketID": _UNKNOWN,
        "nodeID": _UNKNOWN if device.node is None else device.node,
        "pcieID": device.path.roots[0],
        "busID": str(device.address),
    }
    return {"topology": place}


def _labels(listed: Sequence[Gpu], driver: str | None) -> dict[str, str]:
    if not listed:
        return {}
    names = {gpu.nvml.name for gpu in listed if gpu.nvml is not None and gpu.nvml.name}
    model = names.pop().removeprefix("NVIDIA ").replace(" ", "-") if len(names) == 1 else ""
    known = {GPU_MODEL: model, GPU_DRIVER: driver or ""}
    return {GPU_VENDOR: "nvidia"} | {
        key: value for key, value in known.items() if _LABEL.fullmatch(value)
    }
