"""What pods of real runtimes may use on real kernels, as passes bind them, scene by scene.

`tests/vm/scripts/binding_*.py` say what happens in which scene. On v2 the machine has two nodes of
four CPUs and one of memory alone, on v1 four nodes of two CPUs. A test module that imports what is
here boots each kernel once, together with all others that do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest

from tests.vm.containers import Hierarchy, missing_runtimes
from tests.vm.guest import CHECKOUT, run_script
from tests.vm.kernel import Kernel, ready
from tests.vm.machine import Machine, Node

MACHINES: dict[Hierarchy, Machine] = {
    "v2": Machine(nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8)), Node(memory_mib=256))),
    "v1": Machine(
        nodes=tuple(Node(cpus=range(cpu, cpu + 2), memory_mib=256) for cpu in (0, 2, 4, 6)),
        cgroup="v1",
    ),
}
OURS = ""
"""This host's own Debian; another one's kernel is booted only with --all-kernels."""

CASES: tuple[tuple[Hierarchy, str], ...] = (
    ("v2", OURS),
    ("v1", OURS),
    ("v2", "bullseye"),
    ("v1", "bullseye"),
    ("v2", "bookworm-backports"),
)
SECONDS = 240


@dataclass(frozen=True, slots=True)
class Seen:
    """What a guest saw, scene by scene."""

    hierarchy: Hierarchy
    scenes: dict[str, Any]

    @property
    def old(self) -> bool:
        """Whether it is Linux 5.10."""
        return str(self.scenes["release"]).startswith("5.10.")

    def scene(self, name: str) -> Any:
        """What was seen in a scene, which must not have failed."""
        seen = self.scenes[name]
        assert "failed" not in seen, seen["failed"]
        return seen

    def all(self, key: str) -> Iterator[Any]:
        """Every value under a key, however deep, of all scenes."""
        yield from _all(self.scenes, key)


SETTLED = {
    **dict.fromkeys(("shared/app", "besteffort/app"), "0-1,6-7"),
    **dict.fromkeys(("first/app", "first/side"), "4-5"),
    **dict.fromkeys(("second/app", "second/side"), "2-3"),
}
"""What the tasks of each container may use while all pods of the first scenes run."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on every kernel that is asked for and has what its fixture names."""
    everything = metafunc.config.getoption("--all-kernels")
    asked = [case for case in CASES if case[1] == OURS or everything]
    for name in {"seen", "v1", "v2"}.intersection(metafunc.fixturenames):
        cases = [case for case in asked if name in ("seen", case[0])]
        ids = ["-".join(filter(None, case)) for case in cases]
        metafunc.parametrize(name, cases, ids=ids, indirect=True, scope="module")


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest, kernel: Kernel) -> Seen:
    """What was seen on this kernel; `v1` and `v2` are the same for one version of cgroups."""
    hierarchy, suite = request.param
    if missing := missing_runtimes():
        pytest.skip(f"needs the Debian packages {' '.join(missing)}")
    booted = kernel if suite == OURS else ready(CHECKOUT / ".cache" / "vm", suite)
    if hierarchy == "v1" and not booted.has_cpuset_v1:
        pytest.skip(f"{booted.folder.name} is built without cpuset for cgroup v1")
    return _played(booted, hierarchy)


v1 = v2 = seen


@lru_cache
def _played(kernel: Kernel, hierarchy: Hierarchy) -> Seen:
    machine = MACHINES[hierarchy]
    result = run_script(kernel, machine, "binding", hierarchy, timeout=SECONDS)
    return Seen(hierarchy, result.json())


def _all(seen: Any, key: str) -> Iterator[Any]:
    if isinstance(seen, dict):
        for name, value in seen.items():
            if name == key:
                yield value
            yield from _all(value, key)
