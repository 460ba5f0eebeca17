"""Which rows of arena's rules hold for the ConfigMap of a recorded machine's GPUs."""

import json
from typing import Any

import pytest

from tests.consumers import ack as arena
from tests.core.test_ack import ASKED_FOR, config_maps, view_of

MACHINES = [
    "two-socket-8gpu",
    "v100-cube-mesh",
    "nps4-8gpu",
    "lost-gpu",
    "vm-unknown-locality",
    "gb200-like",
    "single-node",
]


def foreign(name: str, node: str = "n1", **data: str) -> Any:
    labels = {arena.LABEL: arena.VALUE, "nodename": node}
    metadata = {"name": name, "namespace": arena.NAMESPACE, "labels": labels}
    return {"kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize("name", MACHINES)
def test_arena_finds_the_nodes_config_map_and_prints_a_square_table(name: str) -> None:
    view = view_of(name, **ASKED_FOR)
    (ours,) = config_maps(view)
    assert arena.is_gpu_topology_node(dict(view.node.labels))
    assert arena.find([foreign("other", "n2"), ours], "n1") == ours
    node = arena.read(ours)
    assert arena.faults(node) == []
    assert list(node.printed) == ["LinkTypeMatrix"]
    assert len(node.healthy) == len(view.topology.gpus)


def test_arena_shows_v100_links_as_it_documents_them() -> None:
    (ours,) = config_maps(view_of("v100-cube-mesh", **ASKED_FOR))
    table = arena.read(ours).printed["LinkTypeMatrix"]
    assert table[1].split("\t") == ["GPU0", "N-A", "NV1", "NV2", "NV1", *["SYS"] * 3, "NV2"]


def test_arena_sees_no_bandwidth_where_none_was_measured() -> None:
    (ours,) = config_maps(view_of("two-socket-8gpu", **ASKED_FOR))
    assert arena.read(ours).bandwidths == []


def test_a_second_config_map_of_one_node_hides_the_other_by_its_name() -> None:
    # Why nothing is published unless asked for: beside gputopo's own, arena may read ours.
    (ours,) = config_maps(view_of("two-socket-8gpu", **ASKED_FOR))
    assert arena.find([ours, foreign("a-first")], "n1") == foreign("a-first")
    assert arena.find([ours, foreign("z-last")], "n1") == ours


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"devices": '{"0":"Healthy","2":"Healthy"}'}, "rows are numbered from 0"),
        ({"devices": '{"0":"Healthy"}', "linkType": '[["N-A","SYS"]]'}, "linkType isn't 1 x 1"),
        ({"devices": '{"0":"Healthy"}', "bandwith": "[[1],[2]]"}, "bandwith isn't 1 x 1"),
        ({"devices": "{", "linkType": '[["N-A"]]'}, "linkType isn't 0 x 0"),
    ],
)
def test_a_config_map_that_arena_would_print_wrong_is_a_fault(
    data: dict[str, str], fault: str
) -> None:
    (found,) = arena.faults(arena.read(foreign("any", **data)))
    assert fault in found


def test_arena_takes_any_health_but_healthy_for_unhealthy() -> None:
    told = json.dumps({"0": "Healthy", "1": "healthy", "2": "Unhealthy"})
    assert arena.read(foreign("any", devices=told)).healthy == {"0": True, "1": False, "2": False}
