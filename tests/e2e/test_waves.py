"""What counts as a pod that was moved, and as a node that is in order."""

from numa_agent.core.cpulist import CpuSet
from tests.e2e.watching import Change
from tests.e2e.waves import moved

OWN: dict[str, CpuSet | int] = {"a": frozenset({2, 3}), "b": 1}


def seen(*changes: tuple[str, str | None]) -> list[Change]:
    return [
        Change(at=float(number), late=0.1, group=group, cpus=cpus)
        for number, (group, cpus) in enumerate(changes)
    ]


def test_a_pod_that_runs_on_shared_cpus_before_it_has_its_own_was_not_moved() -> None:
    changes = seen(
        ("burstable/poda", "0-7"),
        ("burstable/poda/sandbox", "0-7"),
        ("burstable/poda", "2-3"),
        ("burstable/poda", None),
        ("podb", "0-1,4-7"),
        ("podb", "2"),
        ("besteffort/podc", "0-7"),
        ("besteffort/podc", "0-1,4-7"),
    )
    assert moved(changes, OWN) == []


def test_a_pod_that_had_its_cpus_and_has_others_was_moved() -> None:
    [told] = moved(seen(("poda", "2-3"), ("poda", "2-4"), ("poda", "2-3")), OWN)
    assert "2-4" in told
    assert "it had 2-3" in told


def test_two_pods_never_have_one_cpu_for_themselves() -> None:
    [told] = moved(seen(("poda", "2-3"), ("podb", "3")), OWN)
    assert told.endswith("a has some of them")


def test_who_came_after_a_pod_had_gone_may_have_its_cpus() -> None:
    assert moved(seen(("poda", "2-3"), ("poda", None), ("podb", "3")), OWN) == []
