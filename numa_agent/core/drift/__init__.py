"""Sets that somebody else changed: who it may have been, and when to write ours again."""

from numa_agent.core.drift.drift import Action, Do, Drift, Fight
from numa_agent.core.drift.writers import Evidence, Suspect, Writer, likely_writer

__all__ = [
    "Action",
    "Do",
    "Drift",
    "Evidence",
    "Fight",
    "Suspect",
    "Writer",
    "likely_writer",
]
