"""A kubelet's answers arrive as they are, from any kubelet that has the API."""

import json
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.host.podresources import api_pb2, read_pod_resources
from numa_agent.host.podresources.client import PAUSES
from tests.podresources.servers import Handler, fails, grpc_server, kubelet, says
from tests.recorded import MACHINES

NOTHING = says(b"")
ONE_POD: dict[str, Any] = {
    "list": {
        "podResources": [
            {
                "name": "trainer-0",
                "namespace": "ml",
                "containers": [
                    {
                        "name": "trainer",
                        "cpuIds": ["3", "2"],
                        "devices": [
                            {
                                "resourceName": "nvidia.com/gpu",
                                "deviceIds": ["GPU-a"],
                                "topology": {"nodes": [{}]},
                            }
                        ],
                        "memory": [
                            {
                                "memoryType": "memory",
                                "size": "18446744073709551615",
                                "topology": {"nodes": [{"ID": "1"}]},
                            }
                        ],
                        "dynamicResources": [
                            {
                                "claimName": "gpus",
                                "claimNamespace": "ml",
                                "claimResources": [
                                    {
                                        "cdiDevices": [{"name": "gpu.example.com/gpu=0"}],
                                        "driverName": "gpu.example.com",
                                        "poolName": "worker-0",
                                        "deviceName": "gpu-0",
                                        "shareId": "s-1",
                                    }
                                ],
                            }
                        ],
                    }
                ],
                "cpuIds": ["2", "3"],
                "memory": [{"memoryType": "memory", "size": "4096", "topology": {}}],
            }
        ]
    },
    "allocatable": {"cpuIds": ["1", "2", "3"]},
}


def test_the_answers_arrive_as_protobuf_s_json_mapping(kubelet_socket: Path) -> None:
    with kubelet(kubelet_socket, ONE_POD):
        assert read_pod_resources(kubelet_socket) == ONE_POD


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_a_live_kubelet_answers_like_the_recorded_one(machine: Path, kubelet_socket: Path) -> None:
    recorded = json.loads((machine / "answers" / "podresources.json").read_text())
    with kubelet(kubelet_socket, recorded):
        live = read_pod_resources(kubelet_socket)
    assert live == recorded
    assert parse_pod_resources(live).problems == ()


def test_a_kubelet_without_pods_or_policies_answers_empty_objects(kubelet_socket: Path) -> None:
    with grpc_server(kubelet_socket, {"List": NOTHING, "GetAllocatableResources": NOTHING}):
        assert read_pod_resources(kubelet_socket) == {"list": {}, "allocatable": {}}


@pytest.mark.parametrize(
    "allocatable",
    [
        {},
        {
            "GetAllocatableResources": fails(
                grpc.StatusCode.UNKNOWN,
                "Pod Resources API GetAllocatableResources disabled",
            )
        },
    ],
    ids=["not implemented", "switched off"],
)
def test_a_kubelet_that_doesn_t_tell_what_is_allocatable_still_lists(
    allocatable: dict[str, Handler], kubelet_socket: Path
) -> None:
    listed = api_pb2.ListPodResourcesResponse(
        pod_resources=[api_pb2.PodResources(name="p", namespace="ns")]
    )
    with grpc_server(kubelet_socket, {"List": says(listed), **allocatable}):
        answer = read_pod_resources(kubelet_socket)
    assert answer == {
        "list": {"podResources": [{"name": "p", "namespace": "ns"}]},
        "allocatable": None,
    }


def test_an_allocatable_that_fails_for_another_reason_fails_the_read(
    kubelet_socket: Path,
) -> None:
    broken = fails(grpc.StatusCode.INTERNAL, "cpu manager not ready")
    with (
        grpc_server(kubelet_socket, {"List": NOTHING, "GetAllocatableResources": broken}),
        pytest.raises(SourceError, match=r"INTERNAL: cpu manager not ready"),
    ):
        read_pod_resources(kubelet_socket)


def test_a_restarted_kubelet_is_found_in_the_same_place(kubelet_socket: Path) -> None:
    answers: list[Any] = []
    for name in ("before", "after"):
        pods: dict[str, Any] = {"podResources": [{"name": name, "namespace": "ns"}]}
        with kubelet(kubelet_socket, {"list": pods, "allocatable": {}}):
            answers.append(read_pod_resources(kubelet_socket)["list"])
        kubelet_socket.unlink(missing_ok=True)
        with pytest.raises(SourceError, match="not there"):
            read_pod_resources(kubelet_socket)
    assert [answer["podResources"][0]["name"] for answer in answers] == ["before", "after"]


class Crowd:
    """A method that rejects so many calls for their rate, and counts them."""

    def __init__(self, rejections: int) -> None:
        self.calls = 0
        self._rejections = rejections

    def __call__(self, _request: bytes, context: grpc.ServicerContext) -> bytes:
        self.calls += 1
        if self.calls <= self._rejections:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
        return b""


def test_a_call_that_is_rejected_for_its_rate_is_made_again(kubelet_socket: Path) -> None:
    crowd = Crowd(rejections=2)
    with grpc_server(kubelet_socket, {"List": crowd, "GetAllocatableResources": NOTHING}):
        assert read_pod_resources(kubelet_socket) == {"list": {}, "allocatable": {}}
    assert crowd.calls == 3


def test_a_call_that_is_always_rejected_is_given_up(kubelet_socket: Path) -> None:
    crowd = Crowd(rejections=1000)
    with (
        grpc_server(kubelet_socket, {"List": crowd}),
        pytest.raises(SourceError, match=r"rejected by rate limit; do other clients"),
    ):
        read_pod_resources(kubelet_socket, deadline=60)
    assert crowd.calls == len(PAUSES) + 1


def test_no_time_is_waited_that_is_not_left(kubelet_socket: Path) -> None:
    crowd = Crowd(rejections=1000)
    with (
        grpc_server(kubelet_socket, {"List": crowd}),
        pytest.raises(SourceError, match=r"rejected by rate limit|no time is left|in time"),
    ):
        read_pod_resources(kubelet_socket, deadline=sum(PAUSES[:2]))
    assert crowd.calls <= 3


def test_a_slow_kubelet_costs_the_deadline(kubelet_socket: Path) -> None:
    over = threading.Event()

    def slow(_request: bytes, _context: grpc.ServicerContext) -> bytes:
        over.wait(60)
        return b""

    with grpc_server(kubelet_socket, {"List": slow}):
        # The server may be the first to notice.
        with pytest.raises(SourceError, match=r"does kubelet hang\?|DEADLINE_EXCEEDED"):
            read_pod_resources(kubelet_socket, deadline=0.3)
        over.set()


def test_an_answer_as_long_as_the_limit_arrives_and_a_longer_one_does_not(
    kubelet_socket: Path,
) -> None:
    pods = [api_pb2.PodResources(name="p" * 253, namespace=f"ns-{n}") for n in range(5000)]
    listed = api_pb2.ListPodResourcesResponse(pod_resources=pods)
    size = listed.ByteSize()
    assert size > 1 << 20
    methods = {"List": says(listed), "GetAllocatableResources": NOTHING}
    with grpc_server(kubelet_socket, methods):
        answer: Any = read_pod_resources(kubelet_socket, limit=size)
        with pytest.raises(SourceError, match=f"{size} bytes, more than {size - 1}"):
            read_pod_resources(kubelet_socket, limit=size - 1)
    assert len(answer["list"]["podResources"]) == 5000
