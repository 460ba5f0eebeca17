"""One process that serves, and tells on its standard output what that costs it.

A line with the port and what it had before anything of serving was loaded, then a JSON list for
each line on its standard input: RSS in MiB, processor seconds, threads. The end of the input is
its end. With --allocations it serves nobody, and prints the KiB that one answer allocates at its
peak.
"""

import argparse
import json
import resource
import sys
import threading
import time
import tracemalloc
from contextlib import closing
from pathlib import Path

from benchmarks.serving.report import report


def rss() -> float:
    """RSS in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def main() -> int:
    """Load what the daemon has loaded anyway, then what serves."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--containers", action="store_true")
    parser.add_argument("--tls", type=Path, nargs=2)
    parser.add_argument("--allocations", action="store_true")
    options = parser.parse_args()
    import numa_agent.cluster.api
    import numa_agent.host.podresources
    import numa_agent.wiring.passes  # noqa: F401

    made, before = report(options.pods, options.gpus), rss()
    from numa_agent.serve.board import Board
    from numa_agent.serve.certificates import Certificates
    from numa_agent.serve.serving import serve

    board = Board(period=45.0, scheduler="ack")
    board.passed(made)
    for publication in made.publications:
        board.tried(publication.manifest, publication.published)
    if options.allocations:
        print(json.dumps(allocated(board, containers=options.containers)))
        return 0
    certificates = Certificates(*options.tls) if options.tls else None
    served = serve(
        board, "127.0.0.1", 0, certificates=certificates, per_container=options.containers
    )
    with closing(served) as server:
        print(json.dumps([server.port, before]), flush=True)
        for _ in sys.stdin:
            costs = [rss(), time.process_time(), threading.active_count()]
            print(json.dumps(costs), flush=True)
    return 0


def allocated(board: object, *, containers: bool) -> float:
    """The KiB at the peak of one answer, the body included."""
    from numa_agent.serve.board import Board
    from numa_agent.serve.metrics import Metrics
    from numa_agent.serve.pages import Pages
    from numa_agent.serve.request import Request

    assert isinstance(board, Board)
    pages = Pages(board, Metrics(board, per_container=containers))
    request = Request(method="GET", path="/metrics", fields={"accept-encoding": "gzip"})
    pages.answer(request)
    tracemalloc.start()
    pages.answer(request)
    return tracemalloc.get_traced_memory()[1] / 1024


if __name__ == "__main__":
    sys.exit(main())
