"""The members that are recorded against those that the parsers look at."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from numa_agent.core.decision import decide
from numa_agent.core.kubelet_config import parse_settings
from numa_agent.core.node import parse_node
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.core.pods import parse_pod
from numa_agent.core.recording import answers, kubelet
from numa_agent.core.recording.fields import Entries
from numa_agent.core.recording.pseudonyms import Names
from tests.recorded import MACHINES

Path = tuple[str, ...]


class Watched(dict[str, Any]):
    """An object that remembers which members it was asked for."""

    def __init__(self, value: Mapping[str, Any], path: Path, seen: set[Path]) -> None:
        super().__init__({key: watched(each, (*path, key), seen) for key, each in value.items()})
        self._path, self._seen = path, seen

    def get(self, key: Any, default: Any = None) -> Any:
        self._seen.add((*self._path, key))
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._seen.add((*self._path, key))
        return super().__getitem__(key)


def watched(value: Any, path: Path, seen: set[Path]) -> Any:
    if isinstance(value, dict):
        return Watched(value, path, seen)
    if isinstance(value, list):
        return [watched(each, path, seen) for each in value]
    return value


def has(shape: object, path: Path) -> bool:
    """Whether a shape has a member at a path; a leaf and names for keys have all below them."""
    if not path or isinstance(shape, Entries) or callable(shape):
        return True
    if isinstance(shape, Mapping):
        return path[0] in shape and has(shape[path[0]], path[1:])
    return isinstance(shape, Sequence) and has(shape[0], path)


RESOURCES = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
USED = {**RESOURCES, "claims": [{"name": "x"}]}
CONTAINER = {"name": "c", "resources": USED, "restartPolicy": "Always"}
STATUS = {"name": "c", "containerID": "x", "state": {"running": {"startedAt": "x"}}}
POD = {
    "metadata": {
        "ownerReferences": [{"kind": "Job", "name": "j", "controller": True}],
        "namespace": "a",
        "name": "b",
        "uid": "11111111-2222-4333-8444-555555555555",
        "annotations": {},
        "labels": {},
        "managedFields": [],
    },
    "spec": {
        "containers": [CONTAINER],
        "initContainers": [CONTAINER],
        "overhead": {"cpu": "1"},
        "resources": RESOURCES,
    },
    "status": {
        "qosClass": "Guaranteed",
        "containerStatuses": [STATUS],
        "initContainerStatuses": [STATUS],
        "ephemeralContainerStatuses": [STATUS],
    },
}
TOPOLOGY = {"nodes": [{"ID": 1}]}
HELD = {
    "cpuIds": [1],
    "devices": [{"resourceName": "a", "deviceIds": ["b"], "topology": TOPOLOGY}],
    "memory": [{"memoryType": "memory", "size": 1, "topology": TOPOLOGY}],
}
CLAIM = {
    "claimNamespace": "a",
    "claimName": "b",
    "claimResources": [{"driverName": "d", "cdiDevices": [{"name": "x"}]}],
}
GRANTED = {
    "list": {
        "podResources": [
            {
                "namespace": "a",
                "name": "b",
                "containers": [{"name": "c", **HELD, "dynamicResources": [CLAIM]}],
            }
        ]
    },
    "allocatable": HELD,
}
NODE = {
    "metadata": {"name": "n", "labels": {}, "annotations": {}},
    "status": {"nodeInfo": {}, "capacity": {}, "allocatable": {}},
}
CONFIG = {
    "evictionHard": {},
    "systemReserved": {},
    "kubeReserved": {},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    "cpuManagerPolicyOptions": {},
}
READ: dict[str, tuple[Any, Any, Any]] = {
    "node": (parse_node, NODE, answers._NODE),
    "pod": (parse_pod, POD, answers._POD),
    "podresources": (parse_pod_resources, GRANTED, answers._GRANTED),
    "configuration": (parse_settings, CONFIG, kubelet._CONFIG),
}


@pytest.mark.parametrize("name", READ)
def test_every_member_that_a_parser_asks_for_is_recorded(name: str) -> None:
    parse, document, shape = READ[name]
    seen: set[Path] = set()
    parse(watched(document, (), seen))
    seen -= {("kubeletconfig",)}
    assert len(seen) > 5
    assert {path for path in seen if not has(shape, path)} == set()


def members(shape: object, above: Path = ()) -> set[Path]:
    """The members of a shape, under one of their spellings."""
    if isinstance(shape, Mapping):
        return {
            path
            for key, inner in shape.items()
            if "_" not in key
            for path in ({(*above, key)} | members(inner, (*above, key)))
        }
    if isinstance(shape, Sequence):
        return members(shape[0], above)
    return set()


NOT_BY_THESE = {("kind",), ("apiVersion",), ("evictionHard", "memory.available")}
"""What tells people, and what is looked for among the names of an object."""


@pytest.mark.parametrize("name", READ)
def test_every_member_that_is_recorded_is_one_that_a_parser_asks_for(name: str) -> None:
    parse, document, shape = READ[name]
    seen: set[Path] = set()
    parse(watched(document, (), seen))
    assert members(shape) - seen - NOT_BY_THESE == set()


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_a_recorded_machine_s_answers_say_the_same_with_names_kept(folder: Any) -> None:
    names = Names(b"", keep=True)
    node = json.loads((folder / "answers/node.json").read_text())
    assert parse_node(answers.node(node, names)).capacity == parse_node(node).capacity
    granted = json.loads((folder / "answers/podresources.json").read_text())
    assert parse_pod_resources(answers.podresources(granted, names)) == parse_pod_resources(
        granted
    )
    pods = json.loads((folder / "answers/pods.json").read_text())
    listed: Any = answers.pods(pods, names)["items"]
    for item, reduced in zip(pods["items"], listed, strict=True):
        one, other = parse_pod(item).pod, parse_pod(reduced).pod
        assert one is not None
        assert other is not None
        assert (one.demands, one.containers, one.uid) == (
            *(other.demands, other.containers, other.uid),
        )
        assert decide(one) == decide(other)
