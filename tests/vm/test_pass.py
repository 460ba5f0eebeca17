"""One pass on a real kernel with two NUMA nodes, cgroup v2 and v1: a process gets its CPUs."""

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
        return guest(MACHINE, "one_pass", "v2").json()
    guest = request.getfixturevalue("guest_with_cgroup_v1")
    return guest(replace(MACHINE, cgroup="v1"), "one_pass", "v1").json()


def test_a_process_of_the_container_may_run_on_its_assigned_cpus_only(seen: Any) -> None:
    assert (seen["before"], seen["after"]) == ("0-7", "5-6")


def test_the_pass_reports_the_write_and_what_is_in_force(seen: Any) -> None:
    assert seen["report"]["good"] is True
    assert [write["after"] for write in seen["report"]["writes"]] == ["5-6"]
    container = seen["report"]["containers"][0]
    assert (container["verdict"], container["effective"]) == ("aligned", "5-6")
    assert "node 1" in container["reason"]


def test_the_published_object_has_the_kernels_nodes_and_distances(seen: Any) -> None:
    zones = seen["report"]["publications"][0]["object"]["zones"]
    assert [zone["name"] for zone in zones] == ["node-0", "node-1"]
    assert [cost["value"] for cost in zones[1]["costs"]] == [32, 10]
    assert [zone["resources"][0]["available"] for zone in zones] == ["4", "2"]


def test_a_second_pass_writes_nothing(seen: Any) -> None:
    assert seen["second"]["writes"] == []
    assert seen["second"]["good"] is True
