"""What happens in the pods' cgroups and in kubelet's folder, as the kernel tells it."""

from numa_agent.host.watch.events import Event, Followed, Kind, Role
from numa_agent.host.watch.instance import Instance, Raw, open_instance
from numa_agent.host.watch.watch import Watch

__all__ = ["Event", "Followed", "Instance", "Kind", "Raw", "Role", "Watch", "open_instance"]
