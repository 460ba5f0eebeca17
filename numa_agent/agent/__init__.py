"""What a pass does, with what it is given: map, publish, bind, prove."""

from numa_agent.agent.loop import run_forever
from numa_agent.agent.passes import Cgroups, Ports, run_pass
from numa_agent.agent.reading import Kept, Reading
from numa_agent.agent.sources import NodeSources, Readings, read_all, view_of

__all__ = [
    "Cgroups",
    "Kept",
    "NodeSources",
    "Ports",
    "Reading",
    "Readings",
    "read_all",
    "run_forever",
    "run_pass",
    "view_of",
]
