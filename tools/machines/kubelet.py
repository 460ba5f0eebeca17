"""kubelet's folder var/lib/kubelet: its configuration, and the state of its resource managers."""

import yaml

from numa_agent.core.cpulist import render

from .cgroups import shared_cpus
from .checkpoint import cpu_checkpoint, memory_checkpoint
from .identity import pod_uid
from .spec import Container, Machine, Node
from .tree import Tree

_EVICTION = 100 << 20
_FOLDER = "var/lib/kubelet"
_SOCKETS = {
    "containerd": "unix:///run/containerd/containerd.sock",
    "cri-o": "unix:///var/run/crio/crio.sock",
    "docker": "unix:///run/cri-dockerd.sock",
}


def kubelet_files(machine: Machine) -> Tree:
    """config.yaml, cpu_manager_state and memory_manager_state."""
    config = yaml.safe_dump(_config(machine), sort_keys=False, default_flow_style=False)
    return {
        f"{_FOLDER}/config.yaml": config,
        f"{_FOLDER}/cpu_manager_state": _cpu_state(machine),
        f"{_FOLDER}/memory_manager_state": _memory_state(machine),
    }


def reserving_nodes(machine: Machine) -> list[Node]:
    """The nodes of which kubelet keeps memory for the system: those with memory and CPUs."""
    return [node for node in machine.nodes if node.memory and node.cpus & machine.cpus.online]


def reserved(machine: Machine) -> int:
    """All memory that pods can't have, in bytes: the system's and the eviction threshold's."""
    return machine.kubelet.reserved_memory * len(reserving_nodes(machine))


def page_name(kib: int) -> str:
    """A page size as Kubernetes resources spell it: 2048 KiB is `2Mi`."""
    return f"{kib >> 20}Gi" if kib >= 1 << 20 else f"{kib >> 10}Mi"


def _config(machine: Machine) -> dict[str, object]:
    kubelet = machine.kubelet
    config: dict[str, object] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": machine.cgroup.driver,
        "containerRuntimeEndpoint": _SOCKETS[machine.cgroup.runtime],
        "cpuManagerPolicy": kubelet.cpu_manager,
        "memoryManagerPolicy": kubelet.memory_manager,
        "topologyManagerPolicy": kubelet.topology_manager,
        "topologyManagerScope": kubelet.scope,
        "evictionHard": {"memory.available": f"{_EVICTION >> 20}Mi"},
        "systemReserved": {"memory": f"{(reserved(machine) - _EVICTION) >> 20}Mi"},
    }
    if kubelet.reserved_cpus:
        config["reservedSystemCPUs"] = render(kubelet.reserved_cpus)
    if kubelet.memory_manager == "Static":
        config["reservedMemory"] = [
            {"numaNode": node.id, "limits": {"memory": f"{kubelet.reserved_memory >> 20}Mi"}}
            for node in reserving_nodes(machine)
        ]
    return config


def _cpu_state(machine: Machine) -> str:
    """Who has exclusive CPUs, and what is left for all others; nothing under policy none."""
    policy = machine.kubelet.cpu_manager
    shared = render(shared_cpus(machine)) if policy == "static" else ""
    entries = {
        pod_uid(machine, pod): cpus
        for pod in machine.pods
        if (cpus := {c.name: render(c.exclusive) for c in pod.containers if c.exclusive})
    }
    return cpu_checkpoint(policy, shared, entries)


def _memory_state(machine: Machine) -> str:
    """What is reserved and taken of each node's memory; nothing under policy None."""
    policy = machine.kubelet.memory_manager
    if policy != "Static":
        return memory_checkpoint(policy, {}, {})
    nodes = {node.id: _node_state(machine, node) for node in machine.nodes if node.memory}
    entries = {
        pod_uid(machine, pod): blocks
        for pod in machine.pods
        if (blocks := {c.name: [_block(c)] for c in pod.containers if c.memory_nodes})
    }
    return memory_checkpoint(policy, nodes, entries)


def _node_state(machine: Machine, node: Node) -> dict[str, object]:
    kept = machine.kubelet.reserved_memory if node in reserving_nodes(machine) else 0
    taken = [c for pod in machine.pods for c in pod.containers if node.id in c.memory_nodes]
    tables = {
        f"hugepages-{page_name(size)}": _table(size * 1024 * count, 0, 0, 0)
        for size, count in node.all_hugepages.items()
    }
    huge = node.hugepage_bytes
    tables["memory"] = _table(node.memory, kept, huge, sum(c.memory for c in taken))
    return {
        "numberOfAssignments": len(taken),
        "memoryMap": dict(sorted(tables.items())),
        "cells": [node.id],
    }


def _table(total: int, kept: int, huge: int, taken: int) -> dict[str, int]:
    return {
        "total": total,
        "systemReserved": kept,
        "allocatable": total - kept - huge,
        "reserved": taken,
        "free": total - kept - huge - taken,
    }


def _block(container: Container) -> dict[str, object]:
    nodes = sorted(container.memory_nodes)
    return {"numaAffinity": nodes, "type": "memory", "size": container.memory}
