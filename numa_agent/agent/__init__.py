"""What a pass does, with what it is given: map, publish, bind, prove."""

from numa_agent.agent.assigning import Assigning, Decisions
from numa_agent.agent.binder import Binder
from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.loop import News, Sending, run_forever
from numa_agent.agent.marking import Marking
from numa_agent.agent.mover import Mover
from numa_agent.agent.passes import Ports, bound_of, planned_of, run_pass
from numa_agent.agent.proving import Standing, around_of, prove
from numa_agent.agent.reading import Kept, Reading
from numa_agent.agent.sources import NodeSources, Readings, read_all, view_of
from numa_agent.agent.telling import Teller
from numa_agent.agent.watching import Seen, Watching

__all__ = [
    "Assigning",
    "Binder",
    "Cpusets",
    "Decisions",
    "Kept",
    "Marking",
    "Mover",
    "News",
    "NodeSources",
    "Planned",
    "Ports",
    "Reading",
    "Readings",
    "Seen",
    "Sending",
    "Standing",
    "Teller",
    "Watching",
    "around_of",
    "bound_of",
    "planned_of",
    "prove",
    "read_all",
    "run_forever",
    "run_pass",
    "view_of",
]
