"""Pseudonyms: one for each name, in the names' order, of the form that the name's kind has."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core import cpulist, quantity
from numa_agent.core.pci import PciAddress
from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Kind, Names

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
HEX = {Kind.UUID, Kind.CONTAINER_ID}
TEXTS = st.lists(st.text(max_size=12), max_size=40)


def settled(kind: Kind, *texts: str, keep: bool = False, key: bytes = b"key") -> Names:
    names = Names(key, keep=keep)
    for text in texts:
        names.of(kind, text)
    names.settle()
    return names


@given(TEXTS, st.sampled_from(list(Kind)))
def test_pseudonyms_are_in_the_names_order_and_each_is_one_name_s(
    texts: list[str], kind: Kind
) -> None:
    names = settled(kind, *texts)
    shown = {text: names.of(kind, text) for text in sorted(set(texts))}
    assert list(shown.values()) == sorted(set(shown.values()))
    assert len(shown) == len(set(texts))
    assert {names.originals[pseudonym] for pseudonym in shown.values()} == set(texts)


@given(TEXTS)
def test_names_of_two_kinds_share_no_pseudonym(texts: list[str]) -> None:
    names = Names(b"key")
    found = [names.of(kind, text) for kind in Kind for text in texts]
    names.settle()
    found = [names.of(kind, text) for kind in set(Kind) - HEX for text in set(texts)]
    assert len(found) == len(set(found))


def test_none_is_part_of_another_of_its_kind() -> None:
    texts = [f"n{number}" for number in range(1200)]
    names = settled(Kind.POD, *texts)
    shown = [names.of(Kind.POD, text) for text in texts]
    assert len({len(each) for each in shown}) == 1


@pytest.mark.parametrize(
    "uid",
    [
        "275ef510-9903-477e-8b7c-66bbd1930b1f",
        "275ef5109903477e8b7c66bbd1930b1f",
    ],
)
def test_a_uid_s_pseudonym_is_a_uid(uid: str) -> None:
    names = settled(Kind.UUID, uid)
    assert re.sub("[0-9a-f]", "0", names.of(Kind.UUID, uid)) == re.sub("[0-9a-f]", "0", uid)
    assert names.of(Kind.UUID, uid) != uid


def test_a_uid_in_a_cgroup_s_name_is_that_of_its_pod() -> None:
    uid = "275ef510-9903-477e-8b7c-66bbd1930b1f"
    names = Names(b"key")
    words.uuid(names, uid)
    names.settle()
    assert words.uuid(names, uid.replace("-", "_")) == words.uuid(names, uid).replace("-", "_")


@pytest.mark.parametrize("kind", sorted(set(Kind) - HEX - {Kind.WORD}))
def test_a_name_s_pseudonym_is_a_name_that_kubernetes_takes(kind: Kind) -> None:
    assert LABEL.fullmatch(settled(kind, "x").of(kind, "x"))


def test_an_interface_s_pseudonym_is_no_longer_than_an_interface_s_name_may_be() -> None:
    assert len(settled(Kind.INTERFACE, "x").of(Kind.INTERFACE, "x")) <= 15


@pytest.mark.parametrize(
    "parse", [cpulist.parse, cpulist.parse_mask, quantity.parse, PciAddress.parse, int]
)
def test_what_stands_for_any_text_can_be_read_as_nothing(parse: object) -> None:
    shown = settled(Kind.WORD, "x").word("x")
    assert LABEL.fullmatch(shown) is None
    assert callable(parse)
    with pytest.raises(ValueError, match=r".*"):
        parse(shown)


def test_a_name_that_comes_later_comes_behind() -> None:
    names = settled(Kind.POD, "b", "d")
    assert names.of(Kind.POD, "a") > names.of(Kind.POD, "d") > names.of(Kind.POD, "b")
    assert names.of(Kind.POD, "a") == names.of(Kind.POD, "a")


def test_another_key_gives_other_pseudonyms() -> None:
    one, other = settled(Kind.POD, "a"), settled(Kind.POD, "a", key=b"other")
    assert one.of(Kind.POD, "a") != other.of(Kind.POD, "a")


def test_kept_names_stay_and_none_is_remembered() -> None:
    names = settled(Kind.POD, "a", keep=True)
    assert names.of(Kind.POD, "a") == "a"
    assert names.originals == {}


NAME = st.from_regex(r"[a-y][a-y0-9.-]{0,6}", fullmatch=True)


@given(st.sets(NAME, max_size=12), st.sets(NAME, max_size=12), st.sampled_from(list(Kind)))
def test_pseudonyms_are_in_their_names_order_among_names_that_are_kept(
    hidden: set[str], kept: set[str], kind: Kind
) -> None:
    names = Names(b"key")
    for text in hidden - kept:
        names.of(kind, text)
    for text in kept:
        names.known(kind, text)
    names.settle()
    # A name that goes on with the kept one before it may have no place between that and the next.
    fair = {text for text in hidden - kept if not any(text.startswith(each) for each in kept)}
    shown = {text: text if text in kept else names.of(kind, text) for text in fair | kept}
    if kind not in HEX:
        assert [shown[text] for text in sorted(shown)] == sorted(shown.values())
    assert len(set(shown.values())) == len(shown)


@pytest.mark.parametrize(
    ("shown", "texts"),
    [
        (
            words.resource,
            [
                *("acme.io/fpga", "amd.com/gpu", "amd.com/xpu-of-acme", "cpu", "dev.example/a"),
                *("hugepages-2Mi", "ibm.example/x", "memory", "nvidia.com/acme", "nvidia.com/gpu"),
                *("nvidia.com/mig-1g.10gb", "nvidia.com/mig-2acme", "nvidia.com/mig-3g.40gb"),
                "zeta.example/nic",
            ],
        ),
        (
            words.interface,
            ["acme0", "enp1s0f1", "ens", "ens1f0np0", "eth0", "eth0.100", "eth1", "ethx", "zz0"],
        ),
    ],
)
def test_resources_and_interfaces_are_listed_in_the_same_order(
    shown: Callable[[Names, str], str], texts: list[str]
) -> None:
    names = Names(b"key")
    for text in texts:
        shown(names, text)
    names.settle()
    assert texts == sorted(texts)
    found = [shown(names, text) for text in texts]
    assert found == sorted(found)
    assert not {each for each in found if "acme" in each or "zz" in each}
    assert [each.startswith("hugepages-") for each in found] == [
        each.startswith("hugepages-") for each in texts
    ]
