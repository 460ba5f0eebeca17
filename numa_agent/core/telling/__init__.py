"""What of a pass people are told of in Events, when, and how often.

Pure: a Report comes in as a value, and notices go out as values. docs/events.md is the contract.
"""

from numa_agent.core.telling.bindings import Bindings as Bindings
from numa_agent.core.telling.found import between as between
from numa_agent.core.telling.found import faults as faults
from numa_agent.core.telling.ledger import Ledger as Ledger
from numa_agent.core.telling.limits import Due as Due
from numa_agent.core.telling.limits import Limits as Limits
from numa_agent.core.telling.notices import About as About
from numa_agent.core.telling.notices import Kind as Kind
from numa_agent.core.telling.notices import Notice as Notice
from numa_agent.core.telling.notices import Reason as Reason
from numa_agent.core.telling.notices import Subject as Subject
from numa_agent.core.telling.notices import about_node as about_node
from numa_agent.core.telling.notices import about_pod as about_pod
from numa_agent.core.telling.reasons import EVENT_REASONS as EVENT_REASONS
from numa_agent.core.telling.reasons import NO_EVENT as NO_EVENT
from numa_agent.core.telling.reasons import REASONS as REASONS
