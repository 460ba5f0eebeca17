"""What a scrape costs: time, processor, memory, bytes; each row in a fresh serving process.

    python -m benchmarks.serving [--pods N] [--gpus N] [--scrapes N]

The server has a report of a full node and what the daemon has loaded anyway. `load` is the RSS
that serving adds before the first scrape, in MiB; `1` and `{scrapes}` that after so many scrapes,
above the same base. `ms` is the median that a client waits, connection included; `cpu ms` the
processor time of the server for each scrape, and `KiB` the size of the answer on the wire. `peak`
are the KiB that one answer allocates.
"""

import argparse
import http.client
import json
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
HEADS = ("load", "1", "{scrapes}", "ms", "cpu ms", "KiB", "threads")


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to be scraped."""

    name: str
    path: str = "/metrics"
    accept: str = ""
    packed: bool = True
    containers: bool = False
    tls: bool = False


WAYS = (
    Way(name="text, gzip"),
    Way(name="text", packed=False),
    Way(name="OpenMetrics, gzip", accept=OPENMETRICS),
    Way(name="containers, gzip", containers=True),
    Way(name="OpenMetrics, TLS", accept=OPENMETRICS, tls=True),
    Way(name="/healthz", path="/healthz"),
    Way(name="/statusz, gzip", path="/statusz"),
)


class Child:
    """A serving process."""

    def __init__(self, way: Way, options: argparse.Namespace, pair: list[Path]) -> None:
        arguments = ["--pods", str(options.pods), "--gpus", str(options.gpus)]
        arguments += ["--containers"] if way.containers else []
        arguments += ["--tls", *map(str, pair)] if way.tls else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving.child", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port, self.before = json.loads(self._line())

    def costs(self) -> tuple[float, float, int]:
        """RSS in MiB above the base, processor seconds, threads."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        rss, seconds, threads = json.loads(self._line())
        return rss - self.before, seconds, threads

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def scrape(port: int, way: Way, context: ssl.SSLContext | None) -> int:
    """Ask once, and give the bytes of the answer's body."""
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        if context is None
        else http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    )
    with closing(connection):
        encoding = "gzip" if way.packed else "identity"
        headers = {"Accept": way.accept, "Accept-Encoding": encoding}
        connection.request("GET", way.path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, answer.status
        return len(body)


def measure(way: Way, options: argparse.Namespace, pair: list[Path]) -> list[float]:
    """One row."""
    context = ssl.create_default_context(cafile=pair[0]) if way.tls else None
    with closing(Child(way, options, pair)) as child:
        loaded, _, _ = child.costs()
        scrape(child.port, way, context)
        once, before, _ = child.costs()
        waits, size = [], 0
        for _ in range(options.scrapes):
            started = time.perf_counter()
            size = scrape(child.port, way, context)
            waits.append(time.perf_counter() - started)
        often, after, threads = child.costs()
    each = (after - before) / options.scrapes * 1e3
    return [loaded, once, often, statistics.median(waits) * 1e3, each, size / 1024, threads]


def allocated(options: argparse.Namespace, *extra: str) -> float:
    """The KiB that one answer allocates at its peak."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.serving.child", "--allocations", *extra),
            *("--pods", str(options.pods), "--gpus", str(options.gpus)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    kib: float = json.loads(done.stdout)
    return kib


@contextmanager
def keys() -> Iterator[list[Path]]:
    """A certificate and its key."""
    with tempfile.TemporaryDirectory() as folder:
        pair = [Path(folder) / "tls.crt", Path(folder) / "tls.key"]
        command = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
        names = ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-out", str(pair[0]), "-keyout", str(pair[1])]
        subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
        yield pair


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--scrapes", type=int, default=1000)
    options = parser.parse_args()
    print(f"{options.pods} pods with CPUs of their own, {options.gpus} GPUs")
    heads = [head.format(scrapes=options.scrapes) for head in HEADS]
    print(f"{'':<20}" + "".join(f"{head:>9}" for head in heads))
    with keys() as pair:
        for way in WAYS:
            row = measure(way, options, pair)
            print(f"{way.name:<20}" + "".join(f"{figure:>9.2f}" for figure in row), flush=True)
    plain, containers = allocated(options), allocated(options, "--containers")
    print(f"peak of one answer: {plain:.0f} KiB, {containers:.0f} KiB with containers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
