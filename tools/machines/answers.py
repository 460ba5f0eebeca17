"""The other answers: the Node object, and what kubelet's podresources service says.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/ and
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from .identity import make_uuid
from .kubelet import page_name, reserved, reserving_nodes
from .plugins import Offer, Offers, count, held
from .pods import BOOT, quantity
from .spec import Container, Machine, Pod

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}
_RUNTIMES = {
    "containerd": "containerd://2.1.4",
    "cri-o": "cri-o://1.34.0",
    "docker": "docker://28.4.0",
}

Json = dict[str, object]


def node_object(machine: Machine, offers: Offers) -> Json:
    """A v1 Node; kubelet keeps an unhealthy device in its capacity only."""
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
        "status": _node_status(machine, list(offers.values()), arch),
    }


def _node_status(machine: Machine, offers: list[Offer], arch: str) -> Json:
    healthy = [offer for offer in offers if offer.healthy]
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": BOOT,
        "lastTransitionTime": BOOT,
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    return {
        "capacity": _resources(machine, 0, 0, count(offers)),
        "allocatable": _resources(
            machine,
            len(machine.kubelet.reserved_cpus),
            reserved(machine) + _huge(machine),
            dict.fromkeys(count(offers), "0") | count(healthy),
        ),
        "conditions": [ready],
        "addresses": [
            {"type": "InternalIP", "address": "192.0.2.10"},
            {"type": "Hostname", "address": machine.node_name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _node_info(machine, arch),
    }


def _resources(
    machine: Machine, cpus: int, memory: int, devices: dict[str, str]
) -> dict[str, str]:
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
    return dict(sorted((resources | devices).items()))


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


def pod_resources(machine: Machine, offers: Offers) -> Json:
    """List and GetAllocatableResources in protobuf's JSON: 64-bit numbers are texts, zeros absent.

    Pods that have finished are not listed, those that are being started are.
    """
    active = [pod for pod in machine.pods if pod.phase in ("Pending", "Running")]
    listed = [_pod_entry(pod, offers) for pod in active]
    return {
        "list": {"podResources": listed} if listed else {},
        "allocatable": _allocatable(machine, offers),
    }


def _pod_entry(pod: Pod, offers: Offers) -> Json:
    containers = [_container_entry(container, offers) for container in pod.containers]
    return {"name": pod.name, "namespace": pod.namespace, "containers": containers}


def _container_entry(container: Container, offers: Offers) -> Json:
    entry: Json = {
        "name": container.name,
        "devices": [_device(offer) for offer in held(container, offers)],
        "cpuIds": [str(cpu) for cpu in sorted(container.exclusive)],
        "memory": [_memory("memory", container.memory, node) for node in container.memory_nodes],
    }
    return {key: value for key, value in entry.items() if value}


def _allocatable(machine: Machine, offers: Offers) -> Json:
    """Healthy devices always; CPUs and memory only where kubelet's managers hand them out."""
    devices = [_device(offer) for offer in offers.values() if offer.healthy]
    allocatable: Json = {"devices": devices}
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


def _device(offer: Offer) -> Json:
    """One device id, without a topology where its plugin tells none."""
    entry: Json = {"resourceName": offer.resource, "deviceIds": [offer.device_id]}
    return entry if offer.node == -1 else entry | {"topology": _topology(offer.node)}


def _memory(kind: str, size: int, node: int) -> Json:
    return {"memoryType": kind, "size": str(size), "topology": _topology(node)}


def _topology(node: int) -> Json:
    """A NUMA node; proto3 leaves out the id 0."""
    return {"nodes": [{"ID": str(node)} if node else {}]}
