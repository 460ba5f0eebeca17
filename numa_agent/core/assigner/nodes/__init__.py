"""Which NUMA nodes a pod gets: by policy, devices, exclusivity, nearness and what is left."""

from numa_agent.core.assigner.nodes.choose import choose_nodes as choose_nodes
from numa_agent.core.assigner.nodes.choose import fewest_ever as fewest_ever
from numa_agent.core.assigner.nodes.choose import may_be_on as may_be_on
