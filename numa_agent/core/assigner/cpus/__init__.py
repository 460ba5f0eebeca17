"""Which CPUs of given NUMA nodes a pod gets: threads, cores and caches."""

from numa_agent.core.assigner.cpus.choose import choose_cpus as choose_cpus
from numa_agent.core.assigner.cpus.choose import eligible as eligible
