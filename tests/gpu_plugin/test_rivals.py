"""Another plugin that hands out the same cards is found by name and by id."""

from typing import Any

import pytest

from numa_agent.core.gpu_plugin import healthy, held_elsewhere, rivals
from numa_agent.core.podresources import parse_pod_resources

OURS = "aliyun.com/gpu"
IDS = ("GPU-0", "GPU-1")


def told(*devices: tuple[str, list[str]], pod: tuple[str, list[str]] | None = None) -> Any:
    listed = [{"resourceName": name, "deviceIds": ids} for name, ids in devices]
    held = [] if pod is None else [{"resourceName": pod[0], "deviceIds": pod[1]}]
    container = {"name": "c", "devices": held}
    pods = [{"name": "p", "namespace": "ml", "containers": [container]}]
    return parse_pod_resources(
        {"list": {"podResources": pods}, "allocatable": {"devices": listed}}
    )


@pytest.mark.parametrize(
    "devices",
    [
        (),
        ((OURS, ["GPU-0"]),),
        (("nvidia.com/gpu", []),),
        (("example.com/card", ["GPU-10", "GPU-1a"]),),
        (("nvidia.com/mig-1g.10gb", ["MIG-1"]), ("rdma/hca", ["mlx5_0"])),
    ],
)
def test_nobody_else_is_no_rival(devices: tuple[tuple[str, list[str]], ...]) -> None:
    node = {OURS: 8, "nvidia.com/gpu": 0, "nvidia.com/mig-1g.10gb": 1, "cpu": 1000}
    assert rivals(OURS, IDS, told(*devices), node) == ()
    assert rivals(OURS, IDS, None, {}) == ()


@pytest.mark.parametrize(
    "device",
    [
        ("nvidia.com/gpu", ["7"]),
        ("nvidia.com/gpu.shared", ["GPU-9::0"]),
        ("example.com/card", ["GPU-1"]),
        ("example.com/share", ["GPU-5", "GPU-1::3"]),
        ("aliyun.com/gpu-mem", ["x"]),
        ("example.com/slice", ["GPU-1-0"]),
        ("example.com/slice", ["GPU-1_3"]),
    ],
)
def test_the_same_cards_by_another_name_are_a_rival(device: tuple[str, list[str]]) -> None:
    (sentence,) = rivals(OURS, IDS, told(device), {})
    assert sentence.startswith(f"{device[0]} is handed out on this node too")
    assert "remove the other plugin" in sentence
    assert "gpuPlugin: off" in sentence


def test_the_node_s_allocatable_tells_too_and_each_rival_is_told_once() -> None:
    node = {"nvidia.com/gpu": 8, "aliyun.com/gpu-mem": 640}
    found = rivals(OURS, IDS, told(("nvidia.com/gpu", ["GPU-0"])), node)
    assert [each.split()[0] for each in found] == ["aliyun.com/gpu-mem", "nvidia.com/gpu"]
    assert "the Node's allocatable has 640 of it" in found[0]
    assert "GPU-0 among them" in found[1]


def test_our_own_resource_by_another_name_is_none() -> None:
    assert rivals("nvidia.com/gpu", IDS, told(("nvidia.com/gpu", ["GPU-0"])), {}) == ()
    assert rivals("nvidia.com/gpu", IDS, None, {"aliyun.com/gpu": 8}) != ()


def test_cards_that_a_pod_holds_by_another_resource_are_named_with_the_pod() -> None:
    held = held_elsewhere(OURS, IDS, told(pod=("nvidia.com/gpu", ["GPU-0", "GPU-1::2"])))
    assert held == {
        "GPU-0": "pod ml/p holds it as nvidia.com/gpu",
        "GPU-1": "pod ml/p holds it as nvidia.com/gpu",
    }
    assert held_elsewhere(OURS, IDS, told(pod=(OURS, ["GPU-0"]))) == {}
    assert held_elsewhere(OURS, IDS, None) == {}
    assert held_elsewhere(OURS, IDS, told(pod=("x.y/z", ["GPU-10", "GPU-7"]))) == {}


def test_a_share_of_a_card_by_our_own_resource_is_held_by_another_plugin() -> None:
    """NVIDIA's plugin with time slicing, replaced under the name nvidia.com/gpu."""
    name = "nvidia.com/gpu"
    held = held_elsewhere(name, IDS, told(pod=(name, ["GPU-1::2"])))
    assert held == {"GPU-1": f"pod ml/p holds it as {name}"}


def test_a_device_of_ours_that_no_card_can_be_stops_all_of_them() -> None:
    """A plugin that numbers its cards, replaced under the same name."""
    (sentence,) = rivals(OURS, IDS, told(pod=(OURS, ["nvidia0"])), {})
    assert "pod ml/p holds 'nvidia0' of aliyun.com/gpu" in sentence
    assert rivals(OURS, IDS, told(pod=(OURS, ["GPU-of-a-card-that-went"])), {}) == ()
    assert rivals(OURS, IDS, told(pod=("rdma/hca", ["mlx5_0"])), {}) == ()


def test_our_own_resource_is_another_plugin_s_while_nobody_of_us_serves_it() -> None:
    for ids in (["GPU-0"], ["nvidia0"]):
        (sentence,) = rivals(OURS, IDS, told((OURS, ids)), {OURS: 1}, ours_served=False)
        assert sentence.startswith("another plugin hands out aliyun.com/gpu on this node")
        assert healthy(OURS, told((OURS, ids)))
    assert rivals(OURS, IDS, told((OURS, [])), {OURS: 8}, ours_served=False) == ()
    assert not healthy(OURS, told((OURS, []), ("x.y/z", ["a"])))
    assert not healthy(OURS, None)
