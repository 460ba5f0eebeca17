"""Whether the kernel has an account of a container's memory, where host.cgroups.memory looks.

On v1 it is in another hierarchy than the cpusets; on v2 a container's own cgroup has one for all
that are in it.
"""

from dataclasses import dataclass
from pathlib import Path

from numa_agent.host.cgroups.hierarchies import MEMORY, controller_base
from numa_agent.host.cgroups.mount import Mount
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Parts, Tree

_FILE = "memory.numa_stat"


@dataclass(frozen=True, slots=True)
class Account:
    """Where the cpusets are and where the accounts of memory are, None where they are nowhere."""

    cpusets: Parts
    memory: Parts | None

    def lacks(self, tree: Tree, container: Parts) -> bool:
        """Whether a container's page tables are read for want of an account.

        They aren't where its cgroup isn't in the hierarchy of accounts at all: it is then going.
        """
        if self.memory is None:
            return True
        group = (*self.memory, *container[len(self.cpusets) :])
        return tree.is_folder(group) and not tree.exists((*group, _FILE))


def account_of(tree: Tree, mount: Mount, host_root: Path, cpusets: Parts) -> Account:
    """The accounts of a machine whose cpusets are there."""
    base = controller_base(mount, host_root, MEMORY)
    if base is None:
        return Account(cpusets, None)
    if base == mount.path:
        return Account(cpusets, cpusets)
    try:
        return Account(cpusets, tree.resolve(base.relative_to(host_root).parts))
    except LeftOutError:
        return Account(cpusets, None)
