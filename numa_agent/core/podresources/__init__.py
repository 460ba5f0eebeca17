"""What kubelet's podresources API (v1) answers, as values.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources
"""

from collections import Counter
from collections.abc import Iterator

from numa_agent.core.documents import Document, mapping
from numa_agent.core.grants import ContainerGrant, Offer, PodResources
from numa_agent.core.podresources.held import (
    parse_cpus,
    parse_devices,
    parse_dynamic,
    parse_memory,
)
from numa_agent.core.podresources.part import Part, shown


def parse_pod_resources(answer: Document) -> PodResources:
    """The values of `{"list": ..., "allocatable": ...}`, in an order of their own.

    Whatever is malformed costs itself alone and is named in `problems`. A pod's own CPUs and
    memory are left out, since they overlap those of its containers.
    """
    problems: list[str] = []
    listed = answer.get("list")
    part = Part(name="kubelet's list of pods", document=mapping(listed), problems=problems)
    if not isinstance(listed, dict):
        part.refuse(f"it is {shown(listed)}, not an object")
    pods, containers = _pods(part)
    offer = _offer(answer.get("allocatable"), problems)
    return PodResources(
        pods=frozenset(pods),
        containers=tuple(sorted(containers, key=_container_key)),
        offer=offer,
        problems=tuple(problems),
    )


def _pods(listed: Part) -> tuple[Counter[tuple[str, str]], list[ContainerGrant]]:
    pods: Counter[tuple[str, str]] = Counter()
    containers: dict[ContainerGrant, None] = {}
    for pod in listed.parts("pod_resources", "pod"):
        namespace, name = pod.text("namespace"), pod.text("name")
        if namespace is None or name is None:
            continue
        pods[namespace, name] += 1
        named = Part(
            name=f"pod {namespace:.63}/{name:.253}", document=pod.document, problems=pod.problems
        )
        # What is the same in every word is told twice, not held twice.
        containers |= dict.fromkeys(_containers(named, namespace, name))
    for (namespace, name), times in pods.items():
        if times > 1:
            listed.refuse(f"pod {namespace:.63}/{name:.253} is in it {times} times")
    return pods, list(containers)


def _containers(pod: Part, namespace: str, pod_name: str) -> Iterator[ContainerGrant]:
    for part in pod.parts("containers", "container"):
        name = part.text("name")
        if name is None:
            continue
        container = Part(
            name=f"{pod.name}, container {name:.63}", document=part.document, problems=pod.problems
        )
        yield ContainerGrant(
            namespace=namespace,
            pod=pod_name,
            container=name,
            cpus=parse_cpus(container),
            devices=parse_devices(container),
            memory=parse_memory(container),
            dynamic=parse_dynamic(container),
        )


def _offer(allocatable: object, problems: list[str]) -> Offer | None:
    part = Part(
        name="kubelet's allocatable resources", document=mapping(allocatable), problems=problems
    )
    if allocatable is not None and not isinstance(allocatable, dict):
        part.refuse(f"it is {shown(allocatable)}, not an object")
    if not isinstance(allocatable, dict):
        return None
    return Offer(cpus=parse_cpus(part), devices=parse_devices(part), memory=parse_memory(part))


def _container_key(grant: ContainerGrant) -> tuple[object, ...]:
    # Only containers that are listed twice, with different things, are alike in their names.
    things = repr((grant.devices, grant.memory, grant.dynamic))
    return (grant.namespace, grant.pod, grant.container, sorted(grant.cpus), things)
