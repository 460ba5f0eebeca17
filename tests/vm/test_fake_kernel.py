"""The fake kernel of tests/kernel/ answers as real ones do to the same random operations."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.kernel import Hierarchy
from tests.kernel.machines import fake_walk
from tests.kernel.versions import RULES
from tests.kernel.walk import operations
from tests.vm.guest import CHECKOUT, run_script
from tests.vm.kernel import Kernel, ready
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

NODES = (Node(cpus=range(4)), Node(cpus=range(4, 8)), Node(memory_mib=256))

SEEDS = range(1, 5)
MORE_SEEDS = range(1, 13)
"""What there is time for when every kernel is asked."""

COUNT = 45
"""Kinds of operations for each seed, which make about 150 operations."""

OURS = ""
"""This host's own Debian."""

CASES: tuple[tuple[str, Hierarchy], ...] = (
    (OURS, "v2"),
    (OURS, "v1"),
    ("bullseye", "v2"),
    ("bullseye", "v1"),
    ("bookworm-backports", "v2"),
)


@pytest.fixture
def booted(kernel: Kernel, suite: str, request: pytest.FixtureRequest) -> Kernel:
    """The kernel of a Debian; another than this host's only with --all-kernels."""
    if suite == OURS:
        return kernel
    if not request.config.getoption("--all-kernels"):
        pytest.skip("another Debian's kernel: only with --all-kernels")
    return ready(CHECKOUT / ".cache" / "vm", suite)


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> range:
    return MORE_SEEDS if request.config.getoption("--all-kernels") else SEEDS


@pytest.mark.parametrize(("suite", "hierarchy"), CASES)
def test_the_fake_and_the_real_kernel_answer_alike(
    suite: str,
    hierarchy: Hierarchy,
    booted: Kernel,
    seeds: range,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if hierarchy == "v1" and not booted.has_cpuset_v1:
        pytest.skip(f"{booted.folder.name} is built without cpuset for cgroup v1")
    machine = Machine(nodes=NODES, cgroup=hierarchy)
    words = (hierarchy, str(COUNT), *map(str, seeds))
    seen = run_script(booted, machine, "cpuset_walk", *words, timeout=250).json()
    version = next((name for name in RULES if seen["release"].startswith(f"{name}.")), None)
    if version is None:
        pytest.skip(f"the fake has no rules of Linux {seen['release']}")
    compared = 0
    for seed in seeds:
        fake = fake_walk(tmp_path / str(seed), version, hierarchy, seed, COUNT)
        real = seen["walks"][str(seed)]
        done = operations(seed, COUNT, hierarchy)
        difference = first_difference(done, real, fake)
        assert not difference, f"seed {seed}\n{difference}"
        compared += len(done)
    with capsys.disabled():
        print(f"\nLinux {seen['release']}, {hierarchy}: {compared} operations compared")


def first_difference(
    done: Sequence[Sequence[str]], real: Sequence[Any], fake: Sequence[Any]
) -> str:
    """The first operation to which the two answered differently, and what led to it."""
    for index, (theirs, ours) in enumerate(zip_longest(real, fake)):
        if theirs != ours:
            before = [f"{done[at]} {real[at]['result']}" for at in range(max(0, index - 8), index)]
            return "\n".join([*before, str(done[index]), f"real: {theirs}", f"fake: {ours}"])
    return ""
