"""Where a pod would fit, what it lacks elsewhere, and what would make room."""

from dataclasses import replace

import pytest

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.asked import Asked
from numa_agent.core.explaining import (
    Room,
    Story,
    own_rooms,
    placing,
    published_rooms,
    waiting,
)
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof
from numa_agent.core.requests import Demand, Demands, Role
from tests.machine_tree import TWO_NODES, container, cpus, pod
from tests.verdicts import verdict

GIB = 1 << 30


def wants(**requests: int) -> Pod:
    """A pod that asks for thousandths of CPUs, bytes and GPUs."""
    named = {"gpu": "nvidia.com/gpu"}
    asked = {named.get(name, name): size for name, size in requests.items()}
    demands = Demands(containers=(Demand(container="c", role=Role.APP, requests=asked),))
    return replace(pod(1), demands=demands)


def room(node: int, cpus: int, gpus: int, **holders: dict[str, int]) -> Room:
    return Room(
        machine="gpu-0",
        node=f"node {node}",
        available={"cpu": cpus * 1000, "memory": 64 * GIB, "nvidia.com/gpu": gpus},
        holders={name.replace("_", "/"): freed for name, freed in holders.items()},
    )


def lines(story: Story, title: str) -> tuple[str, ...]:
    return next(each.lines for each in story.chapters if each.title == title)


def todo(story: Story) -> list[str]:
    return [each.what for each in story.todo]


def test_each_numa_node_fits_or_says_what_it_lacks() -> None:
    story = placing(wants(cpu=8000, gpu=2), [room(0, 16, 1), room(1, 4, 2), room(2, 8, 2)], "no")
    assert lines(story, "room") == (
        "gpu-0 node 0: lacks 1 nvidia.com/gpu",
        "gpu-0 node 1: lacks 4 CPUs",
        "gpu-0 node 2: fits",
    )
    assert todo(story)[0].startswith("a node has room")


def test_the_fewest_pods_whose_end_makes_room_are_named() -> None:
    held = {
        "ml_small": {"cpu": 2000},
        "ml_big": {"cpu": 8000, "nvidia.com/gpu": 1},
        "ml_other": {"cpu": 4000},
    }
    story = placing(wants(cpu=8000, gpu=1), [room(0, 2, 0, **held)], "no")
    assert todo(story)[0] == "ending ml/big would make room in gpu-0 node 0"


def test_several_pods_together_may_make_room_and_none_may() -> None:
    held = {"ml_a": {"cpu": 2000}, "ml_b": {"cpu": 2000}, "ml_c": {"cpu": 1000}}
    story = placing(wants(cpu=6000), [room(0, 2, 0, **held)], "no")
    assert todo(story)[0] == "ending ml/b, ml/a would make room in gpu-0 node 0"
    never = placing(wants(cpu=60000), [room(0, 2, 0, **held)], "no")
    assert todo(never) == ["it fits in one NUMA node if it asks for at most 2 CPUs (gpu-0 node 0)"]


def test_what_no_numa_node_is_told_of_is_said_and_not_counted() -> None:
    odd = replace(wants(cpu=1000), demands=wants(cpu=1000).demands)
    story = placing(
        replace(
            odd,
            demands=Demands(
                containers=(
                    Demand(
                        container="c",
                        role=Role.APP,
                        requests={"cpu": 1000, "ephemeral-storage": 5, "example.com/odd": 1},
                    ),
                )
            ),
        ),
        [room(0, 16, 0)],
        "no",
    )
    assert lines(story, "room") == ("gpu-0 node 0: fits",)
    assert lines(story, "asked")[1].endswith("5 ephemeral-storage, 1 example.com/odd")


def test_without_any_node_that_is_said() -> None:
    story = placing(wants(cpu=1000), [], "not yet: 0/3 nodes are available")
    assert lines(story, "placed") == ("not yet: 0/3 nodes are available",)
    assert lines(story, "room") == ("no node is told of",)
    assert story.todo == ()


def test_published_zones_are_rooms_and_odd_ones_are_empty() -> None:
    zone = {
        "name": "node-0",
        "type": "Node",
        "resources": [
            {"name": "cpu", "available": "7500m"},
            {"name": "memory", "available": "1Gi"},
            {"name": "nvidia.com/gpu", "available": "many"},
            "odd",
        ],
    }
    objects = [{"metadata": {"name": "gpu-1"}, "zones": [zone, {"type": "Node"}, 7]}, None]
    rooms = list(published_rooms(objects))
    assert [(each.machine, each.node) for each in rooms] == [("gpu-1", "node-0"), ("gpu-1", "?")]
    assert rooms[0].available == {"cpu": 7500, "memory": GIB, "nvidia.com/gpu": 0}


def test_what_is_asked_for_none_of_and_what_is_overdrawn_is_no_trouble() -> None:
    story = placing(wants(cpu=8000, gpu=0), [room(0, 2, 0), room(1, -3, 0)], "no")
    assert lines(story, "asked") == ("8 CPUs",)
    assert lines(story, "room")[1] == "gpu-0 node 1: lacks 11 CPUs"
    assert todo(story) == ["it fits in one NUMA node if it asks for at most 2 CPUs (gpu-0 node 0)"]
    assert todo(placing(wants(cpu=8000), [room(0, -3, 0)], "no")) == []


@pytest.mark.parametrize(
    ("phase", "reason", "says"),
    [
        ("Pending", "", "it is placed here"),
        ("Failed", "", "see why it failed"),
        ("Failed", "AnotherError", "see why it failed"),
        ("Failed", "TopologyAffinityError", "kubelet's Topology Manager found no NUMA nodes"),
        ("Failed", "OutOfnvidia.com/gpu", "the node had too little nvidia.com/gpu left"),
    ],
)
def test_one_that_is_placed_and_runs_nothing_is_not_sent_to_the_scheduler(
    phase: str, reason: str, says: str
) -> None:
    of = replace(wants(cpu=8000), phase=phase, reason=reason)
    told = Story(pod="shop/p1", chapters=(), todo=())
    fitting = waiting(told, of, [room(0, 16, 0)])
    assert lines(fitting, "room") == ("gpu-0 node 0: fits",)
    assert [each[: len(says)] for each in todo(fitting)] == [says]
    full = waiting(told, of, [room(0, 2, 0, ml_big={"cpu": 8000})])
    assert todo(full)[1:] == [
        "ending ml/big would make room in gpu-0 node 0",
        "it fits in one NUMA node if it asks for at most 2 CPUs (gpu-0 node 0)",
    ]


def test_the_end_of_a_pod_frees_its_own_cpus_and_not_those_that_a_sidecar_shares() -> None:
    account = NodeAccount(
        node=TWO_NODES.nodes[0], resources={"cpu": Amount(capacity=4, allocatable=4, available=1)}
    )
    near = cpus("0-3")

    def proof(name: str, own: str, *, shares: bool) -> Proof:
        return Proof(
            pod=pod(1),
            container=container(1, name=name),
            verdict=verdict(cpus(own), near),
            asked=Asked(cpus=cpus(own), shares=shares),
        )

    held = [proof("main", "0", shares=False), proof("sidecar", "1-3", shares=True)]
    (found,) = own_rooms("gpu-0", [account], held)
    assert found.holders == {"shop/p1": {"cpu": 1000}}
