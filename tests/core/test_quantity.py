"""Kubernetes' quantities, exactly."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core import quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("+3", 3),
        ("-1", -1),
        ("100m", Fraction(1, 10)),
        ("1.5Gi", 3 << 29),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("2e3", 2000),
        ("2E3", 2000),
        ("1e-2", Fraction(1, 100)),
        ("3E", 3 * 10**18),
        ("7Ei", 7 << 60),
        ("250u", Fraction(250, 10**6)),
        ("9n", Fraction(9, 10**9)),
        ("12k", 12000),
    ],
)
def test_a_quantity_is_the_exact_number(text: str, number: Fraction) -> None:
    assert quantity.parse(text) == number


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "Gi", "1GB", "1K", "0x10", "1e", "1e1e1", "--1", "1Gi2", "1,5", "٣"]
)
def test_what_is_no_quantity_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity") as caught:
        quantity.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [("cpu", "1", 1000), ("cpu", "1m", 1), ("cpu", "100u", 1), ("memory", "1.5", 2)],
)
def test_amounts_are_rounded_up_in_the_resources_unit(
    resource: str, text: str, amount: int
) -> None:
    assert quantity.amount(resource, text) == amount


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (1, "1"), (1024, "1Ki"), (1536, "1536"), (3 << 29, "1536Mi"), (64 << 30, "64Gi")],
)
def test_bytes_are_written_with_the_largest_unit_that_divides_them(number: int, text: str) -> None:
    assert quantity.binary(number) == text


@given(st.integers(0, 1 << 70))
def test_a_byte_count_comes_back_from_its_text(number: int) -> None:
    assert quantity.whole(quantity.binary(number)) == number


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(quantity.whole(text), int)
