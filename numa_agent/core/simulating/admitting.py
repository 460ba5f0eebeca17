"""The scheduler's part in a simulation: whether a node has what a pod requests, in sum.

https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/
"""

from collections.abc import Iterable

from numa_agent.core import quantity
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod


class Budget:
    """What a Node's pods may request in sum, and do.

    Hugepages that the Node doesn't name aren't there; of another resource that it doesn't name
    nothing is counted, nor of any where nothing of the Node is known.
    """

    def __init__(self, node: Node, pods: Iterable[Pod]) -> None:
        """Take the Node and the pods that are on it."""
        self._node = node
        self._asked: dict[str, int] = {}
        for pod in pods:
            if not pod.finished:
                self.take(pod)

    def lacking(self, pod: Pod) -> str | None:
        """What there isn't enough of for a pod, None where there is."""
        for name, number in sorted({**pod.demands.effective(), "pods": 1}.items()):
            most = self._node.allocatable.get(name)
            if most is None and name.startswith("hugepages-") and self._node.allocatable:
                most = 0
            if most is None or not number:
                continue
            left = max(0, most - self._asked.get(name, 0))
            if number > left:
                return (
                    f"{name[:60]}: it asks for {_said(name, number)}, of {_said(name, most)} that"
                    f" pods may request {_said(name, left)} are left"
                )
        return None

    def take(self, pod: Pod) -> None:
        """Count a pod."""
        for name, number in {**pod.demands.effective(), "pods": 1}.items():
            self._asked[name] = self._asked.get(name, 0) + number


def _said(name: str, number: int) -> str:
    if name == "cpu":
        return f"{number / 1000:g}"
    bytes_of = name in ("memory", "ephemeral-storage") or name.startswith("hugepages-")
    return quantity.binary(number) if bytes_of else str(number)
