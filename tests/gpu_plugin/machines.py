"""Recorded machines as maps, with what was changed about them."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from numa_agent.config import Config
from numa_agent.core.topology import Topology
from numa_agent.wiring.map import read_map
from tests.recorded import machine


@cache
def topology_of(name: str) -> Topology:
    """The map of a recorded machine."""
    return read_map(
        Config(host_root=machine(name), live_root=Path("/"), node_name=None, kubeconfig=None)
    )


def with_gpu(topology: Topology, at: int, **changes: Any) -> Topology:
    """The map with another GPU in the place of one."""
    gpus = [*topology.gpus]
    gpus[at] = replace(gpus[at], **changes)
    return replace(topology, gpus=tuple(gpus))


def with_nvml(topology: Topology, at: int, **changes: Any) -> Topology:
    """The map with other words of NVML about one GPU."""
    nvml = topology.gpus[at].nvml
    assert nvml is not None
    return with_gpu(topology, at, nvml=replace(nvml, **changes))


def with_device(topology: Topology, at: int, **changes: Any) -> Topology:
    """The map with another PCI device under one GPU."""
    return with_gpu(topology, at, device=replace(topology.gpus[at].device, **changes))


def mute(topology: Topology) -> Topology:
    """The map while the driver answers nothing."""
    return replace(topology, gpus=tuple(replace(gpu, nvml=None) for gpu in topology.gpus))
