"""One server in a process of its own: prints its memory in MiB as a JSON list at its end.

python -m benchmarks.deviceplugin.child SERVER SOCKET
"""

import importlib.util
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.podresources.child import memory

_SERVICE = "v1beta1.DevicePlugin"


@cache
def _messages() -> Any:
    """The messages' code alone: its package would bring our server along."""
    from numa_agent import host

    path = Path(host.__file__).parent / "deviceplugin" / "api_pb2.py"
    spec = importlib.util.spec_from_file_location("messages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _list() -> Any:
    messages = _messages()
    devices = [messages.Device(ID=f"GPU-{index}", health="Healthy") for index in range(8)]
    return messages.ListAndWatchResponse(devices=devices)


def _allocated(request: Any) -> Any:
    messages = _messages()
    names = ",".join(request.container_requests[0].devices_ids)
    container = messages.ContainerAllocateResponse(envs={"NVIDIA_VISIBLE_DEVICES": names})
    return messages.AllocateResponse(container_responses=[container])


@contextmanager
def ours(socket: Path) -> Iterator[None]:
    """The project's own server."""
    from numa_agent.host.deviceplugin.methods import Methods
    from numa_agent.host.deviceplugin.server import Server

    messages = _messages()

    def allocate(body: bytes) -> bytes:
        found = _allocated(messages.AllocateRequest.FromString(body))
        return bytes(found.SerializeToString())

    server = Server(
        socket,
        Methods(
            once={f"/{_SERVICE}/Allocate": allocate},
            states={f"/{_SERVICE}/ListAndWatch": lambda: _list().SerializeToString()},
        ),
    )
    yield
    server.close()


@contextmanager
def by_grpcio(socket: Path) -> Iterator[None]:
    """grpcio with a pool of four threads: one is kept by the list that kubelet follows."""
    import grpc

    messages = _messages()
    over = threading.Event()

    def watch(_request: bytes, _context: Any) -> Iterator[Any]:
        yield _list()
        over.wait()

    handlers: dict[str, Any] = {
        "Allocate": grpc.unary_unary_rpc_method_handler(
            lambda request, _: _allocated(request),
            messages.AllocateRequest.FromString,
            lambda answer: answer.SerializeToString(),
        ),
        "ListAndWatch": grpc.unary_stream_rpc_method_handler(
            watch, None, lambda answer: answer.SerializeToString()
        ),
    }
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_SERVICE, handlers)])
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    yield
    over.set()
    server.stop(0).wait(5)


class _Handler:
    """The service as grpclib wants it."""

    async def allocate(self, stream: Any) -> None:
        """Answer one allocation."""
        await stream.send_message(_allocated(await stream.recv_message()))

    async def watch(self, stream: Any) -> None:
        """Tell the list, and wait."""
        import asyncio

        await stream.recv_message()
        await stream.send_message(_list())
        await asyncio.Event().wait()

    def __mapping__(self) -> dict[str, Any]:
        import grpclib.const

        messages = _messages()
        cardinality = grpclib.const.Cardinality
        return {
            f"/{_SERVICE}/Allocate": grpclib.const.Handler(
                self.allocate,
                cardinality.UNARY_UNARY,
                messages.AllocateRequest,
                messages.AllocateResponse,
            ),
            f"/{_SERVICE}/ListAndWatch": grpclib.const.Handler(
                self.watch,
                cardinality.UNARY_STREAM,
                messages.Empty,
                messages.ListAndWatchResponse,
            ),
        }


@contextmanager
def by_grpclib(socket: Path) -> Iterator[None]:
    """grpclib with an event loop in a thread."""
    import asyncio

    import grpclib.server

    ready, loops = threading.Event(), []

    async def serve() -> None:
        server = grpclib.server.Server([_Handler()])
        await server.start(path=str(socket))
        over = asyncio.Event()
        loops.append((asyncio.get_running_loop(), over))
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    ready.wait(10)
    yield
    loop, over = loops[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(2)


SERVERS = {"h2": ours, "grpclib": by_grpclib, "grpcio": by_grpcio}

_IMPORTS = {
    "h2": "numa_agent.host.deviceplugin.server",
    "grpclib": "grpclib.server",
    "grpcio": "grpc",
}


def main() -> int:
    """Measure before, once loaded, once serving, and at the end."""
    server, socket = sys.argv[1:]
    import numa_agent.cluster.api
    import numa_agent.host.podresources  # noqa: F401

    _messages()
    before = memory()
    began = time.perf_counter()
    importlib.import_module(_IMPORTS[server])
    importing = (time.perf_counter() - began) * 1000
    loaded = memory()
    with SERVERS[server](Path(socket)):
        serving = memory()
        print("serving", flush=True)
        sys.stdin.read()
        often = memory()
        threads = memory_threads()
    above = [figure - before for figure in (loaded, serving, often)]
    print(json.dumps([before, *above, threads, importing]), flush=True)
    return 0


def memory_threads() -> float:
    """The threads of this process, those of libraries too."""
    return float(len([*Path("/proc/self/task").iterdir()]))


if __name__ == "__main__":
    sys.exit(main())
