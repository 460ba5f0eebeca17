"""Laws of the CPU list's and mask's texts, over sets and texts that nobody thought of."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.cpulist import MAX_ID, CpuListError, CpuSet, parse, parse_mask, render

SETS = st.frozensets(st.integers(0, 300) | st.integers(0, MAX_ID), max_size=80)
SMALL = st.integers(0, 200)


def mask_of(cpus: CpuSet) -> str:
    """The kernel's bitmap of a set, 32 bits a word."""
    words = []
    for word in range(max(cpus, default=0) // 32, -1, -1):
        bits = sum(1 << bit for bit in range(32) if word * 32 + bit in cpus)
        words.append(f"{bits:08x}")
    return ",".join(words)


@st.composite
def elements(draw: st.DrawFn) -> tuple[str, set[int]]:
    """One element of a kernel list and, counted out, the ids that it names."""
    first = draw(SMALL)
    last = draw(st.integers(first, 250))
    group = draw(st.integers(1, 40))
    used = draw(st.integers(1, group))
    starts = range(first, last + 1, group)
    taken = {start + offset for start in starts for offset in range(used)}
    forms: list[tuple[str, set[int]]] = [
        (f"{first}", {first}),
        (f"{first}-{last}", {*range(first, last + 1)}),
        (f"{first}-{last}:{group}", {*starts}),
        (f"{first}-{last}:{used}/{group}", {cpu for cpu in taken if cpu <= last}),
    ]
    return forms[draw(st.integers(0, 3))]


@settings(deadline=None)
@given(SETS)
def test_a_set_written_and_read_again_is_the_same_set(cpus: CpuSet) -> None:
    assert parse(render(cpus)) == cpus


@settings(deadline=None)
@given(SETS)
def test_a_written_set_has_no_two_ranges_that_could_be_one(cpus: CpuSet) -> None:
    text = render(cpus)
    ends = [element.split("-") for element in text.split(",")] if text else []
    assert all(int(after[0]) > int(before[-1]) + 1 for before, after in pairwise(ends))


@settings(deadline=None)
@given(st.lists(elements(), min_size=1, max_size=6))
def test_a_list_names_what_its_elements_name(listed: list[tuple[str, set[int]]]) -> None:
    text = ",".join(element for element, _ in listed)
    assert parse(text) == set().union(*(ids for _, ids in listed))


@settings(deadline=None)
@given(SETS)
def test_list_and_mask_of_a_set_say_the_same(cpus: CpuSet) -> None:
    assert parse_mask(mask_of(cpus)) == parse(render(cpus))


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=30) | st.text(alphabet="0123456789-,:/ax \n", max_size=30))
def test_a_text_is_a_set_of_possible_ids_or_is_refused(text: str) -> None:
    for read in (parse, parse_mask):
        try:
            cpus = read(text)
        except CpuListError:
            continue
        assert all(0 <= cpu <= MAX_ID for cpu in cpus)
