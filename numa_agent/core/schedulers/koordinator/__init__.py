"""Koordinator's language: the CPU set that it writes on a pod, and what its scheduler is told.

https://koordinator.sh/docs/ and https://github.com/koordinator-sh/koordinator.
"""

from numa_agent.core.schedulers.koordinator.adopt import adopt as adopt
from numa_agent.core.schedulers.koordinator.assignment import RESOURCE_STATUS as RESOURCE_STATUS
from numa_agent.core.schedulers.koordinator.assignment import assignment as assignment
from numa_agent.core.schedulers.koordinator.publish import publish as publish
