"""Which CPUs and memory nodes each container shall have, and the writes that lead there.

Pure: what cgroups hold comes in as values, and the writes go out as values.
"""

from numa_agent.core.cpusets.alone import BIND as BIND
from numa_agent.core.cpusets.desired import claimed as claimed
from numa_agent.core.cpusets.desired import desired as desired
from numa_agent.core.cpusets.observed import has_run as has_run
from numa_agent.core.cpusets.refusals import ALLOW_ISOLATED as ALLOW_ISOLATED
from numa_agent.core.cpusets.refusals import RESERVED_UNKNOWN as RESERVED_UNKNOWN
from numa_agent.core.cpusets.relying import FileOf as FileOf
from numa_agent.core.cpusets.relying import beside as beside
from numa_agent.core.cpusets.relying import parted as parted
from numa_agent.core.cpusets.relying import standing as standing
from numa_agent.core.cpusets.restoring import restore_steps as restore_steps
from numa_agent.core.cpusets.steps import steps as steps
from numa_agent.core.cpusets.values import ContainerTarget as ContainerTarget
from numa_agent.core.cpusets.values import Desired as Desired
from numa_agent.core.cpusets.values import Inputs as Inputs
from numa_agent.core.cpusets.values import LeftAlone as LeftAlone
from numa_agent.core.cpusets.values import Mems as Mems
from numa_agent.core.cpusets.values import Options as Options
from numa_agent.core.cpusets.values import PodTarget as PodTarget
from numa_agent.core.cpusets.values import Refusal as Refusal
from numa_agent.core.cpusets.values import Step as Step
