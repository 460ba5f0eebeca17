"""Chooses CPUs and NUMA nodes for pods that ask for them where no scheduler decides.

Pure: what is known comes in as a Situation, and what is decided goes out as an Outcome.
"""

from numa_agent.core.assigner.asking import Asking as Asking
from numa_agent.core.assigner.asking import asking as asking
from numa_agent.core.assigner.asking import may_ask as may_ask
from numa_agent.core.assigner.deciding import decide as decide
from numa_agent.core.assigner.holdings import room_left as room_left
from numa_agent.core.assigner.kept import ASSIGNER as ASSIGNER
from numa_agent.core.assigner.kept import MOST_BYTES as MOST_BYTES
from numa_agent.core.assigner.kept import Kept as Kept
from numa_agent.core.assigner.kept import parse_kept as parse_kept
from numa_agent.core.assigner.kept import render_kept as render_kept
from numa_agent.core.assigner.pending import awaited as awaited
from numa_agent.core.assigner.situation import Mode as Mode
from numa_agent.core.assigner.situation import Outcome as Outcome
from numa_agent.core.assigner.situation import Setting as Setting
from numa_agent.core.assigner.situation import Situation as Situation
