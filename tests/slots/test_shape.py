"""A shape as people write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.shape import Shape, parse_shape

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("24c4g256Gi", Shape(cpus=24, gpus=4, memory=256 << 30)),
        (" 8c ", Shape(cpus=8)),
        ("1g", Shape(gpus=1)),
        ("12c2g", Shape(cpus=12, gpus=2)),
        ("12c1.5Gi", Shape(cpus=12, memory=1536 * MIB)),
        ("2g10G", Shape(gpus=2, memory=9537 * MIB)),
        ("2g10000000k", Shape(gpus=2, memory=9537 * MIB)),
        ("2c0Gi", Shape(cpus=2)),
    ],
)
def test_cpus_gpus_and_memory_are_read(text: str, shape: Shape) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    "text",
    [
        *("", "8", "c", "g", "0c", "0g", "8c0g", "256Gi", "4g24c", "24c 4g", "24C4G", "-1c"),
        *(
            "1.5c",
            "24c4g256",
            "24c4gGi",
            "24c256Zi",
            "8c1000K",
            "123456c",
            "1c12345g",
            "8c\n4g",
            "٨c",
            "8c4g,",
        ),
        *("8c1..5Gi", "8c9999999999Gi", "x" * 10_000),
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no shape: write .* such as 24c4g256Gi") as refused:
        parse_shape(text)
    assert len(str(refused.value)) < 250


@given(
    st.builds(
        Shape,
        cpus=st.integers(1, 99_999),
        gpus=st.integers(0, 9999),
        memory=st.integers(0, 1 << 24).map(lambda mebibytes: mebibytes * MIB),
    )
)
def test_a_shape_is_written_as_it_is_read(shape: Shape) -> None:
    assert parse_shape(str(shape)) == shape


def test_memory_is_told_in_whole_mebibytes_rounded_up() -> None:
    assert str(Shape(cpus=1, memory=(256 << 30) - 1)) == "1c256Gi"
    assert str(Shape(gpus=2, memory=1)) == "2g1Mi"


def test_two_that_are_written_alike_are_one() -> None:
    # Each is a label of a metric.
    assert parse_shape("8c1Mi") == parse_shape("8c1000k") == parse_shape("8c0.5Mi")
