"""Measuring this machine: real memory, looked up page by page, and commands run near it.

`numa-agent measure` alone loads it: the agent measures nothing.
"""

from numa_agent.host.measuring.limits import read_allowed
from numa_agent.host.measuring.measure import measure_matrix
from numa_agent.host.measuring.policy import placed
from numa_agent.host.measuring.running import Ended, Runner, StoppedError
from numa_agent.host.measuring.spill import risen, spilled_so_far

__all__ = [
    "Ended",
    "Runner",
    "StoppedError",
    "measure_matrix",
    "placed",
    "read_allowed",
    "risen",
    "spilled_so_far",
]
