"""The node's cards beside the daemon's passes, given out where the pod's CPUs are free too."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from numa_agent.agent import Ports
from numa_agent.config import Config
from numa_agent.core.assigner import awaited
from numa_agent.core.pods import Pod

if TYPE_CHECKING:
    from numa_agent.core.gpu_plugin import Wish

News = Callable[[], tuple[tuple[Pod, ...], tuple[str, ...]] | None]
"""The pods that the API server told of and whose decisions are believed, without asking it."""


def with_gpu_plugin(
    ports: Ports, config: Config, news: News, say: Callable[[str], None], stack: ExitStack
) -> Ports:
    """The same, with kubelet offered the cards of the map that each pass reads."""
    # It brings the gRPC server along.
    from numa_agent.wiring.gpu_plugin import GpuPlugin

    def beside_cpus(asked: "Wish") -> "Wish":
        heard, assigning = news(), ports.assigning
        if heard is None or assigning is None:
            return asked
        wish = awaited(heard[0], config.gpu_resource, asked.size)
        if wish is None:
            return asked
        return replace(asked, wanted_cpus=wish.room, free_cpus=assigning.free_cpus(wish))

    plugin = GpuPlugin(config, say, wish=beside_cpus)
    stack.callback(plugin.close)
    more = ports.more
    return replace(
        ports,
        sources=replace(ports.sources, topology=plugin.watched(ports.sources.topology)),
        more=lambda: (*more(), *plugin.conditions()),
    )
