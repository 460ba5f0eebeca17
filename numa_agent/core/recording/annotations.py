"""The annotations and labels that a pass reads, and what stands for their values."""

from collections.abc import Mapping

from numa_agent.core import pod_keys
from numa_agent.core.assigner.asking import BIND_POLICY
from numa_agent.core.recording import words
from numa_agent.core.recording.fields import Entries, Leaf, one_of, text
from numa_agent.core.recording.languages import decided
from numa_agent.core.recording.pseudonyms import Kind, Names
from numa_agent.core.schedulers import ack
from numa_agent.core.schedulers.koordinator import settings as koordinator
from numa_agent.core.schedulers.koordinator.assignment import Qos
from numa_agent.core.schedulers.koordinator.topology import NUMA_RESERVATION

_DECIDED = text(decided)
_SWITCH = one_of("true", "false")

OF_PODS: Mapping[str, Leaf] = {
    **dict.fromkeys((*pod_keys.DECIDING, *pod_keys.MARKS, *pod_keys.TOPOLOGY_SPECS), _DECIDED),
    pod_keys.RESOURCE_SPEC: _DECIDED,
    pod_keys.CPU_KIND: text(words.cpu_kind),
    pod_keys.SCHEDULER: one_of("true", "required"),
    pod_keys.BIND: one_of("off", "on"),
    pod_keys.ALLOW_ISOLATED: _SWITCH,
    **dict.fromkeys((pod_keys.CONFIG_HASH, pod_keys.MIRROR), text(words.uuid)),
}
LABELS_OF_PODS: Mapping[str, Leaf] = {
    pod_keys.QOS_CLASS: one_of(*(each.value for each in Qos)),
}
OF_NODES: Mapping[str, Leaf] = {
    koordinator.RESERVATION: _DECIDED,
    koordinator.SYSTEM_QOS: _DECIDED,
    ack.ASKED: _SWITCH,
}
LABELS_OF_NODES: Mapping[str, Leaf] = {
    NUMA_RESERVATION: _SWITCH,
    BIND_POLICY: one_of("None", "FullPCPUsOnly", "SpreadByPCPUs"),
    ack.MODE: one_of(
        *("topology", "default", "cgpu", "core_mem", "share", "mps", "none", "exclusive")
    ),
}
_CRIO = one_of("enable", "disable", "true", "false", "")


def _is_crio(key: str) -> bool:
    return pod_keys.crio_binds(key, "")


def _of_pod(key: str) -> Leaf | None:
    return _CRIO if _is_crio(key) else OF_PODS.get(key)


def _key(names: Names, key: str) -> str:
    """The key; behind one of CRI-O's a container's name may follow."""
    first, slash, container = key.partition("/")
    if not (_is_crio(key) and container):
        return key
    return f"{first}{slash}{names.of(Kind.CONTAINER, container)}"


def _same(_: Names, key: str) -> str:
    return key


POD_ANNOTATIONS = Entries(_key, _of_pod)
POD_LABELS = Entries(_same, LABELS_OF_PODS.get)
NODE_ANNOTATIONS = Entries(_same, OF_NODES.get)
NODE_LABELS = Entries(_same, LABELS_OF_NODES.get)
