"""The spellings of lists that kernels take."""

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core import cpulist
from tests.kernel.lists import ListParser

OLD = ListParser(bits=8, words=False)
NEW = ListParser(bits=8, words=True)


@given(st.frozensets(st.integers(0, 7)))
def test_what_the_product_renders_means_the_same_to_every_kernel(cpus: frozenset[int]) -> None:
    assert OLD.parse(cpulist.render(cpus)) == NEW.parse(cpulist.render(cpus)) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        (",", set()),
        (" 2 ", {2}),
        ("1 2", {1, 2}),
        ("1,,2", {1, 2}),
        ("3,1-2", {1, 2, 3}),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("0-7:0/1", set()),
        # A line end ends the list, but only right behind an id.
        ("1\n2", {1}),
        ("1 \n2", {1, 2}),
    ],
)
def test_every_kernel_takes(text: str, cpus: set[int]) -> None:
    assert OLD.parse(text) == NEW.parse(text) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("all", set(range(8))), ("ALL", set(range(8))), ("5-N", {5, 6, 7}), ("all:1/4", {0, 4})],
)
def test_words_are_taken_by_newer_kernels_only(text: str, cpus: set[int]) -> None:
    assert NEW.parse(text) == cpus
    with pytest.raises(OSError, match="Invalid argument"):
        OLD.parse(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("three", errno.EINVAL),
        ("3-1", errno.EINVAL),
        ("-1", errno.EINVAL),
        ("1-", errno.EINVAL),
        ("0-3:2", errno.EINVAL),
        ("0-3:5/4", errno.EINVAL),
        ("0-7:1/0", errno.EINVAL),
        ("8", errno.ERANGE),
        ("0-8", errno.ERANGE),
        ("4294967294", errno.ERANGE),
        ("4294967295", errno.EINVAL),
        ("4294967296", errno.EOVERFLOW),
        ("9" * 10000, errno.EOVERFLOW),
    ],
)
def test_every_kernel_refuses(text: str, number: int) -> None:
    for parser in (OLD, NEW):
        with pytest.raises(OSError, match=os.strerror(number)):
            parser.parse(text)
