"""Memory and time of gRPC servers for a device plugin, each in a fresh process.

    python -m benchmarks.deviceplugin [--calls N] [--rounds N]

The client is grpcio's, as near to kubelet's as Python has one. It follows the list of 8 cards and
asks for allocations. RSS is that of the server's process in MiB, above what it had once it had
loaded what the daemon has anyway: its API server's client and the podresources client. Figures are
medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc

from benchmarks.deviceplugin.child import SERVERS
from numa_agent.host.deviceplugin import api_pb2

COLUMNS = ("before", "import", "serving", "{calls} calls", "threads", "ms to import", "ms a call")
_SERVICE = "/v1beta1.DevicePlugin"


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.rounds} rounds")
    heads = [column.format(calls=options.calls) for column in COLUMNS]
    print(f"{'':<10}" + "".join(f"{head:>13}" for head in heads))
    for server in SERVERS:
        rounds = [_measure(server, options.calls) for _ in range(options.rounds)]
        figures = [statistics.median(column) for column in zip(*rounds, strict=True)]
        print(f"{server:<10}" + "".join(f"{figure:>13.2f}" for figure in figures), flush=True)
    return 0


def _measure(server: str, calls: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "plugin.sock"
        command = [sys.executable, "-m", "benchmarks.deviceplugin.child", server, str(socket)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            assert child.stdout.readline() == "serving\n"
            each = _call(socket, calls)
            child.stdin.close()
            found: list[float] = json.loads(child.stdout.readline())
            child.wait(30)
    return [*found, each]


def _call(socket: Path, calls: int) -> float:
    asked = api_pb2.ContainerAllocateRequest(devices_ids=["GPU-1", "GPU-3"])
    request = api_pb2.AllocateRequest(container_requests=[asked])
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(f"unix:{socket}", options=options) as channel:
        watch: Any = channel.unary_stream(
            f"{_SERVICE}/ListAndWatch", None, api_pb2.ListAndWatchResponse.FromString
        )
        lists = watch(b"", timeout=60)
        assert len(next(lists).devices) == 8
        allocate: Any = channel.unary_unary(
            f"{_SERVICE}/Allocate",
            lambda message: message.SerializeToString(),
            api_pb2.AllocateResponse.FromString,
        )
        began = time.perf_counter()
        for _ in range(calls):
            assert allocate(request, timeout=10).container_responses
        return (time.perf_counter() - began) / calls * 1000


if __name__ == "__main__":
    sys.exit(main())
