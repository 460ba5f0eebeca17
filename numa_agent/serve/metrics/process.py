"""The process itself: which agent it is, and what it costs."""

import platform
import threading
from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.process_collector import ProcessCollector

from numa_agent import __version__
from numa_agent.config import OWN_PROC
from numa_agent.serve.metrics.families import gauge, one


class Process:
    """Reads the costs of this process; a fact that can't be read is left out."""

    def __init__(self, scheduler: str, proc: str = OWN_PROC) -> None:
        """Take whose language the agent speaks, and where the kernel tells of processes."""
        self._scheduler = scheduler
        # Four small files of /proc, and already loaded with the rest of the library.
        self._collector = ProcessCollector(proc=proc, registry=None)

    def collect(self) -> Iterator[Metric]:
        """The families of the process."""
        yield gauge(
            "numa_agent_build_info",
            "Always 1; which agent this is.",
            ["version", "python", "scheduler"],
            [((__version__, platform.python_version(), self._scheduler), 1)],
        )
        yield one("numa_agent_threads", "Python threads of the process.", threading.active_count())
        try:
            yield from self._collector.collect()
        except (ValueError, IndexError, UnboundLocalError):
            # A /proc in another shape than the library knows, such as a limit that is "unlimited".
            return
