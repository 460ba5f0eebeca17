"""One value for a PCI address, however it is spelled."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.pci import PciAddress

ADDRESSES = st.builds(
    PciAddress,
    domain=st.integers(0, 0xFFFF) | st.integers(0, 0xFFFFFFFF),
    bus=st.integers(0, 0xFF),
    device=st.integers(0, 0x1F),
    function=st.integers(0, 7),
)


# Case 21: NVML's spelling, sysfs's and a domain of more than four digits.
@pytest.mark.parametrize(
    ("text", "address", "sysfs"),
    [
        ("0000:3b:00.0", PciAddress(0, 0x3B, 0, 0), "0000:3b:00.0"),
        ("00000000:3B:00.0", PciAddress(0, 0x3B, 0, 0), "0000:3b:00.0"),
        ("3b:00.0", PciAddress(0, 0x3B, 0, 0), "0000:3b:00.0"),
        ("0009:01:00.0", PciAddress(9, 1, 0, 0), "0009:01:00.0"),
        ("10000:e1:1f.7", PciAddress(0x10000, 0xE1, 0x1F, 7), "10000:e1:1f.7"),
        ("00010000:E1:1F.7", PciAddress(0x10000, 0xE1, 0x1F, 7), "10000:e1:1f.7"),
        ("ffffffff:ff:1f.7", PciAddress(0xFFFFFFFF, 0xFF, 0x1F, 7), "ffffffff:ff:1f.7"),
    ],
)
def test_each_spelling_gives_one_address(text: str, address: PciAddress, sysfs: str) -> None:
    assert PciAddress.parse(text) == address
    assert str(address) == sysfs


@pytest.mark.parametrize(
    "text",
    [
        *("", "0000:3b:00", "0000:3b:00.8", "0000:3b:20.0", "0000:3b:00.00", "0000:3b:0.0"),
        *("000:3b:00.0", "000000000:3b:00.0", "0000:3bb:00.0", "0000:3g:00.0", ":3b:00.0"),
        *(" 0000:3b:00.0", "0000:3b:00.0\n", "0000-3b-00.0", "0000:3b:00:0", "-000:3b:00.0"),
        *("0x00:3b:00.0", "pcieport", "0000:3b:00.0/..", "0000:3b:00.٣"),
    ],
)
def test_any_other_text_is_refused_and_shown(text: str) -> None:
    with pytest.raises(ValueError, match="not a PCI address") as caught:
        PciAddress.parse(text)
    assert repr(text) in str(caught.value)


@settings(deadline=None)
@given(ADDRESSES)
def test_an_address_written_in_sysfs_s_or_nvml_s_way_is_read_again(address: PciAddress) -> None:
    nvml = f"{address.domain:08X}:{address.bus:02X}:{address.device:02X}.{address.function}"
    assert PciAddress.parse(str(address)) == address
    assert PciAddress.parse(nvml) == address
    assert PciAddress.parse(str(PciAddress.parse(nvml))) == address


@settings(deadline=None)
@given(ADDRESSES, ADDRESSES)
def test_two_addresses_have_two_spellings(one: PciAddress, other: PciAddress) -> None:
    assert (str(one) == str(other)) == (one == other)


def test_addresses_are_in_the_kernel_s_order_and_not_in_that_of_their_texts() -> None:
    texts = ["0002:00:00.0", "0000:10:00.1", "10000:00:00.0", "0000:10:00.0", "0000:09:1f.0"]
    assert [str(address) for address in sorted(map(PciAddress.parse, texts))] == [
        "0000:09:1f.0",
        "0000:10:00.0",
        "0000:10:00.1",
        "0002:00:00.0",
        "10000:00:00.0",
    ]
