"""Cards ail by the map, by events and by the driver's wish, and are well again after each."""

from dataclasses import replace

import pytest

from numa_agent.core.gpu_plugin import Health, Offer, Xid
from numa_agent.core.gpu_plugin.cards import MUTE
from numa_agent.core.gpu_plugin.health import APPLICATION_XIDS
from tests.host.deviceplugin.scene import card


def cards(**ailments: str) -> Offer:
    listed = tuple(card(index, ailment=ailments.get(f"gpu{index}")) for index in range(3))
    return Offer(cards=listed, placed=True)


ALL_WELL = cards()


def ailing(health: Health, offer: Offer, now: float, **advice: str) -> set[str]:
    return {*health.ailments(offer, now, {key.replace("_", "-"): v for key, v in advice.items()})}


@pytest.mark.parametrize("number", [*range(1, 160)])
def test_only_errors_of_the_card_itself_count(number: int) -> None:
    health = Health()
    counts = health.hear(Xid("GPU-1", number), ALL_WELL, 0.0)
    assert counts is (number not in {13, 31, 43, 45, 68, 109})
    assert ailing(health, ALL_WELL, 0.0) == ({"GPU-1"} if counts else set())
    assert {13, 31, 43, 45, 68, 109} == APPLICATION_XIDS


def test_a_card_that_stays_quiet_is_well_again_and_each_error_begins_anew() -> None:
    health = Health(quiet_seconds=300)
    health.hear(Xid("GPU-1", 48), ALL_WELL, 0.0)
    assert ailing(health, ALL_WELL, 299.0) == {"GPU-1"}
    health.hear(Xid("GPU-1", 63), ALL_WELL, 299.0)
    assert "XID 63" in health.ailments(ALL_WELL, 301.0)["GPU-1"]
    assert ailing(health, ALL_WELL, 599.0) == set()
    assert ailing(health, ALL_WELL, 10_000.0) == set()


def test_an_error_of_no_card_known_is_every_card_s() -> None:
    health = Health()
    health.hear(Xid(None, 79), ALL_WELL, 0.0)
    assert ailing(health, ALL_WELL, 1.0) == {"GPU-0", "GPU-1", "GPU-2"}
    other = Health()
    other.hear(Xid("GPU-9", 79), ALL_WELL, 0.0)
    assert ailing(other, ALL_WELL, 1.0) == set()


def test_a_lost_card_ails_at_once_and_is_well_as_soon_as_it_answers() -> None:
    health = Health()
    assert ailing(health, cards(gpu2="lost"), 0.0) == {"GPU-2"}
    assert ailing(health, ALL_WELL, 0.1) == set()


def test_a_card_is_what_it_was_while_its_driver_is_mute_for_a_while() -> None:
    health = Health(mute_seconds=60)
    mute = cards(gpu0=MUTE, gpu1=MUTE, gpu2=MUTE)
    assert ailing(health, cards(gpu2="lost"), 0.0) == {"GPU-2"}
    assert not health.waiting
    assert ailing(health, mute, 10.0) == {"GPU-2"}
    assert health.waiting
    assert ailing(health, mute, 69.0) == {"GPU-2"}
    assert ailing(health, mute, 70.0) == {"GPU-0", "GPU-1", "GPU-2"}
    assert ailing(health, ALL_WELL, 71.0) == set()
    assert ailing(health, mute, 130.0) == set()


def test_what_the_driver_wants_done_keeps_a_card_out_until_it_is() -> None:
    health = Health(quiet_seconds=300)
    health.hear(Xid("GPU-1", 95), ALL_WELL, 0.0)
    assert ailing(health, ALL_WELL, 400.0, GPU_1="reset it") == {"GPU-1"}
    assert ailing(health, ALL_WELL, 500.0) == set()


def test_nothing_is_kept_of_cards_that_are_offered_no_more() -> None:
    health = Health()
    health.hear(Xid("GPU-1", 48), ALL_WELL, 0.0)
    fewer = replace(ALL_WELL, cards=ALL_WELL.cards[:1])
    assert ailing(health, fewer, 1.0) == set()
    assert ailing(health, ALL_WELL, 2.0) == set()
