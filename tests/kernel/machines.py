"""The fake kernels that tests start from: eight CPUs on two nodes, and a third with memory."""

from pathlib import Path
from typing import Any

from tests.kernel.fake_system import FakeSystem
from tests.kernel.kernel import Hierarchy, Kernel
from tests.kernel.operations import CPUS, NODES
from tests.kernel.versions import Version
from tests.kernel.walk import Player, operations

NAMES: tuple[tuple[Version, Hierarchy], ...] = (
    ("5.10", "v2"),
    ("5.10", "v1"),
    ("6.1", "v2"),
    ("6.1", "v1"),
    ("6.12", "v2"),
)
"""The kernels that the fake is checked against. Debian's 6.12 has no cpuset for v1."""


def boot(folder: Path, version: Version = "6.1", hierarchy: Hierarchy = "v2") -> Kernel:
    """A fake kernel whose files are in `folder`/cgroup."""
    return Kernel(
        folder / "cgroup",
        version=version,
        hierarchy=hierarchy,
        cpus=frozenset(CPUS),
        mems=frozenset(NODES),
    )


def fake_walk(
    folder: Path, version: Version, hierarchy: Hierarchy, seed: int, count: int
) -> list[dict[str, Any]]:
    """What the fake answers to `count` random operations."""
    system = FakeSystem(boot(folder, version, hierarchy))
    try:
        return list(Player(system, hierarchy).play(operations(seed, count, hierarchy)))
    finally:
        system.watches.close()
