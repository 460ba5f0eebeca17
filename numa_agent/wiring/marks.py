"""Marks on pods by the settings that hold at the moment."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from numa_agent.config import Config
from numa_agent.core.pods import Pod

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster


class Marks:
    """What writes marks on pods and evicts those that couldn't be placed, where that is wanted."""

    def __init__(self, cluster: "Cluster", current: Callable[[], Config]) -> None:
        """Take the cluster, and what gives the settings as they are now."""
        from numa_agent.cluster.marker import Marker

        self._marker = Marker(cluster.mark, cluster.evict, random.random)
        self._current = current
        self.due = self._marker.due
        self.send_due = self._marker.send_due
        self.troubles = self._marker.troubles

    def hear(
        self,
        pods: Sequence[Pod],
        assigned: Mapping[str, str],
        unplaced: Mapping[str, tuple[str, str]],
    ) -> None:
        """Take in a pass; what isn't wanted is taken off pods again."""
        config = self._current()
        evicts = config.assigner_unplaced == "evict"
        self._marker.hear(
            pods,
            assigned if config.assigner_annotate else None,
            unplaced if config.assigner_unplaced != "keep" else None,
            float(config.assigner_evict_seconds) if evicts else None,
        )
