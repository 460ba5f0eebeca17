"""kubelet's side of the device plugin API by real gRPC, with kubelet's rules.

https://github.com/kubernetes/kubernetes/tree/master/pkg/kubelet/cm/devicemanager: it empties its
folder when it starts, checks what registers, calls the plugin back while it registers, follows its
list, and picks devices by their NUMA nodes with the plugin's advice.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc

from numa_agent.host.deviceplugin import api_pb2

SECONDS = 45.0
_DEVICES = "/v1beta1.DevicePlugin"


class AdmissionError(Exception):
    """A pod that kubelet refuses."""


class Kubelet:
    """One life of a kubelet; `refuse` is what it answers to who registers, None to take it.

    One that doesn't `empty` the folder leaves the plugins' sockets, as others than kubelet may.
    """

    def __init__(self, folder: Path, refuse: str | None = None, *, empty: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():
            if left.name == "kubelet.sock" or empty:
                left.unlink()
        self.folder = folder
        self.refuse = refuse
        self.devices: dict[str, dict[str, api_pb2.Device]] = {}
        self.lists = 0
        self.registered: list[str] = []
        self.ended = threading.Event()
        self._channels: dict[str, grpc.Channel] = {}
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        handler: Any = grpc.unary_unary_rpc_method_handler(
            self._register,
            request_deserializer=api_pb2.RegisterRequest.FromString,
            response_serializer=lambda answer: answer.SerializeToString(),
        )
        handlers = {"Register": handler}
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("v1beta1.Registration", handlers)]
        )
        assert self._server.add_insecure_port(f"unix:{folder / 'kubelet.sock'}")
        self._server.start()

    def stop(self) -> None:
        """End without a word, as a kubelet that is killed."""
        self.ended.set()
        for channel in self._channels.values():
            channel.close()
        self._server.stop(0).wait(10)

    def _register(
        self, request: api_pb2.RegisterRequest, context: grpc.ServicerContext
    ) -> api_pb2.Empty:
        if self.refuse is not None:
            context.abort(grpc.StatusCode.UNKNOWN, self.refuse)
        if request.version != "v1beta1":
            context.abort(grpc.StatusCode.UNKNOWN, "the API version isn't supported")
        domain, slash, name = request.resource_name.partition("/")
        if not (domain and slash and name) or "kubernetes.io/" in request.resource_name:
            context.abort(grpc.StatusCode.UNKNOWN, "the ResourceName is invalid")
        channel = grpc.insecure_channel(
            f"unix:{self.folder / request.endpoint}",
            options=[("grpc.default_authority", "localhost")],
        )
        # kubelet waits for the connection before it answers.
        try:
            grpc.channel_ready_future(channel).result(timeout=30)
        except grpc.FutureTimeoutError:
            context.abort(grpc.StatusCode.UNKNOWN, "failed to dial device plugin")
        resource = request.resource_name
        before = self._channels.get(resource)
        self._channels[resource] = channel
        if before is not None:
            before.close()
        self.registered.append(resource)
        threading.Thread(target=self._follow, args=(resource, channel), daemon=True).start()
        return api_pb2.Empty()

    def _follow(self, resource: str, channel: grpc.Channel) -> None:
        call: Any = channel.unary_stream(
            f"{_DEVICES}/ListAndWatch", None, api_pb2.ListAndWatchResponse.FromString
        )
        with suppress(grpc.RpcError, ValueError):
            for answer in call(b""):
                self.devices[resource] = {device.ID: device for device in answer.devices}
                self.lists += 1
        if self._channels.get(resource) is channel:
            # An endpoint that stopped has no healthy devices.
            for device in self.devices.get(resource, {}).values():
                device.health = "Unhealthy"

    def call(self, resource: str, method: str, request: Any, answer: Any) -> Any:
        """One call to the plugin."""
        call: Any = self._channels[resource].unary_unary(
            f"{_DEVICES}/{method}", lambda asked: asked.SerializeToString(), answer.FromString
        )
        return call(request, timeout=30)

    def healthy(self, resource: str) -> set[str]:
        """The devices that it would give out."""
        devices = self.devices.get(resource, {})
        return {name for name, device in devices.items() if device.health == "Healthy"}

    def nodes(self, resource: str) -> dict[str, list[int] | None]:
        """The NUMA nodes of each device, None for one that says nothing of them."""
        return {
            name: [node.ID for node in device.topology.nodes]
            if device.HasField("topology")
            else None
            for name, device in self.devices.get(resource, {}).items()
        }

    def admit(
        self, resource: str, size: int, held: Iterable[str] = (), node: int | None = None
    ) -> tuple[list[str], api_pb2.ContainerAllocateResponse]:
        """The devices of a new container, and what the plugin answered to their allocation.

        With `node` its Topology Manager has settled on one, as single-numa-node does.
        """
        free = sorted(self.healthy(resource) - {*held})
        nodes = self.nodes(resource)
        aligned = any(places is not None for places in nodes.values())
        if node is not None and aligned:
            # A device without topology is on no node then: kubelet refuses the pod for it.
            if all(node not in (nodes[name] or ()) for name in free):
                raise AdmissionError("TopologyAffinityError")
            free = [name for name in free if node in (nodes[name] or ())]
        if len(free) < size:
            raise AdmissionError("UnexpectedAdmissionError: requested number of devices")
        asked = api_pb2.PreferredAllocationRequest(
            container_requests=[
                api_pb2.ContainerPreferredAllocationRequest(
                    available_deviceIDs=free, must_include_deviceIDs=[], allocation_size=size
                )
            ]
        )
        answer = self.call(
            resource, "GetPreferredAllocation", asked, api_pb2.PreferredAllocationResponse
        )
        preferred = [*answer.container_responses[0].deviceIDs]
        chosen = [name for name in preferred if name in free][:size]
        chosen += [name for name in free if name not in chosen][: size - len(chosen)]
        request = api_pb2.AllocateRequest(
            container_requests=[api_pb2.ContainerAllocateRequest(devices_ids=chosen)]
        )
        allocated = self.call(resource, "Allocate", request, api_pb2.AllocateResponse)
        return chosen, allocated.container_responses[0]


@contextmanager
def kubelet(folder: Path, refuse: str | None = None, *, empty: bool = True) -> Iterator[Kubelet]:
    """A kubelet that ends with the block."""
    running = Kubelet(folder, refuse, empty=empty)
    try:
        yield running
    finally:
        running.stop()


def eventually(what: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)


def envs(answer: api_pb2.ContainerAllocateResponse) -> Mapping[str, str]:
    """The environment of an allocation."""
    return dict(answer.envs)
