"""Whether a container runs where it was decided, near its memory and its devices.

Pure: what was measured comes in as Facts, the answer and its reasons go out as a Verdict.
"""

from numa_agent.core.verdict.facts import Facts as Facts
from numa_agent.core.verdict.facts import HeldDevice as HeldDevice
from numa_agent.core.verdict.facts import Node as Node
from numa_agent.core.verdict.judging import judge as judge
from numa_agent.core.verdict.memory import memory_by_node as memory_by_node
from numa_agent.core.verdict.values import AS_DECIDED as AS_DECIDED
from numa_agent.core.verdict.values import CODES as CODES
from numa_agent.core.verdict.values import Alignment as Alignment
from numa_agent.core.verdict.values import Aspect as Aspect
from numa_agent.core.verdict.values import Cause as Cause
from numa_agent.core.verdict.values import Reason as Reason
from numa_agent.core.verdict.values import Verdict as Verdict
