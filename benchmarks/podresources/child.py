"""One client in a process of its own: prints its memory and time as a JSON list.

python -m benchmarks.podresources.child BASE CLIENT SOCKET READS
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Read = Callable[[], object]

LIMIT = 16 << 20
DEADLINE = 10.0
METHODS = ("List", "GetAllocatableResources")


def memory(line: str = "VmRSS") -> float:
    """This process's memory in MiB."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{line}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


@contextmanager
def ours(socket: Path) -> Iterator[Read]:
    """The project's own client: h2, a connection for each read."""
    from numa_agent.host.podresources import read_pod_resources

    yield lambda: read_pod_resources(socket)


@contextmanager
def by_grpcio(socket: Path) -> Iterator[Read]:
    """grpcio, with a channel that stays open."""
    import grpc
    from google.protobuf.json_format import MessageToDict

    from numa_agent.host.podresources import api_pb2

    answers = (api_pb2.ListPodResourcesResponse(), api_pb2.AllocatableResourcesResponse())
    options = [
        ("grpc.default_authority", "localhost"),
        ("grpc.max_receive_message_length", LIMIT),
    ]
    with grpc.insecure_channel(f"unix:{socket}", options=options) as channel:
        calls: list[Any] = [
            channel.unary_unary(f"/v1.PodResourcesLister/{name}", None, answer.FromString)
            for name, answer in zip(METHODS, answers, strict=True)
        ]
        yield lambda: [MessageToDict(call(b"", timeout=DEADLINE)) for call in calls]


@contextmanager
def by_grpclib(socket: Path) -> Iterator[Read]:
    """grpclib, with a channel and an event loop that stay open."""
    import asyncio

    from google.protobuf.json_format import MessageToDict
    from grpclib.client import Channel, UnaryUnaryMethod

    from numa_agent.host.podresources import api_pb2

    requests = (api_pb2.ListPodResourcesRequest, api_pb2.AllocatableResourcesRequest)
    answers = (api_pb2.ListPodResourcesResponse, api_pb2.AllocatableResourcesResponse)

    async def connect() -> Channel:
        return Channel(path=str(socket))

    async def read(channel: Channel) -> list[object]:
        found: list[object] = []
        for name, request, answer in zip(METHODS, requests, answers, strict=True):
            path = f"/v1.PodResourcesLister/{name}"
            method: Any = UnaryUnaryMethod(channel, path, request, answer)
            found.append(MessageToDict(await method(request(), timeout=DEADLINE)))
        return found

    with asyncio.Runner() as runner:
        channel = runner.run(connect())
        yield lambda: runner.run(read(channel))
        channel.close()


CLIENTS = {"h2": ours, "grpcio": by_grpcio, "grpclib": by_grpclib}


def main() -> int:
    """Measure before, after loading, after one read and after many."""
    base, client, socket, reads = sys.argv[1:]
    if base == "daemon":
        import numa_agent.cluster.api  # noqa: F401
    before = memory()
    with CLIENTS[client](Path(socket)) as read:
        loaded = memory()
        read()
        once = memory()
        start = time.perf_counter()
        for _ in range(int(reads)):
            read()
        milliseconds = (time.perf_counter() - start) / int(reads) * 1000
        often, peak = memory(), memory("VmHWM")
    above = [figure - before for figure in (loaded, once, often, peak)]
    print(json.dumps([before, *above, milliseconds]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
