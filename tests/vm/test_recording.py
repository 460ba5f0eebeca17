"""A recording of a real kernel with two NUMA nodes, cgroup v2 and v1, answers as it does."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.vm.guest import RunScript
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(
    nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))), threads=2, distances=((10, 32), (32, 10))
)


@pytest.fixture(scope="module", params=["v2", "v1"])
def seen(request: pytest.FixtureRequest) -> Any:
    """What the script saw on a kernel with this version of cgroups."""
    if request.param == "v2":
        guest: RunScript = request.getfixturevalue("guest")
        return guest(MACHINE, "recording", "v2", timeout=120).json()
    guest = request.getfixturevalue("guest_with_cgroup_v1")
    return guest(replace(MACHINE, cgroup="v1"), "recording", "v1", timeout=120).json()


@pytest.mark.parametrize("names", ["kept", "hidden"])
def test_every_command_answers_of_the_recording_as_of_the_kernel(seen: Any, names: str) -> None:
    live, replayed = seen["answers"]["live"], seen["answers"][names]
    for name in live.keys() - {"run"}:
        assert replayed[name] == live[name], name


@pytest.mark.parametrize("names", ["kept", "hidden"])
def test_a_pass_proves_of_the_recording_what_it_proves_of_the_kernel(
    seen: Any, names: str
) -> None:
    live, replayed = (json.loads(seen["answers"][which]["run"]) for which in ("live", names))
    assert replayed["containers"] == live["containers"]
    assert live["containers"][0]["verdict"] == "aligned"
    assert (replayed["writes"], live["writes"]) == ([], [])


def test_no_name_of_the_machine_is_in_the_recording(seen: Any) -> None:
    assert set(seen["named"].values()) == {False}


def test_nothing_was_left_out(seen: Any) -> None:
    assert seen["left_out"] == {}
