"""What Allocate answers by each way of handing cards out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.gpu_plugin import Grant, Handing, NotGrantedError, granted
from tests.host.deviceplugin.scene import card

CARDS = tuple(card(index) for index in range(4))
ALL_FILES = frozenset({f"nvidia{n}" for n in range(4)} | {"nvidiactl", "nvidia-uvm"})


def test_cards_are_named_in_index_order_each_once() -> None:
    grant = granted(CARDS, ["GPU-3", "GPU-0", "GPU-3"], Handing.ENV, ALL_FILES)
    assert grant == Grant(envs={"NVIDIA_VISIBLE_DEVICES": "GPU-0,GPU-3"})


def test_the_files_are_the_cards_own_and_those_of_the_driver_that_are_there() -> None:
    grant = granted(CARDS, ["GPU-2"], Handing.DEVICES, ALL_FILES)
    assert grant.devices == ("nvidia2", "nvidiactl", "nvidia-uvm")


@pytest.mark.parametrize(
    ("missing", "named"), [("nvidia2", "nvidia2"), ("nvidiactl", "nvidiactl")]
)
def test_a_file_that_is_missing_is_named(missing: str, named: str) -> None:
    with pytest.raises(NotGrantedError, match=rf"/dev/{named} isn't there: load NVIDIA's driver"):
        granted(CARDS, ["GPU-2"], Handing.DEVICES, ALL_FILES - {missing})
    assert granted(CARDS, ["GPU-2"], Handing.CDI, frozenset())


@pytest.mark.parametrize("handing", Handing)
def test_no_card_is_no_card_and_not_all_that_the_image_says(handing: Handing) -> None:
    assert granted(CARDS, [], handing, frozenset()) == Grant(
        envs={"NVIDIA_VISIBLE_DEVICES": "void"}
    )


@pytest.mark.parametrize("handing", Handing)
def test_unknown_and_ailing_cards_are_refused_whole(handing: Handing) -> None:
    cards = (*CARDS[:3], card(3, ailment="it fell off the bus"))
    for ids, why in ((["GPU-0", "GPU-7"], "old list"), (["GPU-0", "GPU-3"], "fell off")):
        with pytest.raises(NotGrantedError, match=why):
            granted(cards, ids, handing, ALL_FILES)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,94}[A-Za-z0-9]", fullmatch=True))
def test_an_annotation_s_key_is_one_whatever_the_uuid(uuid: str) -> None:
    from dataclasses import replace

    one = replace(card(0), id=uuid)
    (key,) = granted([one], [uuid], Handing.CDI_ANNOTATIONS, frozenset()).annotations
    prefix, _, name = key.partition("/")
    assert prefix == "cdi.k8s.io"
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,61}[A-Za-z0-9]", name)
