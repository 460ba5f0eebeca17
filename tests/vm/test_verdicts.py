"""Planted faults on a real kernel: every one is named, and no healthy container is accused."""

from dataclasses import replace
from typing import Any

import pytest

from tests.vm.containers import missing_runtimes
from tests.vm.guest import run_script
from tests.vm.kernel import Kernel
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))), displays=(0, 1, None))
SECONDS = 240


@pytest.fixture(scope="module", params=["v2", "v1"])
def found(request: pytest.FixtureRequest, kernel: Kernel) -> Any:
    """What was found of each scene, and on which version of cgroups."""
    if missing := missing_runtimes():
        pytest.skip(f"needs the Debian packages {' '.join(missing)}")
    version = request.param
    if version == "v1" and not kernel.has_cpuset_v1:
        pytest.skip(f"{kernel.folder.name} is built without cpuset for cgroup v1")
    machine = replace(MACHINE, cgroup=version)
    displays = MACHINE.display_addresses
    seen = run_script(kernel, machine, "verdicts", version, *displays, timeout=SECONDS).json()
    return {"version": version, **seen}


FAULTS = {
    "cpus_on_the_wrong_node": ("remote", False, {"cpus-outside": "foreign-writer"}),
    "memory_on_the_other_node": ("remote", False, {"memory-remote": "mems-not-bound"}),
    "memory_in_both_nodes": ("split", False, {"memory-split": "mems-not-bound"}),
    "memory_from_before_the_binding": ("remote", False, {"memory-remote": "mems-not-bound"}),
    "memory_from_before_its_nodes_were_set": ("remote", False, {"memory-remote": "late-binding"}),
    "memory_spilled_from_a_full_node": ("remote", False, {"memory-remote": "memory-spilled"}),
    "a_device_behind_the_other_bridge": ("remote", False, {"devices-remote": "kubelet-policy"}),
    "a_device_on_each_side": ("split", False, {"devices-split": "kubelet-policy"}),
    "a_device_without_a_place": ("unknown", False, {"device-place-unknown": "no-locality"}),
    "a_parent_with_less": ("aligned", False, {"cpus-fewer": "ancestor-limit"}),
}
"""The verdict, whether it has what it asked for, and the reasons with their causes."""

TWINS = {
    "healthy": ("aligned", True, {}),
    "healthy_far": ("aligned", True, {}),
    "a_stray_mask": ("aligned", True, {"tasks-masked": "user-mask"}),
    "decided_across_nodes": ("split", True, {"cpus-split": "as-decided"}),
    "nobody_asked": ("split", None, {"cpus-split": "nobody-decided"}),
}


@pytest.mark.parametrize("scene", [*FAULTS, *TWINS])
def test_a_planted_fault_is_named_and_a_healthy_twin_is_not_accused(
    found: Any, scene: str
) -> None:
    if scene == "a_parent_with_less" and found["version"] == "v1":
        pytest.skip("no v1 cgroup can have less than one below it")
    seen = found[scene]
    assert "failed" not in seen, seen["failed"]
    verdict, has_it, reasons = {**FAULTS, **TWINS}[scene]
    if scene == "memory_from_before_its_nodes_were_set" and found["version"] == "v2":
        # There the kernel has moved the pages: nothing is wrong any more.
        verdict, has_it, reasons = TWINS["healthy"]
    told = {code: cause for code, cause in seen["reasons"].items() if code != "aligned"}
    assert (seen["verdict"], seen["asked"], told) == (verdict, has_it, reasons)
    assert seen["failures"] == []


def test_memory_is_counted_where_it_really_is(found: Any) -> None:
    assert found["memory_on_the_other_node"]["memory"]["1"] >= 47
    both = found["memory_in_both_nodes"]["memory"]
    assert both["0"] >= 47 + 23
    assert both["1"] >= 23
    assert found["healthy_far"]["memory"]["0"] == 0
