"""How long pods wait for their CPUs, told by a clock that the test turns."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from numa_agent.core.binding_latency import MOST, BindingLatency
from numa_agent.core.pods import Pod
from numa_agent.core.report import Binding, Proof, Report, Write
from tests.core.test_report import GOOD, STEP
from tests.machine_tree import cpus, pod
from tests.verdicts import verdict as judged

CPUS = cpus("0-3")


def bound(*pods: Pod) -> tuple[Binding, ...]:
    return tuple(Binding(pod=each, cpus=CPUS) for each in pods)


def write(of: Pod, error: str | None = None, file: str = "cpus") -> Write:
    step = replace(STEP, pod=of.full_name, file="cpus" if file == "cpus" else "mems")
    return Write(step=step, error=error)


def proof(of: Pod, effective: str | None = "0-3") -> Proof:
    seen = None if effective is None else cpus(effective)
    return Proof(pod=of, container=of.containers[0], verdict=judged(CPUS, seen))


def report(*pods: Pod, writes: tuple[Write, ...] = (), proofs: tuple[Proof, ...] = ()) -> Report:
    return replace(GOOD, bindings=bound(*pods), writes=writes, proofs=proofs)


def count(latency: BindingLatency) -> int:
    return latency.histogram.cumulative[-1]


def test_a_pod_is_timed_from_the_start_of_the_pass_that_bound_it() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1), writes=(write(pod(1)),)), 10.0, 10.25)
    assert count(latency) == 1
    assert latency.histogram.total == 0.25


def test_a_pod_that_had_its_cpus_when_it_was_first_seen_is_not_timed() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1), proofs=(proof(pod(1)),)), 10.0, 11.0)
    latency.saw(report(pod(1), writes=(write(pod(1)),), proofs=(proof(pod(1)),)), 50.0, 51.0)
    assert count(latency) == 0


def test_a_write_that_fails_keeps_it_waiting() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1), writes=(write(pod(1), "EBUSY"),)), 10.0, 11.0)
    assert count(latency) == 0
    latency.wrote([write(pod(1), "EBUSY")], 20.0, 20.5)
    assert count(latency) == 0
    latency.wrote([write(pod(1))], 40.0, 40.5)
    assert latency.histogram.total == 30.5


def test_a_set_that_is_not_in_force_keeps_it_waiting() -> None:
    latency = BindingLatency()
    for seen, moment in (("0-7", 10.0), ("0-1", 40.0), (None, 70.0)):
        proofs = (proof(pod(1), seen),)
        latency.saw(report(pod(1), writes=(write(pod(1)),), proofs=proofs), moment, moment + 1)
    assert count(latency) == 0
    latency.saw(report(pod(1), proofs=(proof(pod(1)),)), 100.0, 101.0)
    assert latency.histogram.total == 91.0


def test_one_container_of_two_that_lacks_its_cpus_keeps_the_pod_waiting() -> None:
    latency = BindingLatency()
    proofs = (proof(pod(1)), proof(pod(1), "0-7"))
    latency.saw(report(pod(1), proofs=proofs), 10.0, 11.0)
    assert count(latency) == 0


def test_a_pod_bound_between_passes_is_timed_from_the_wake_up() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1)), 10.0, 11.0)
    latency.wrote([write(pod(1))], 20.0, 20.003)
    assert count(latency) == 1
    assert latency.histogram.cumulative[0] == 1


def test_each_pod_is_timed_once_and_one_of_the_same_name_anew() -> None:
    latency = BindingLatency()
    for moment in (10.0, 50.0):
        latency.saw(report(pod(1), writes=(write(pod(1)),)), moment, moment + 1)
    assert count(latency) == 1
    successor = replace(pod(1), uid="another")
    latency.saw(report(successor, writes=(write(successor),)), 90.0, 91.0)
    assert count(latency) == 2


def test_memory_nodes_and_pods_that_share_cpus_do_not_count() -> None:
    latency = BindingLatency()
    writes = (write(pod(1), file="mems"), write(pod(2)))
    latency.saw(report(pod(1), writes=writes, proofs=(proof(pod(3)),)), 10.0, 11.0)
    assert count(latency) == 0


def test_a_pass_that_could_not_look_forgets_nobody() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1), writes=(write(pod(1), "EBUSY"),)), 10.0, 11.0)
    latency.saw(replace(report(), looked=False), 20.0, 21.0)
    latency.wrote([write(pod(1))], 30.0, 30.0)
    assert latency.histogram.total == 20.0


def test_a_pod_that_goes_is_forgotten() -> None:
    latency = BindingLatency()
    latency.saw(report(pod(1), writes=(write(pod(1), "EBUSY"),)), 10.0, 11.0)
    latency.saw(report(), 20.0, 21.0)
    latency.wrote([write(pod(1))], 30.0, 30.0)
    assert count(latency) == 0


@given(
    some.lists(
        some.tuples(some.sets(some.integers(0, 9)), some.sets(some.integers(0, 9))), max_size=20
    )
)
def test_no_churn_makes_it_remember_who_is_gone(churn: list[tuple[set[int], set[int]]]) -> None:
    latency = BindingLatency()
    for moment, (there, failing) in enumerate(churn):
        pods = [pod(number) for number in sorted(there)]
        writes = tuple(
            write(each, "EBUSY" if number in failing else None)
            for number, each in zip(sorted(there), pods, strict=True)
        )
        latency.saw(report(*pods, writes=writes), moment, moment + 0.5)
        assert remembered(latency) <= len(pods)
    assert count(latency) <= sum(len(there) for there, _ in churn)


def test_what_it_remembers_is_bounded() -> None:
    latency = BindingLatency()
    pods = [replace(pod(1), name=f"p{number}", uid=str(number)) for number in range(MOST + 50)]
    latency.saw(report(*pods, writes=tuple(map(write, pods))), 10.0, 11.0)
    assert count(latency) == MOST
    assert remembered(latency) == MOST


def remembered(latency: BindingLatency) -> int:
    return len(latency._since) + len(latency._done)
