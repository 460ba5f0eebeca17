"""The kernel's texts for CPU sets: what is read, what is refused, what is written."""

import pytest

from numa_agent.core.cpulist import (
    MAX_ID,
    MAX_LENGTH,
    CpuListError,
    in_several,
    parse,
    parse_mask,
    render,
)


# Case 36: single, range, stride, group; an empty file is the empty set.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("\n", []),
        ("  \t", []),
        ("0", [0]),
        ("0,1", [0, 1]),
        ("0-1", [0, 1]),
        ("0-2,8", [0, 1, 2, 8]),
        ("3,1-2\n", [1, 2, 3]),
        (" 2 ", [2]),
        ("0-2,1-3,2", [0, 1, 2, 3]),
        ("5-5", [5]),
        ("15,21-22,34", [15, 21, 22, 34]),
        ("0-62:2", range(0, 63, 2)),
        ("1-61:4", range(1, 62, 4)),
        ("0-31:2/4", [n for n in range(32) if n % 4 < 2]),
        ("8-15:1/8", [8]),
        ("2-9:3/3", range(2, 10)),
        ("0-7:2/4,16", [0, 1, 4, 5, 16]),
        (f"{MAX_ID}", [MAX_ID]),
    ],
)
def test_a_kernel_list_names_its_ids(text: str, ids: list[int]) -> None:
    assert parse(text) == frozenset(ids)


@pytest.mark.parametrize(
    "text",
    [
        *("-1", "-", "1-", "-1-2", "0--1", "1-2-3"),
        *("3-1", "0-3,9-8"),
        *("all", "ALL", "none", "N/A", "0x1", "1.5", "1e3", "+1", "1_0"),
        *("1,,2", "1,", ",1", ",", "1 2", "0-3 ,4", "0- 3", "0\n1", "0\x001"),
        *("1:2", "0-3:", "0-3:0", "0-3:0/4", "0-3:1/0", "0-3:3/2", "0-3:-1", "0-3:1/2/3"),
        *("0-3:2/", "0-3:/2", "0-3:a/b", "0-3:1:2"),
        # Digits to str.isdigit or to int, and none to the kernel: Arabic 3, superscript 2.
        *("\u0663", "0-\u0663", "\u00b2", "0-\u00b2"),
    ],
)
def test_any_other_text_is_refused_whole_and_shown(text: str) -> None:
    with pytest.raises(CpuListError) as caught:
        parse(text)
    shown = repr(text)[1:-1]
    assert shown in str(caught.value)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [f"{MAX_ID + 1}", "0-4294967295", "0-65536:2", "4294967296", "9" * 5000, "0-" + "9" * 5000],
)
def test_an_id_that_no_linux_has_is_refused_without_costing_memory(text: str) -> None:
    with pytest.raises(CpuListError, match=f"more than {MAX_ID}") as caught:
        parse(text)
    assert len(str(caught.value)) < 300


def test_a_text_that_is_too_long_is_refused_and_not_shown_whole() -> None:
    longest = "1," * (MAX_LENGTH // 2 - 1) + "11"
    assert len(longest) == MAX_LENGTH
    assert parse(longest) == {1, 11}
    with pytest.raises(CpuListError, match=f"more than {MAX_LENGTH}") as caught:
        parse(f"{longest}1")
    assert len(str(caught.value)) < 300


def test_the_message_names_the_part_that_is_wrong() -> None:
    with pytest.raises(CpuListError, match=r"'0-3,x-y,9' \(at 'x'\)"):
        parse("0-3,x-y,9")
    with pytest.raises(CpuListError, match="reversed range '9-8' in CPU list '0-3,9-8'"):
        parse("0-3,9-8")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0", []),
        ("00000000,00000000", []),
        ("1", [0]),
        ("ff\n", range(8)),
        ("FF", range(8)),
        ("0f0", [4, 5, 6, 7]),
        ("00000001,80000000", [31, 32]),
        ("ff,00000000", range(32, 40)),
        ("80000000,00000000,00000000", [95]),
    ],
)
def test_a_kernel_mask_names_the_ids_of_its_bits(text: str, ids: list[int]) -> None:
    assert parse_mask(text) == frozenset(ids)


@pytest.mark.parametrize(
    "text",
    ["", "g", "0x1", "1,", ",1", "1,2", "1,0000000", "1,000000000", "123456789", "-1", "1 2", "٣"],
)
def test_any_other_text_is_no_mask(text: str) -> None:
    with pytest.raises(CpuListError, match="not a CPU mask"):
        parse_mask(text)


@pytest.mark.timeout(10)
def test_a_mask_beyond_any_linux_is_refused() -> None:
    words = (MAX_ID + 1) // 32
    assert parse_mask("80000000" + ",00000000" * (words - 1)) == {MAX_ID}
    with pytest.raises(CpuListError, match=f"names id {MAX_ID + 1}: more than {MAX_ID}"):
        parse_mask("1" + ",00000000" * words)
    with pytest.raises(CpuListError, match=f"more than {MAX_LENGTH}"):
        parse_mask("1" + ",00000000" * (MAX_LENGTH // 9 + 1))


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        ([0], "0"),
        ([0, 1], "0-1"),
        ([8, 1, 0, 2], "0-2,8"),
        ([0, 2, 4], "0,2,4"),
        ([5, 6, 9, 10, 11], "5-6,9-11"),
    ],
)
def test_a_set_is_written_ascending_and_as_short_as_can_be(ids: list[int], text: str) -> None:
    assert render(frozenset(ids)) == text


@pytest.mark.timeout(5)
@pytest.mark.parametrize("text", ["0-65535," * 8191 + "0", "0-65535:1/1," * 4000 + "0"])
def test_ranges_that_overlap_again_and_again_are_refused_at_once(text: str) -> None:
    with pytest.raises(CpuListError, match=r"again and again|characters"):
        parse(text)


@pytest.mark.parametrize("text", ["\u00a00-3", "0-3\u2003"])
def test_only_the_spaces_that_the_kernel_skips_are_skipped(text: str) -> None:
    assert parse(" 0-3\t\n") == frozenset(range(4))
    with pytest.raises(CpuListError):
        parse(text)


def test_a_cpu_named_twice_is_rendered_once() -> None:
    assert render([1, 1, 2]) == "1-2"


def test_cpus_in_several_sets_are_those_of_two_or_more() -> None:
    assert in_several([parse("0-2"), parse("2-4"), parse("2,4,6")]) == parse("2,4")
    assert in_several([parse("0-1"), parse("2")]) == frozenset()
