"""Servers on a unix socket in kubelet's place: a real gRPC one, and one that sends any bytes."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from numa_agent.host.podresources import api_pb2

SERVICE = api_pb2.DESCRIPTOR.services_by_name["PodResourcesLister"].full_name

Handler = Callable[[bytes, grpc.ServicerContext], bytes]


@contextmanager
def grpc_server(socket_path: Path, methods: Mapping[str, Handler]) -> Iterator[None]:
    """A gRPC server with these methods; their handlers give the bytes of the answer."""
    handlers: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(call) for name, call in methods.items()
    }
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=2),
        options=[("grpc.max_send_message_length", -1)],
    )
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    assert server.add_insecure_port(f"unix:{socket_path}")
    server.start()
    try:
        yield
    finally:
        server.stop(0).wait(10)


def says(content: bytes | Message) -> Handler:
    """A method that always gives this answer."""
    answer = content if isinstance(content, bytes) else content.SerializeToString()
    return lambda _request, _context: answer


def fails(code: grpc.StatusCode, message: str) -> Handler:
    """A method that always fails."""

    def handler(_request: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(code, message)
        raise AssertionError("abort raises")

    return handler


def kubelet(socket_path: Path, answer: Mapping[str, Any]) -> Any:
    """A gRPC server that gives a recorded answer, `{"list": ..., "allocatable": ...}`."""
    listed = ParseDict(answer["list"], api_pb2.ListPodResourcesResponse())
    allocatable = ParseDict(answer["allocatable"], api_pb2.AllocatableResourcesResponse())
    return grpc_server(
        socket_path, {"List": says(listed), "GetAllocatableResources": says(allocatable)}
    )


@contextmanager
def raw_server(socket_path: Path, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    """A server that does with each connection what it is told, then closes it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(socket_path))
    listener.listen(4)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(10)
                serve(connection)

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield
    finally:
        # Closing alone would not wake the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
        socket_path.unlink()


def request_of(connection: socket.socket) -> bytes:
    """What the client sends first; it waits for the answer then."""
    return connection.recv(65536)
