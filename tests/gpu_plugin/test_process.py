"""`numa-agent gpu-plugin` as a process: real gRPC, and a fake driver below the real binding."""

import time
from pathlib import Path

import pytest

from tests.gpu_plugin.node import Node, running
from tests.host.deviceplugin.kubelet import envs, eventually, kubelet

RESOURCE = "aliyun.com/gpu"
ENDS_SECONDS = 20.0
"""Half a second, and what a busy computer adds; the driver hangs for a minute."""
OTHERS_PLUGIN = {
    "list": {},
    "allocatable": {"devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": ["0", "1"]}]},
}


def test_a_pod_gets_cards_of_one_node_and_a_card_that_fails_is_given_to_nobody(
    node: Node, library: Path
) -> None:
    with node.granting(), kubelet(node.plugins) as known, running(node, library) as process:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        assert known.nodes(RESOURCE) == {name: [index // 4] for index, name in enumerate(node.ids)}
        chosen, answer = known.admit(RESOURCE, 4, node=1)
        assert chosen == node.ids[4:]
        assert envs(answer) == {"NVIDIA_VISIBLE_DEVICES": ",".join(node.ids[4:])}
        # An application's fault is none of the card's; a critical error is.
        node.driver("event.0 0 1 8 31", "event.1 0 2 8 48")
        eventually(lambda: node.ids[2] not in known.healthy(RESOURCE))
        assert known.healthy(RESOURCE) == {*node.ids} - {node.ids[2]}
        assert f"({node.ids[2]}): it reported XID 48" in process.said()
        # Who fell off the bus is told by the map, which the event has read anew.
        node.lose(5)
        node.driver("event.0 0 1 8 31", "event.1 0 2 8 48", "event.2 0 5 8 79")
        eventually(lambda: len(known.healthy(RESOURCE)) == 6)
        eventually(lambda: f"({node.ids[5]}): it fell off the bus" in process.said())
        assert {*known.devices[RESOURCE]} == {*node.ids}
        began = time.monotonic()
        assert process.end() == 0
        assert time.monotonic() - began < ENDS_SECONDS
        # On a busy computer its end is cut short, which it says; kubelet knows by the connection.
        if "ended in the middle" not in process.said():
            assert not [*node.plugins.glob("numa-agent-*")]
        eventually(lambda: not known.healthy(RESOURCE))


def test_a_driver_that_hangs_holds_up_neither_kubelet_nor_the_end(
    node: Node, library: Path
) -> None:
    with node.granting(), running(node, library) as process:
        with kubelet(node.plugins) as known:
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
            node.driver("hang 0 60")
            time.sleep(1.5)
        with kubelet(node.plugins) as known:
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
            assert known.admit(RESOURCE, 2)[0] == node.ids[:2]
            began = time.monotonic()
            assert process.end() == 0
            assert time.monotonic() - began < ENDS_SECONDS


def test_the_driver_s_wish_for_a_reset_takes_the_card_out_until_it_is_met(
    node: Node, library: Path
) -> None:
    node.driver("3.recovery_action 0 1")
    with node.granting(), kubelet(node.plugins) as known, running(node, library) as process:
        eventually(lambda: known.healthy(RESOURCE) == {*node.ids} - {node.ids[3]})
        assert "the driver wants a reset of the GPU" in process.said()
        # Any event has it asked anew; one of an application has no other effect.
        node.driver("3.recovery_action 0 0", "event.0 0 0 8 13")
        eventually(lambda: known.healthy(RESOURCE) == {*node.ids})
        assert f"({node.ids[3]}): is well again" in process.said()


def test_beside_another_plugin_it_ends_and_says_what_to_do(node: Node, library: Path) -> None:
    with node.granting(OTHERS_PLUGIN), kubelet(node.plugins) as known:
        with running(node, library) as process:
            assert process.process.wait(60) == 2
        assert "nvidia.com/gpu is handed out on this node too" in process.said()
        assert "remove the other plugin from this node" in process.said()
        assert not known.registered


def test_it_isn_t_registered_before_somebody_tells_of_other_plugins(
    node: Node, library: Path
) -> None:
    with kubelet(node.plugins) as known, running(node, library) as process:
        unknown = "isn't known whether another plugin hands out the cards"
        eventually(lambda: unknown in process.said())
        assert not known.registered
        with node.granting():
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)


def test_a_second_one_is_refused(node: Node, library: Path) -> None:
    with node.granting(), kubelet(node.plugins) as known, running(node, library):
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        with running(node, library) as second:
            assert second.process.wait(60) == 2
            assert "another numa-agent offers this node's cards" in second.said()
        assert len(known.healthy(RESOURCE)) == 8


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "example.com/a_b.c"])
def test_the_resource_may_have_another_name(resource: str, node: Node, library: Path) -> None:
    with (
        node.granting(),
        kubelet(node.plugins) as known,
        running(node, library, gpuResource=resource),
    ):
        eventually(lambda: len(known.healthy(resource)) == 8)
