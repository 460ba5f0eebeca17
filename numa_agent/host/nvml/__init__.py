"""What NVIDIA's management library says: the only importer of `pynvml`.

Live or recorded, the library is asked through the same calls and read in the same way.
"""

from numa_agent.host.nvml.conditions import NOTHING
from numa_agent.host.nvml.recorded import read_recorded
from numa_agent.host.nvml.session import NvmlSession, live_session

__all__ = ["NOTHING", "NvmlSession", "live_session", "read_recorded"]
