"""One way to know a node's pods, in a process of its own: `watch`, or `poll` a list each 10 s.

    python -m benchmarks.podwatch.child watch|poll KUBECONFIG NODE

Each line on stdin is answered with a line of JSON: RSS and peak in MiB, CPU seconds, wake-ups.
"""

import json
import resource
import sys
import threading
from pathlib import Path

import psutil

from numa_agent.core.pods import PodsRead, parse_pods

POLL_SECONDS = 10.0


class Watching:
    """The pods as the watch knows them."""

    def __init__(self, kubeconfig: Path, node: str) -> None:
        from numa_agent.cluster.watch import watch_pods

        self.wakes = 0
        self._watch = watch_pods(kubeconfig, node, wake=self._wake, running=lambda: None)

    def known(self) -> int:
        """How many pods there are."""
        return len(self._watch.pods().pods)

    def close(self) -> None:
        """End it."""
        self._watch.close()

    def _wake(self) -> None:
        self.wakes += 1
        self._watch.pods()


class Polling:
    """The pods as a list each POLL_SECONDS knows them."""

    def __init__(self, kubeconfig: Path, node: str) -> None:
        from numa_agent.cluster.api import connect

        self.wakes = 0
        self._node = node
        self._cluster = connect(kubeconfig)
        self._pods = self._read()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def known(self) -> int:
        """How many pods there are."""
        return len(self._pods.pods)

    def close(self) -> None:
        """End it."""
        self._over.set()
        self._thread.join()
        self._cluster.close()

    def _read(self) -> PodsRead:
        return parse_pods(self._cluster.pods_on(self._node))

    def _run(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self._pods = self._read()
            self.wakes += 1


def main() -> None:
    """Answer until stdin ends."""
    import numa_agent.cluster.api  # noqa: F401  # what both ways need

    process = psutil.Process()
    base = process.memory_info().rss
    kind = Watching if sys.argv[1] == "watch" else Polling
    source: Watching | Polling = kind(Path(sys.argv[2]), sys.argv[3])
    for _ in sys.stdin:
        times = process.cpu_times()
        found = {
            "base": base / 2**20,
            "rss": process.memory_info().rss / 2**20,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
            "cpu": times.user + times.system,
            "pods": source.known(),
            "wakes": source.wakes,
        }
        print(json.dumps(found), flush=True)
    source.close()


if __name__ == "__main__":
    main()
