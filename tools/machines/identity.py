"""Made-up ids that never change: each is derived from the name of what it identifies."""

import hashlib
import uuid

from .spec import Container, Machine, Pod


def _digest(*names: str) -> bytes:
    return hashlib.sha256("/".join(names).encode()).digest()


def make_uuid(*names: str) -> str:
    """A version 4 UUID of these names."""
    return str(uuid.UUID(bytes=_digest(*names)[:16], version=4))


def pod_uid(machine: Machine, pod: Pod) -> str:
    """The pod's metadata.uid."""
    return make_uuid(machine.name, "pod", pod.key)


def config_hash(machine: Machine, pod: Pod) -> str:
    """What kubelet calls a static pod by: 32 hexadecimal digits."""
    return _digest(machine.name, "config", pod.key).hex()[:32]


def directory_id(machine: Machine, pod: Pod) -> str:
    """What the pod's cgroup is named after: its uid, or a static pod's configuration hash."""
    return config_hash(machine, pod) if pod.static else pod_uid(machine, pod)


def container_id(machine: Machine, pod: Pod, container: Container) -> str:
    """The runtime's id of a container, 64 hexadecimal digits."""
    return _digest(machine.name, "container", pod.key, container.name).hex()


def sandbox_id(machine: Machine, pod: Pod) -> str:
    """The runtime's id of the pod's sandbox, which no API object tells."""
    return _digest(machine.name, "sandbox", pod.key).hex()
