"""The other answers: the Node object, and what kubelet's podresources service says.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/ and
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from .gpus import Gpu
from .identity import make_uuid
from .kubelet import page_name, reserved, reserving_nodes
from .pods import BOOT, quantity
from .spec import Container, Machine, Pod

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}
_RUNTIMES = {
    "containerd": "containerd://2.1.4",
    "cri-o": "cri-o://1.34.0",
    "docker": "docker://28.4.0",
}
_GPU_RESOURCE = "nvidia.com/gpu"

Json = dict[str, object]


def node_object(machine: Machine, gpus: tuple[Gpu, ...]) -> Json:
    """A v1 Node."""
    arch = _ARCHITECTURES[machine.arch]
    labels = {
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": machine.node_name,
        "kubernetes.io/os": "linux",
    }
    metadata = {
        "name": machine.node_name,
        "uid": make_uuid(machine.name, "Node", machine.node_name),
        "resourceVersion": "900",
        "creationTimestamp": BOOT,
        "labels": labels,
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {},
        "status": _node_status(machine, gpus, arch),
    }


def _node_status(machine: Machine, gpus: tuple[Gpu, ...], arch: str) -> Json:
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": BOOT,
        "lastTransitionTime": BOOT,
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    return {
        "capacity": _resources(machine, gpus, 0, 0),
        "allocatable": _resources(
            machine, gpus, len(machine.kubelet.reserved_cpus), reserved(machine) + _huge(machine)
        ),
        "conditions": [ready],
        "addresses": [
            {"type": "InternalIP", "address": "192.0.2.10"},
            {"type": "Hostname", "address": machine.node_name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _node_info(machine, arch),
    }


def _resources(machine: Machine, gpus: tuple[Gpu, ...], cpus: int, memory: int) -> dict[str, str]:
    """All that the machine has, less so many CPUs and bytes."""
    sizes = sorted({size for node in machine.nodes for size in node.all_hugepages})
    resources = {
        "cpu": str(len(machine.cpus.online) - cpus),
        "ephemeral-storage": "916Gi",
        "memory": quantity(sum(node.memory for node in machine.nodes) - memory),
        "pods": "110",
    }
    for size in sizes:
        pages = sum(node.hugepages.get(size, 0) for node in machine.nodes)
        resources[f"hugepages-{page_name(size)}"] = quantity(pages * size * 1024)
    if gpus:
        resources[_GPU_RESOURCE] = str(len(gpus))
    return dict(sorted(resources.items()))


def _huge(machine: Machine) -> int:
    return sum(node.hugepage_bytes for node in machine.nodes)


def _node_info(machine: Machine, arch: str) -> dict[str, str]:
    return {
        "machineID": make_uuid(machine.name, "machine").replace("-", ""),
        "systemUUID": make_uuid(machine.name, "system"),
        "bootID": make_uuid(machine.name, "boot"),
        "kernelVersion": machine.kernel,
        "osImage": "Linux",
        "containerRuntimeVersion": _RUNTIMES[machine.cgroup.runtime],
        "kubeletVersion": "v1.34.1",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": arch,
    }


def pod_resources(machine: Machine, gpus: tuple[Gpu, ...]) -> Json:
    """List and GetAllocatableResources in protobuf's JSON: 64-bit numbers are texts, zeros absent.

    Pods that have finished are not listed, those that are being started are.
    """
    active = [pod for pod in machine.pods if pod.phase in ("Pending", "Running")]
    listed = [_pod_entry(pod, gpus) for pod in active]
    return {
        "list": {"podResources": listed} if listed else {},
        "allocatable": _allocatable(machine, gpus),
    }


def _pod_entry(pod: Pod, gpus: tuple[Gpu, ...]) -> Json:
    containers = [_container_entry(container, gpus) for container in pod.containers]
    return {"name": pod.name, "namespace": pod.namespace, "containers": containers}


def _container_entry(container: Container, gpus: tuple[Gpu, ...]) -> Json:
    entry: Json = {
        "name": container.name,
        "devices": [_device(gpus[index]) for index in container.gpus],
        "cpuIds": [str(cpu) for cpu in sorted(container.exclusive)],
        "memory": [_memory("memory", container.memory, node) for node in container.memory_nodes],
    }
    return {key: value for key, value in entry.items() if value}


def _allocatable(machine: Machine, gpus: tuple[Gpu, ...]) -> Json:
    """Devices always; CPUs and memory only where kubelet's managers hand them out."""
    allocatable: Json = {"devices": [_device(gpu) for gpu in gpus]}
    if machine.kubelet.cpu_manager == "static":
        free = sorted(machine.cpus.online - machine.kubelet.reserved_cpus)
        allocatable["cpuIds"] = [str(cpu) for cpu in free]
    if machine.kubelet.memory_manager == "Static":
        allocatable["memory"] = _memory_blocks(machine)
    return {key: value for key, value in allocatable.items() if value}


def _memory_blocks(machine: Machine) -> list[Json]:
    blocks: list[Json] = []
    keepers = reserving_nodes(machine)
    for node in machine.nodes:
        kept = machine.kubelet.reserved_memory if node in keepers else 0
        free = node.memory - kept - node.hugepage_bytes
        sizes = {
            f"hugepages-{page_name(kib)}": kib * 1024 * n for kib, n in node.hugepages.items()
        }
        blocks += [_memory(kind, size, node.id) for kind, size in sizes.items() if size]
        blocks += [_memory("memory", free, node.id)] if node.memory else []
    return blocks


def _device(gpu: Gpu) -> Json:
    """One device id of NVIDIA's plugin, which tells no topology for an unknown node."""
    entry: Json = {"resourceName": _GPU_RESOURCE, "deviceIds": [gpu.uuid]}
    node = gpu.device.node
    return entry if node == -1 else entry | {"topology": _topology(node)}


def _memory(kind: str, size: int, node: int) -> Json:
    return {"memoryType": kind, "size": str(size), "topology": _topology(node)}


def _topology(node: int) -> Json:
    """A NUMA node; proto3 leaves out the id 0."""
    return {"nodes": [{"ID": str(node)} if node else {}]}
