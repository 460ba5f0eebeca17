"""Memory and time of podresources clients, each in a fresh process against one real server.

    python -m benchmarks.podresources [--pods N] [--reads N]

The server is a gRPC one on a unix socket, without kubelet's rate limit. A read is List and
GetAllocatableResources, decoded to JSON's types. RSS is that of the child in MiB, above what it
had before it loaded the client: once in a bare interpreter, once after what the daemon has loaded
for the API server anyway. Figures are medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from numa_agent.host.podresources import api_pb2

CLIENTS = ("h2", "grpclib", "grpcio")
BASES = ("bare", "daemon")
COLUMNS = ("before", "import", "1 read", "{reads} reads", "peak", "ms a read")


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--reads", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "kubelet.sock"
        server = serve(socket, options.pods)
        try:
            rows = {
                (base, client): _median(base, client, socket, options)
                for base in BASES
                for client in CLIENTS
            }
        finally:
            server.stop(0).wait(10)
    print(f"{options.pods} pods with a GPU, {options.rounds} rounds")
    heads = [column.format(reads=options.reads) for column in COLUMNS]
    print(f"{'':<18}" + "".join(f"{head:>12}" for head in heads))
    for (base, client), figures in rows.items():
        print(f"{base:<8}{client:<10}" + "".join(f"{figure:>12.1f}" for figure in figures))
    return 0


def _median(base: str, client: str, socket: Path, options: argparse.Namespace) -> list[float]:
    rounds = [_measure(base, client, socket, options.reads) for _ in range(options.rounds)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _measure(base: str, client: str, socket: Path, reads: int) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.podresources.child", base, client, socket, str(reads)],
        check=True,
        stdout=subprocess.PIPE,
        timeout=120,
    )
    figures: list[float] = json.loads(done.stdout)
    return figures


def serve(socket: Path, pods: int) -> grpc.Server:
    """Start a server that lists so many pods, each with a GPU, CPUs and memory."""
    listed = api_pb2.ListPodResourcesResponse(
        pod_resources=[_pod(number) for number in range(pods)]
    )
    devices = [_gpu(number) for number in range(8)]
    allocatable = api_pb2.AllocatableResourcesResponse(cpu_ids=range(2, 224), devices=devices)
    handlers: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(_says(answer.SerializeToString()))
        for name, answer in (("List", listed), ("GetAllocatableResources", allocatable))
    }
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("v1.PodResourcesLister", handlers)]
    )
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    return server


def _says(answer: bytes) -> Any:
    return lambda _request, _context: answer


def _pod(number: int) -> api_pb2.PodResources:
    block = api_pb2.ContainerMemory(memory_type="memory", size=1 << 30, topology=_node(number))
    container = api_pb2.ContainerResources(
        name="main",
        cpu_ids=[2 * number, 2 * number + 1],
        devices=[_gpu(number)],
        memory=[block],
    )
    return api_pb2.PodResources(name=f"pod-{number}", namespace="bench", containers=[container])


def _gpu(number: int) -> api_pb2.ContainerDevices:
    return api_pb2.ContainerDevices(
        resource_name="nvidia.com/gpu",
        device_ids=[f"GPU-{number:08x}-0000-0000-0000-000000000000"],
        topology=_node(number),
    )


def _node(number: int) -> api_pb2.TopologyInfo:
    return api_pb2.TopologyInfo(nodes=[api_pb2.NUMANode(ID=number % 2)])


if __name__ == "__main__":
    sys.exit(main())
