"""Who else hands out a node's cards, as kubelet and the Node tell it."""

import random
from collections.abc import Callable, Mapping

from numa_agent.config import PODRESOURCES_SOCKET, Config
from numa_agent.core.documents import Document
from numa_agent.core.errors import SourceError
from numa_agent.core.grants import PodResources
from numa_agent.core.node import parse_node
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.host.recorded import is_recorded, read_answer
from numa_agent.wiring.asking import Seldom
from numa_agent.wiring.passes import connected
from numa_agent.wiring.sources import NODE_SECONDS

Allocatable = Mapping[str, int]


class Neighbours:
    """kubelet's podresources and the Node's allocatable; one of the two is enough."""

    def __init__(self, config: Config) -> None:
        """Take the settings, which say what can be asked."""
        self._config = config
        self._recorded = is_recorded(config.host_root)
        self._node = self._seldom()

    def read(self, *, anew: bool) -> tuple[PodResources | None, Allocatable]:
        """What is granted and allocatable; the Node is asked seldom unless `anew`.

        Raises SourceError where nobody answers, so that it isn't known who else is there.
        """
        if anew:
            self._node = self._seldom()
        failures: list[str] = []
        grants = allocatable = None
        try:
            grants = self._grants()
        except SourceError as error:
            failures.append(str(error))
        try:
            allocatable = self._node()
        except (SourceError, ValueError) as error:
            failures.append(str(error))
        if grants is None and allocatable is None:
            why = "; ".join(failures) or "podresources: off, and no nodeName"
            raise SourceError(f"it isn't known whether another plugin hands out the cards: {why}")
        return grants, allocatable or {}

    def _seldom(self) -> Callable[[], Allocatable | None]:
        return Seldom(self._allocatable, seconds=NODE_SECONDS, random=random.random)

    def _grants(self) -> PodResources | None:
        if self._config.podresources == "off":
            return None
        return parse_pod_resources(self._pod_resources())

    def _pod_resources(self) -> Document:
        root, asked = self._config.host_root, self._config.podresources
        if self._recorded:
            return read_answer(root, "podresources")
        from numa_agent.host.podresources import read_pod_resources

        socket = PODRESOURCES_SOCKET if asked == "auto" else asked
        return read_pod_resources(root / socket.lstrip("/"))

    def _allocatable(self) -> Allocatable | None:
        if self._recorded:
            return parse_node(read_answer(self._config.host_root, "node")).allocatable
        if self._config.node_name is None:
            return None
        with connected(self._config) as cluster:
            return parse_node(cluster.node(self._config.node_name)).allocatable
