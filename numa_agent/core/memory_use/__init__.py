"""Where the memory of a container is, node by node, from what the kernel says of it."""

from numa_agent.core.memory_use.numa_maps import parse_numa_maps as parse_numa_maps
from numa_agent.core.memory_use.numa_stat import HUGETLB_FILES as HUGETLB_FILES
from numa_agent.core.memory_use.numa_stat import parse_v1 as parse_v1
from numa_agent.core.memory_use.numa_stat import parse_v2 as parse_v2
from numa_agent.core.memory_use.numa_stat import with_hugepages as with_hugepages
from numa_agent.core.memory_use.values import MemorySource as MemorySource
from numa_agent.core.memory_use.values import MemoryUse as MemoryUse
from numa_agent.core.memory_use.values import together as together
