"""What the texts of settings say, as kernels print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from numa_agent.core.doctor.texts import chosen, lock_holders, name, nohz_full, swap_bytes, words
from tests.machine_tree import cpus


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("always [madvise] never", "madvise"),
        ("[always] madvise never", "always"),
        ("always defer [defer+madvise] madvise never", "defer+madvise"),
    ],
)
def test_the_choice_is_the_word_in_brackets(text: str, choice: str) -> None:
    assert chosen(text) == choice


@pytest.mark.parametrize("text", ["", "always madvise never", "[]", "[a b]", "always [never"])
def test_a_list_without_a_choice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no choice is marked"):
        chosen(text)


def test_swap_is_told_in_kilobytes() -> None:
    meminfo = "MemTotal:  100 kB\nSwapCached:  7 kB\nSwapTotal:       2097148 kB\nSwapFree: 1 kB\n"
    assert swap_bytes(meminfo) == 2097148 * 1024
    assert swap_bytes("SwapTotal: 0 kB") == 0
    with pytest.raises(ValueError, match="SwapTotal"):
        swap_bytes("SwapTotal: much kB\nXSwapTotal: 1 kB\n")


@pytest.mark.parametrize(
    ("text", "found"), [("(null)", ""), (" (null)", ""), ("", ""), ("2-3,6", "2-3,6")]
)
def test_no_cpus_are_a_null_in_brackets(text: str, found: str) -> None:
    assert nohz_full(text) == cpus(found)


LOCKS = """\
1: FLOCK  ADVISORY  WRITE 25611 fe:00:12373035 0 EOF
2: OFDLCK ADVISORY  WRITE -1 fe:00:7 0 EOF
3: POSIX  ADVISORY  WRITE 12 fe:00:8 0 EOF
4: FLOCK  ADVISORY  READ 13 fe:00:9 0 EOF
5: FLOCK  ADVISORY  WRITE 14 00:1a:10 0 EOF
5: -> FLOCK  ADVISORY  WRITE 15 00:1a:11 0 EOF
"""


def test_a_file_is_held_by_who_has_its_flock_alone_and_not_by_who_waits() -> None:
    assert lock_holders(LOCKS) == {12373035: 25611, 10: 14}


@pytest.mark.parametrize("text", ["schedutil", " amd-pstate-epp", "cpu-partitioning a.b\n"])
def test_a_name_is_taken(text: str) -> None:
    assert name(text) == text.strip()


@pytest.mark.parametrize("text", ["", " ", "\x1b[2J", "a\nb", "a" * 129, "/etc", "é"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        name(text)


@given(some.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    lock_holders(text)
    words(text)
    for parse in (chosen, swap_bytes, nohz_full, name):
        try:
            parse(text)
        except ValueError:
            continue
