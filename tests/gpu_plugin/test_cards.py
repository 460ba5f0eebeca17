"""What a map has to offer: whole cards that are well known, with their nodes or without."""

from dataclasses import replace

import pytest

from numa_agent.core.gpu_plugin import Offer, closeness, offered
from numa_agent.core.gpu_plugin.cards import MUTE
from numa_agent.core.topology import Topology
from tests.gpu_plugin.machines import mute, topology_of, with_device, with_nvml
from tests.recorded import MACHINES


@pytest.fixture
def eight() -> Topology:
    return topology_of("two-socket-8gpu")


def why(offer: Offer) -> list[str]:
    return [left.why for left in offer.left_out]


def test_every_card_is_offered_by_its_uuid_with_its_node(eight: Topology) -> None:
    offer = offered(eight)
    assert [card.index for card in offer.cards] == [*range(8)]
    assert [card.node for card in offer.cards] == [0] * 4 + [1] * 4
    assert [card.minor for card in offer.cards] == [*range(8)]
    assert {card.id for card in offer.cards} == {gpu.nvml.uuid for gpu in eight.gpus if gpu.nvml}
    assert (offer.placed, offer.left_out, offer.conditions) == (True, (), ())


@pytest.mark.parametrize("machine", MACHINES, ids=lambda path: path.name)
def test_on_every_recorded_machine_all_cards_have_a_node_with_cpus_or_none_says_one(
    machine: "type[object]",
) -> None:
    topology = topology_of(machine.name)  # type: ignore[attr-defined]
    offer = offered(topology)
    with_cpus = {node.id for node in topology.cpu_nodes}
    if offer.placed:
        assert {card.node for card in offer.cards} <= with_cpus
    close = closeness(topology, offer.cards)
    for table in (close.nvlink, close.level, close.apart):
        assert [[*row] for row in table] == [[*column] for column in zip(*table, strict=True)]


def test_one_card_of_unknown_place_keeps_all_from_telling_theirs(eight: Topology) -> None:
    offer = offered(with_device(eight, 3, node=None, nodes=()))
    assert not offer.placed
    assert len(offer.cards) == 8
    (condition,) = offer.conditions
    assert condition.code == "gpu-topology-withheld"
    assert "0000:61:00.0 is unknown" in condition.message


def test_a_node_that_has_no_cpus_is_none_to_kubelet(eight: Topology) -> None:
    """Node 7 isn't there, and a memory-only node is none that CPUs are given from."""
    assert not offered(with_device(eight, 0, node=7)).placed
    nodes = (eight.nodes[0], replace(eight.nodes[1], cpus=frozenset(), kind=None))
    assert [card.node for card in offered(replace(eight, nodes=nodes)).cards][4:] == [None] * 4


def test_parts_of_cards_and_cards_of_guests_are_left_out(eight: Topology) -> None:
    assert why(offered(with_nvml(eight, 0, mig_mode=True))) == [
        "it is in MIG mode, so that it isn't whole"
    ]
    assert len(offered(with_nvml(eight, 0, mig_pending=True)).cards) == 8
    assert why(offered(with_device(eight, 1, driver="vfio-pci"))) == [
        "vfio-pci keeps it for a guest machine"
    ]
    assert why(offered(mute(eight))) == ["NVML doesn't know it"] * 8
    assert offered(with_device(eight, 2, vendor=0x1002)).left_out == ()


@pytest.mark.parametrize("uuid", ["", "a,b", "GPU-1\n", "x" * 97, "GPU 1", "-GPU", "GPU-é", "/x"])
def test_a_uuid_that_would_be_taken_for_several_or_for_something_else_is_none(
    uuid: str, eight: Topology
) -> None:
    offer = offered(with_nvml(eight, 0, uuid=uuid))
    assert len(offer.cards) == 7
    assert "is no UUID" in why(offer)[0]


def test_two_cards_of_one_uuid_are_one(eight: Topology) -> None:
    first = eight.gpus[0].nvml
    assert first is not None
    offer = offered(with_nvml(eight, 5, uuid=first.uuid))
    assert len(offer.cards) == 7
    assert "another card has its UUID" in why(offer)[0]


def test_a_lost_card_keeps_the_id_that_it_had_and_one_never_known_has_none(
    eight: Topology,
) -> None:
    gone = with_nvml(eight, 2, uuid=None, minor=None, name=None, lost=True)
    before = offered(eight)
    offer = offered(gone, before.cards)
    assert [card.id for card in offer.cards] == [card.id for card in before.cards]
    assert [card.index for card in offer.cards if card.ailment] == [2]
    assert "fell off the bus" in (offer.cards[2].ailment or "")
    assert offer.cards[2].minor == 2
    assert why(offered(gone)) == ["NVML doesn't tell its UUID"]
    assert offered(eight, offer.cards) == before


def test_cards_that_are_missing_stay_and_ail(eight: Topology) -> None:
    before = offered(eight)
    assert [card.ailment for card in offered(mute(eight), before.cards).cards] == [MUTE] * 8
    fewer = offered(replace(eight, gpus=eight.gpus[:7]), before.cards)
    assert [card.ailment for card in fewer.cards][7] == "it isn't on the PCI bus any more"
    assert offered(eight, fewer.cards) == before


def test_a_card_that_was_changed_for_another_is_a_new_one(eight: Topology) -> None:
    offer = offered(with_nvml(eight, 1, uuid="GPU-new"), offered(eight).cards)
    assert [card.id for card in offer.cards][1] == "GPU-new"
    assert len(offer.cards) == 8


def test_health_is_the_map_s(eight: Topology) -> None:
    offer = offered(with_nvml(eight, 4, errors=_errors("ResetRequired")))
    assert "wants it reset" in (offer.cards[4].ailment or "")


def _errors(*names: str) -> tuple[object, ...]:
    from numa_agent.core.nvml import NvmlError

    return tuple(NvmlError(call="uuid", argument=None, error=name) for name in names)
