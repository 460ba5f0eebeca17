"""Where a real kernel says that hugepages are, and what is said of them."""

from dataclasses import replace
from typing import Any

import pytest

from tests.vm.containers import missing_runtimes
from tests.vm.guest import CHECKOUT, run_script
from tests.vm.kernel import Kernel, ready
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))), displays=(0, 1, None))
OURS = ""
CASES = (("v2", OURS), ("v1", OURS), ("v2", "bullseye"), ("v2", "bookworm-backports"))
"""The version of cgroups, and the Debian whose kernel it is: 6.1, 5.10 and 6.12."""

SECONDS = 240


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on this host's own kernel, and with --all-kernels on the others."""
    everything = metafunc.config.getoption("--all-kernels")
    cases = [case for case in CASES if case[1] == OURS or everything]
    ids = ["-".join(filter(None, case)) for case in cases]
    metafunc.parametrize("found", cases, ids=ids, indirect=True, scope="module")


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, kernel: Kernel) -> Any:
    """What was found of each scene, and whether the kernel counts hugepages by node."""
    if missing := missing_runtimes():
        pytest.skip(f"needs the Debian packages {' '.join(missing)}")
    version, suite = request.param
    booted = kernel if suite == OURS else ready(CHECKOUT / ".cache" / "vm", suite)
    if version == "v1" and not booted.has_cpuset_v1:
        pytest.skip(f"{booted.folder.name} is built without cpuset for cgroup v1")
    machine = replace(MACHINE, cgroup=version)
    seen = run_script(booted, machine, "hugepages", version, timeout=SECONDS).json()
    return {"counted": version == "v2" and not seen["release"].startswith("5.10."), **seen}


def scene(found: Any, name: str) -> Any:
    """What was found in a scene, which must not have failed."""
    seen = found[name]
    assert "failed" not in seen, seen["failed"]
    assert seen["failures"] == []
    return seen


def told(seen: Any) -> tuple[str, dict[str, str | None]]:
    """The verdict, and the reasons with their causes."""
    reasons = {code: cause for code, cause in seen["reasons"].items() if code != "aligned"}
    return seen["verdict"], reasons


UNSEEN = ("unknown", {"memory-unseen": None})


def test_hugepages_beside_it_are_no_fault(found: Any) -> None:
    seen = scene(found, "hugepages_beside_it")
    if not found["counted"]:
        assert (told(seen), seen["account"]) == (UNSEEN, "")
        return
    assert told(seen) == ("aligned", {})
    assert seen["memory"]["0"] >= 48
    assert seen["account"] == "total=50331648 N0=50331648 N1=0\n"


def test_hugepages_on_the_other_node_are_named(found: Any) -> None:
    seen = scene(found, "hugepages_on_the_other_node")
    if not found["counted"]:
        assert told(seen) == UNSEEN
        return
    assert told(seen) == ("remote", {"memory-remote": "mems-not-bound"})
    assert seen["memory"]["1"] >= 48
    assert seen["account"] == "total=50331648 N0=0 N1=50331648\n"


def test_hugepages_in_both_nodes_are_named(found: Any) -> None:
    seen = scene(found, "hugepages_in_both_nodes")
    expected = ("split", {"memory-split": "mems-not-bound"})
    assert told(seen) == (expected if found["counted"] else UNSEEN)


def test_hugepages_that_the_kernel_moved_are_not_held_against_anybody(found: Any) -> None:
    seen = scene(found, "hugepages_that_were_moved")
    assert told(seen) == UNSEEN
    if not found["counted"]:
        return
    # They are in node 0 now, and the account is what it was.
    assert seen["maps"] == ["N0=24"]
    assert seen["account"] == "total=50331648 N0=0 N1=50331648\n"
    # When they are freed it falls below zero. A kernel that mends this makes this test fail.
    assert seen["freed"]["account"] == f"total=0 N0={(1 << 64) - 50331648} N1=50331648\n"
    assert told(seen["freed"]) == UNSEEN
    assert seen["freed"]["failures"] == []
