"""The operator's corrections: single addresses, ranges, and entries that can't be used."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.overrides import Overrides, parse
from numa_agent.core.pci import PciAddress

ADDRESSES = st.builds(
    PciAddress,
    domain=st.integers(0, 0x10001),
    bus=st.integers(0, 0xFF),
    device=st.integers(0, 0x1F),
    function=st.integers(0, 7),
)


def node_of(overrides: Overrides, text: str) -> int | None:
    found = overrides.of(PciAddress.parse(text))
    return None if found is None else found.node


def read(text: str) -> Overrides:
    return parse(yaml.safe_load(text))


def test_an_address_is_corrected_and_no_other() -> None:
    overrides = read('"0000:3b:00.0": 1')
    assert node_of(overrides, "0000:3b:00.0") == 1
    assert node_of(overrides, "0000:3b:00.1") is None
    assert node_of(overrides, "0001:3b:00.0") is None
    assert overrides.problems == ()


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("0000:80:00.0", 1),
        ("0000:80:00.1", 1),
        ("0000:a0:1f.7", 1),
        ("0000:ff:1f.7", 1),
        ("0000:7f:1f.7", None),
        ("0001:00:00.0", None),
    ],
)
def test_a_range_holds_both_of_its_ends_and_all_between(text: str, node: int | None) -> None:
    assert node_of(read('"0000:80:00.0-0000:ff:1f.7": 1'), text) == node


def test_a_range_may_cross_domains_and_have_spaces_around_the_dash() -> None:
    overrides = read('"000a:00:00.0 - 10000:ff:1f.7": 3')
    assert node_of(overrides, "0100:07:00.0") == 3
    assert node_of(overrides, "10000:e1:00.0") == 3


@pytest.mark.parametrize("spelled", ["0000:3B:00.0", "00000000:3b:00.0", "3b:00.0"])
def test_case_21_every_spelling_of_an_address_is_understood(spelled: str) -> None:
    assert node_of(parse({spelled: 1}), "0000:3b:00.0") == 1


def test_of_two_entries_that_fit_the_first_holds() -> None:
    narrow_first = read('"0000:3b:00.0": 1\n"0000:00:00.0-0000:ff:1f.7": 0')
    assert node_of(narrow_first, "0000:3b:00.0") == 1
    assert node_of(narrow_first, "0000:3c:00.0") == 0
    wide_first = read('"0000:00:00.0-0000:ff:1f.7": 0\n"0000:3b:00.0": 1')
    assert node_of(wide_first, "0000:3b:00.0") == 0


BAD = {
    "0000:3b:00.9": 1,
    "pcieport": 1,
    "0000:3b:00.0-": 1,
    "-0000:3b:00.0": 1,
    "0000:80:00.0-0000:3b:00.0": 1,
    "0000:3b:00.0-0000:3c:00.0-0000:3d:00.0": 1,
    "0000:3b:00.0": -1,
    "0000:3b:00.1": "+1",
    "0000:3b:00.6": "01",
    "0000:3b:00.7": "",
    "0000:3b:00.2": None,
    "0000:3b:00.3": True,
    "0000:3b:00.4": 1.0,
    "0000:3b:00.5": [0, 1],
    3600.0: 1,
    None: 1,
}


@pytest.mark.parametrize("key", BAD)
def test_a_bad_entry_is_named_and_costs_itself_alone(key: object) -> None:
    overrides = parse({"0000:01:00.0": 0, key: BAD[key], "0000:02:00.0": 1})
    (problem,) = overrides.problems
    assert problem.startswith(f"{key!r}: {BAD[key]!r}: ")
    assert node_of(overrides, "0000:01:00.0") == 0
    assert node_of(overrides, "0000:02:00.0") == 1
    assert len(overrides.entries) == 2


@pytest.mark.parametrize("node", [1, "1"])
def test_a_node_is_a_number_or_its_text(node: object) -> None:
    assert node_of(parse([("0000:3b:00.0", node)]), "0000:3b:00.0") == 1


@pytest.mark.parametrize("again", ["0000:3b:00.0", "3B:00.0", "0000:3b:00.0-0000:3b:00.0"])
def test_devices_that_are_there_twice_are_a_problem_and_the_first_holds(again: str) -> None:
    overrides = parse([("0000:3b:00.0", 1), (again, 0)])
    assert node_of(overrides, "0000:3b:00.0") == 1
    (problem,) = overrides.problems
    assert problem.startswith(f"{again!r}: 0: given more than once")


def test_all_bad_entries_are_named_in_the_file_s_order() -> None:
    overrides = parse(BAD)
    assert overrides.entries == ()
    assert [said.split(": ")[0] for said in overrides.problems] == [repr(key) for key in BAD]


def test_an_empty_file_corrects_nothing() -> None:
    assert parse({}) == Overrides()
    assert node_of(Overrides(), "0000:3b:00.0") is None


@settings(derandomize=True, deadline=None)
@given(ADDRESSES, ADDRESSES, ADDRESSES)
def test_a_range_fits_what_lies_between_its_ends(
    one: PciAddress, other: PciAddress, device: PciAddress
) -> None:
    low, high = sorted((one, other))
    overrides = parse({f"{low}-{high}": 2})
    assert (overrides.of(device) is not None) is (low <= device <= high)
    assert overrides.problems == ()


@settings(derandomize=True, deadline=None)
@given(st.dictionaries(st.text() | st.integers() | st.none(), st.integers() | st.text()))
def test_a_file_of_anything_gives_an_entry_or_a_problem_for_each(
    document: dict[object, object],
) -> None:
    overrides = parse(document)
    assert len(overrides.entries) + len(overrides.problems) == len(document)
