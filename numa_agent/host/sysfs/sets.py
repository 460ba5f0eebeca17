"""CPU sets as the kernel's files give them: a list, or a mask where there is no list."""

from collections.abc import Callable

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.host.sysfs.files import Directory


class CpuSetReader:
    """Reads CPU sets in either form, keeping one object for each distinct text."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._lists: dict[str, CpuSet] = {}
        self._masks: dict[str, CpuSet] = {}

    def list(self, text: str) -> CpuSet:
        """The set of a kernel list. Raises CpuListError."""
        return self._kept(self._lists, cpulist.parse, text)

    def mask(self, text: str) -> CpuSet:
        """The set of a kernel mask. Raises CpuListError."""
        return self._kept(self._masks, cpulist.parse_mask, text)

    def read(self, directory: Directory, list_name: str, mask_name: str) -> CpuSet | None:
        """The set that a directory gives as a list or, where there is none, as a mask."""
        cpus = directory.value(list_name, self.list)
        return cpus if cpus is not None else directory.value(mask_name, self.mask)

    @staticmethod
    def _kept(kept: dict[str, CpuSet], parse: Callable[[str], CpuSet], text: str) -> CpuSet:
        cpus = kept.get(text)
        if cpus is None:
            cpus = kept[text] = parse(text)
        return cpus
