"""What koord-scheduler and koord-manager are told of a node, as the objects that koordlet writes.

koordlet: https://github.com/koordinator-sh/koordinator/tree/main/pkg/koordlet/statesinformer/impl.
"""

from numa_agent.core.schedulers.koordinator.device import device
from numa_agent.core.schedulers.koordinator.topology import topology
from numa_agent.core.view import Rendering, View


def publish(view: View) -> Rendering:
    """The NodeResourceTopology and, on a node with GPUs or RDMA NICs, the Device.

    An object that would mislead is left out whole, with a condition that says why. Same input,
    same bytes.
    """
    zones, of_zones = topology(view)
    devices, of_devices = device(view)
    return Rendering(
        manifests=tuple(manifest for manifest in (zones, devices) if manifest is not None),
        conditions=(*of_zones, *of_devices),
    )
