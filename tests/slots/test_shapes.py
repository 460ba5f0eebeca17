"""Which shapes are counted, and as what GPUs are."""

from dataclasses import replace

import pytest

from numa_agent.core.assigner.room import room_of
from numa_agent.core.assigner.values import Room
from numa_agent.core.cpusets import Inputs
from numa_agent.core.grants import DeviceGrant, Offer
from numa_agent.core.pod_keys import CPU_KIND
from numa_agent.core.pods import Pod
from numa_agent.core.shape import MOST_SHAPES, Shape
from numa_agent.core.slots import GpuRoom, Origin, gpu_resource, shapes_of
from tests.assigner.scene import GIB, SIXTEEN, asks, demand

TWO_EACH = GpuRoom(resource="aliyun.com/gpu", free={0: 0, 1: 2}, ever={0: 2, 1: 2})


def room() -> Room:
    return room_of(SIXTEEN, reserved=frozenset({0}), taken=frozenset(), holdings=())


def shapes(*pods: Pod, gpus: GpuRoom = TWO_EACH) -> tuple[list[str], Origin]:
    found = shapes_of((), Inputs(pods=pods, decisions={}, topology=SIXTEEN), room(), gpus)
    return [str(shape) for shape in found.shapes], found.origin


def with_memory(pod: Pod, size: int) -> Pod:
    own = pod.demands.containers[0]
    more = replace(own, requests={**own.requests, "memory": size})
    return replace(pod, demands=replace(pod.demands, containers=(more,)))


def test_named_ones_come_first_each_once_and_not_too_many() -> None:
    inputs = Inputs(pods=[asks(1, 2)], decisions={}, topology=SIXTEEN)
    named = [Shape(cpus=number) for number in (3, 3, *range(1, 20))]
    found = shapes_of(named, inputs, room(), TWO_EACH)
    assert found.shapes[:3] == (Shape(cpus=3), Shape(cpus=1), Shape(cpus=2))
    assert (len(found.shapes), found.origin) == (MOST_SHAPES, Origin.NAMED)


def test_pods_that_ask_or_have_whole_cpus_are_seen_with_the_most_memory_of_those_alike() -> None:
    found = shapes(
        with_memory(asks(1, 2, gpus=1), GIB),
        with_memory(asks(2, 2, gpus=1), 2 * GIB),
        asks(3, 4, policy=None, annotations={CPU_KIND: "core"}),
        asks(4, 3, policy=None, demands=[demand("c", 1500)]),
        replace(asks(5, 7), phase="Succeeded"),
    )
    assert found == (["2c1g2Gi", "4c"], Origin.SEEN)


def test_those_that_most_pods_have_are_kept() -> None:
    pods = [asks(number, number) for number in range(1, 13)]
    pods += [asks(20 + number, number) for number in range(1, 9)]
    assert shapes(*pods)[0] == [f"{number}c" for number in range(8, 0, -1)]


def test_without_any_they_are_fractions_of_the_smallest_node() -> None:
    assert shapes() == (["6c2g", "2c1g"], Origin.FRACTIONS)
    assert shapes(gpus=GpuRoom()) == (["6c", "2c", "1c"], Origin.FRACTIONS)
    empty = replace(room(), nodes=())
    inputs = Inputs(pods=(), decisions={}, topology=SIXTEEN)
    assert shapes_of((), inputs, empty, TWO_EACH).shapes == ()


def offer(**units: list[str]) -> Offer:
    names = {"nvidia": "nvidia.com/gpu", "ali": "aliyun.com/gpu", "nics": "rdma/hca", "x": "x/y"}
    return Offer(
        cpus=frozenset(),
        memory=(),
        devices=tuple(
            DeviceGrant(resource=names[name], ids=(each,), nodes=())
            for name, ids in units.items()
            for each in ids
        ),
    )


CARDS = ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]


@pytest.mark.parametrize(
    ("units", "name"),
    [
        ({"nvidia": CARDS, "nics": ["a", "b", "c", "d", "e"]}, "nvidia.com/gpu"),
        ({"x": CARDS}, "x/y"),
        ({"x": [str(gpu.device.address) for gpu in SIXTEEN.gpus]}, "x/y"),
        ({"nvidia": CARDS[:1], "ali": CARDS[1:]}, "aliyun.com/gpu"),
        ({"nvidia": CARDS, "ali": CARDS}, "aliyun.com/gpu"),
        ({"nvidia": ["GPU-0::0", "GPU-0::1"]}, "nvidia.com/gpu"),
        ({"nics": ["a"]}, None),
        ({}, None),
    ],
)
def test_gpus_are_known_by_their_units(units: dict[str, list[str]], name: str | None) -> None:
    assert gpu_resource(SIXTEEN, offer(**units)) == name
    assert gpu_resource(SIXTEEN, None) is None
