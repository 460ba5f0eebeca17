"""What a churn's figures count, on timelines that are known."""

from collections.abc import Sequence

import pytest

from benchmarks.churn.accounting import Binding, Figures, account, at
from benchmarks.churn.timeline import Birth, Container, Sample, Wish, containers

POD = "a"
SANDBOX = Sample(1.0, POD, "sandbox", "0-7")
OWN = Wish(0.0, "2-3", "0")


def timeline(
    *changes: tuple[float, str | None],
    born: str = "0-7",
    wishes: Sequence[Wish] = (OWN,),
    writes: Sequence[float] = (),
    mems: str = "0-1",
) -> list[Container]:
    """One container, born at 10.0; the kernel's sets at moments, the first before its birth."""
    samples = [SANDBOX, *(Sample(moment, POD, "app", cpus) for moment, cpus in changes)]
    births = [Birth(10.0, POD, born, mems)]
    return containers(births, samples, {POD: wishes}, {POD: writes}, end=50.0)


def figures(
    *changes: tuple[float, str | None],
    born: str = "0-7",
    wishes: Sequence[Wish] = (OWN,),
    writes: Sequence[float] = (),
) -> Figures:
    return account(timeline(*changes, born=born, wishes=wishes, writes=writes))


def test_born_inside_is_bound_at_once_and_never_outside() -> None:
    found = figures((9.0, "2-3"), (30.0, None), born="2-3")
    assert found.bindings == [Binding("start", 0.0, bound=True)]
    assert (found.born, found.born_inside) == (1, 1)
    assert (found.own_seconds, found.outside_seconds) == (20.0, 0.0)


def test_bound_later_counts_from_its_first_process() -> None:
    found = figures((9.0, "0-7"), (14.5, "2-3"), (30.0, None))
    assert found.bindings == [Binding("start", 4.5, bound=True)]
    assert (found.born, found.born_inside) == (1, 0)
    assert (found.own_seconds, found.outside_seconds) == (20.0, 4.5)


def test_never_bound_is_told_apart() -> None:
    found = figures((9.0, "0-7"), (12.0, None))
    assert found.bindings == [Binding("start", 2.0, bound=False)]
    assert found.outside_seconds == found.own_seconds == 2.0


def test_less_than_its_cpus_is_inside() -> None:
    assert figures((9.0, "3"), (30.0, None), born="3").outside_seconds == 0.0


def test_another_wrong_set_in_between_is_the_same_wait() -> None:
    found = figures((9.0, "0-7"), (12.0, "0-5"), (16.0, "2-3"), (30.0, None))
    assert found.bindings == [Binding("start", 6.0, bound=True)]


def test_what_its_process_said_counts_before_the_next_look() -> None:
    late = figures((10.4, "0-7"), (14.0, "2-3"), (30.0, None))
    assert late.bindings == [Binding("start", 4.0, bound=True)]
    assert late.own_seconds == 20.0


def test_an_assignment_counts_from_when_it_was_made() -> None:
    found = figures((9.0, "0-7"), (21.5, "2-3"), (30.0, None), wishes=[Wish(20.0, "2-3")])
    assert found.bindings == [Binding("assignment", 1.5, bound=True)]
    assert (found.born, found.own_seconds, found.outside_seconds) == (0, 10.0, 1.5)


def test_other_cpus_end_the_wait_for_the_first() -> None:
    wishes = [OWN, Wish(20.0, "4")]
    found = figures((9.0, "0-7"), (22.0, "4"), (30.0, None), wishes=wishes)
    assert found.bindings == [
        Binding("start", 10.0, bound=False),
        Binding("assignment", 2.0, bound=True),
    ]
    assert (found.own_seconds, found.outside_seconds) == (20.0, 12.0)


@pytest.mark.parametrize("seen", [20.0, 20.02])
def test_a_foreign_write_counts_until_the_set_is_back(seen: float) -> None:
    changes = ((9.0, "2-3"), (seen, "0-7"), (26.0, "2-3"), (30.0, None))
    found = figures(*changes, born="2-3", writes=[20.0])
    assert found.bindings == [
        Binding("start", 0.0, bound=True),
        Binding("foreign write", 6.0, bound=True),
    ]


def test_what_somebody_else_does_later_is_not_its_start() -> None:
    found = figures((9.0, "2-3"), (20.0, "0-7"), (26.0, "2-3"), (30.0, None), born="2-3")
    assert found.bindings == [Binding("start", 0.0, bound=True)]
    assert found.outside_seconds == 6.0


def test_a_foreign_write_that_changes_nothing_costs_nothing() -> None:
    found = figures((9.0, "2-3"), (30.0, None), born="2-3", writes=[20.0])
    assert found.bindings[-1] == Binding("foreign write", 0.0, bound=True)


def test_a_container_that_is_still_there_ends_with_the_churn() -> None:
    assert figures((9.0, "2-3"), born="2-3").own_seconds == 40.0


def test_containers_are_told_apart_by_the_order_of_their_births() -> None:
    samples = [
        SANDBOX,
        Sample(9.0, POD, "first", "2-3"),
        Sample(15.0, POD, "first", None),
        Sample(16.0, POD, "second", "0-7"),
        Sample(30.0, POD, "second", None),
    ]
    births = [Birth(17.0, POD, "0-7", "0-1"), Birth(10.0, POD, "2-3", "0")]
    first, second = containers(births, samples, {POD: [OWN]}, {}, end=50.0)
    assert [(each.birth.at, each.end) for each in (first, second)] == [(10.0, 15.0), (17.0, 30.0)]
    assert [each.born_inside() for each in (first, second)] == [True, False]
    assert [each.born_on_its_memory() for each in (first, second)] == [True, False]


def test_a_container_that_nobody_saw_is_an_error() -> None:
    with pytest.raises(LookupError, match="1 containers, 0 cgroups"):
        containers([Birth(10.0, POD, "0-7", "0-1")], [SANDBOX], {}, {}, end=50.0)


def test_memory_counts_where_it_was_told_before_the_birth() -> None:
    [container] = timeline((9.0, "0-7"), wishes=[Wish(20.0, "2-3", "0")])
    assert container.born_on_its_memory() is None
    [container] = timeline((9.0, "0-7"), wishes=[Wish(0.0, "2-3")])
    assert container.born_on_its_memory() is None


def test_others_count_while_they_may_use_assigned_cpus() -> None:
    samples = [
        Sample(1.0, POD, "sandbox", "0-7"),
        Sample(9.0, POD, "app", "2-3"),
        Sample(30.0, POD, "app", None),
        Sample(1.0, "b", "sandbox", "0-7"),
        Sample(2.0, "b", "app", "0-7"),
        Sample(14.0, "b", "app", "0-1,4-7"),
        Sample(40.0, "b", "app", None),
    ]
    births = [Birth(10.0, POD, "2-3", "0"), Birth(5.0, "b", "0-7", "0-1")]
    found = account(containers(births, samples, {POD: [OWN]}, {}, end=50.0))
    assert found.shared_seconds == 35.0
    assert found.intruding_seconds == 4.0
    assert found.outside_seconds == 0.0


def test_percentiles_are_values_that_were_there() -> None:
    values = [float(each) for each in range(1, 101)]
    assert [at(values, percent) for percent in (50, 99, 100)] == [50.0, 99.0, 100.0]
    assert at([7.0], 99) == 7.0
    assert at([], 50) == 0.0
