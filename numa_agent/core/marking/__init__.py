"""What the agent writes on pods about its own assigner, and which pods it may evict.

Told, and never read back as a decision: docs/marks.md.
"""

from numa_agent.core.marking.evictions import Young, kept_because
from numa_agent.core.marking.ledger import Ledger
from numa_agent.core.marking.marks import NONE, Marks, marks_on, wanted
from numa_agent.core.marking.pace import Limits
from numa_agent.core.marking.steps import Step, Told, Unplaced

__all__ = [
    "NONE",
    "Ledger",
    "Limits",
    "Marks",
    "Step",
    "Told",
    "Unplaced",
    "Young",
    "kept_because",
    "marks_on",
    "wanted",
]
