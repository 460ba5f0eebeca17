"""What a kubelet 1.36 sent on a real NUMA kernel, byte for byte, is read as it was."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from numa_agent.core.podresources import parse_pod_resources
from numa_agent.host.podresources import api_pb2, read_pod_resources
from tests.podresources.servers import grpc_server, says

EVIDENCE = Path(__file__).resolve().parents[2].parent / "shared" / "rig" / "evidence"
POLICIES = ("none", "static", "numa")
ANSWERS = {
    "List": api_pb2.ListPodResourcesResponse,
    "GetAllocatableResources": api_pb2.AllocatableResourcesResponse,
    "Get": api_pb2.GetPodResourcesResponse,
}


def recorded(policy: str, method: str, kind: str) -> bytes:
    """What was sent under a policy; skips where it isn't there."""
    path = EVIDENCE / policy / f"podres-{policy}-{method}.{kind}"
    if not path.is_file():
        pytest.skip(f"the answers of a real kubelet are absent ({path})")
    return path.read_bytes()


def resources(policy: str, socket: Path) -> Any:
    """A policy's answers, through a real server."""
    methods = {
        method: says(recorded(policy, method, "pb"))
        for method in ("List", "GetAllocatableResources")
    }
    with grpc_server(socket, methods):
        return parse_pod_resources(read_pod_resources(socket))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("method", ANSWERS)
def test_our_messages_say_what_kubelet_s_own_say(policy: str, method: str) -> None:
    kind: Any = ANSWERS[method]
    ours = kind.FromString(recorded(policy, method, "pb"))
    own = ParseDict(json.loads(recorded(policy, method, "json")), kind())
    assert MessageToDict(ours) == MessageToDict(own)
    # Nothing was skipped as unknown.
    assert ours.SerializeToString() == own.SerializeToString()


@pytest.mark.parametrize("policy", POLICIES)
def test_kubelet_s_own_json_is_parsed_like_the_live_answer(
    policy: str, kubelet_socket: Path
) -> None:
    document = {
        key: json.loads(recorded(policy, method, "json"))
        for key, method in (("list", "List"), ("allocatable", "GetAllocatableResources"))
    }
    assert parse_pod_resources(document) == resources(policy, kubelet_socket)


def test_without_policies_nobody_holds_anything_and_nothing_is_offered(
    kubelet_socket: Path,
) -> None:
    parsed = resources("none", kubelet_socket)
    assert {name for _, name in parsed.pods} == {"g1", "b1", "b2", "pg", "pb"}
    assert not any(grant.cpus or grant.memory for grant in parsed.containers)
    assert parsed.offer.cpus == frozenset()
    assert parsed.problems == ()


def test_the_static_policies_give_cpus_and_memory_of_each_node(kubelet_socket: Path) -> None:
    parsed = resources("numa", kubelet_socket)
    held = {
        grant.pod: (grant.cpus, [(block.size, block.nodes) for block in grant.memory])
        for grant in parsed.containers
    }
    assert held == {
        "n1": ({2, 3}, [(512 << 20, (0,))]),
        "n2": ({6, 7}, [(256 << 20, (1,))]),
        "nb": (frozenset(), []),
    }
    assert parsed.offer.cpus == {1, 2, 3, 5, 6, 7}
    assert [block.nodes for block in parsed.offer.memory] == [(0,), (1,)]
    assert parsed.problems == ()
