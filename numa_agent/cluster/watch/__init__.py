"""Following the pods of a node: one list, then one watch that is taken up again where it ended."""

from numa_agent.cluster.watch.patience import Patience
from numa_agent.cluster.watch.pods import PodWatch, watch_pods

__all__ = ["Patience", "PodWatch", "watch_pods"]
