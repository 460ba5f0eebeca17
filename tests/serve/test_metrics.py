"""The last pass and the counts since the start, in Prometheus' words."""

from dataclasses import replace

import pytest

from numa_agent.core.conditions import Condition
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Publication, Report, Times, Write
from numa_agent.core.view import Json
from numa_agent.serve.metrics import MOST_CONTAINERS, MOST_SERIES, Metrics
from tests.core.test_report import GOOD, STEP, WRITE
from tests.machine_tree import TWO_NODES, cpus, pci_device
from tests.serve.reports import FULL, Clock, Samples, account, board, gpu, proof, said, samples

GPU = "nvidia.com/gpu"
TOPOLOGY: Json = {"kind": "NodeResourceTopology"}


def of(found: Samples, name: str) -> dict[tuple[str, ...], float]:
    """The samples of one name that aren't 0, by their labels' values."""
    return {key[1:]: value for key, value in found.items() if key[0] == name and value}


def published(outcome: Outcome) -> Published:
    return Published(outcome=outcome, detail="")


def test_before_the_first_pass_only_the_process_is_told_of() -> None:
    found = samples(board())
    assert found["numa_agent_ready",] == 0
    assert found["numa_agent_passes_total", "good"] == 0
    assert found["process_resident_memory_bytes",] > 1e6
    assert not [key for key in found if key[0] == "numa_agent_cpus"]
    assert ("numa_agent_last_pass_timestamp_seconds",) not in found


def test_zones_are_told_whatever_the_language_publishes() -> None:
    found = said(FULL)
    capacity = of(found, "numa_agent_zone_capacity")
    assert capacity == {
        ("0", "cpu"): 4,
        ("0", "memory"): 1 << 30,
        ("1", "cpu"): 4,
        ("1", GPU): 1,
    }
    assert found["numa_agent_zone_allocatable", "0", "memory"] == 1 << 29
    assert found["numa_agent_zone_available", "1", GPU] == 0
    assert found["numa_agent_zone_available", "1", "cpu"] == 2


def test_nodes_and_gpus_are_counted_with_and_without_a_known_place() -> None:
    found = said(FULL)
    assert of(found, "numa_agent_numa_nodes") == {("cpu",): 2}
    assert of(found, "numa_agent_gpus") == {
        ("unknown", "1"): 1,
        ("unknown", "several"): 1,
        ("unknown", "unknown"): 1,
    }
    assert of(found, "numa_agent_map_warnings") == {("gpu-lost",): 1}


def test_cpus_are_counted_by_use() -> None:
    report = replace(FULL, kubelet_exclusive=cpus("2"), reserved=cpus("0,3"))
    assert of(said(replace(report, bindings=FULL.bindings[:1])), "numa_agent_cpus") == {
        ("0", "own"): 2,
        ("0", "kubelet"): 1,
        ("0", "reserved"): 1,
        ("1", "isolated"): 1,
        ("1", "shared"): 3,
    }


def test_cpus_without_a_node_have_a_place_that_says_so() -> None:
    homeless = replace(TWO_NODES, nodes=TWO_NODES.nodes[:1])
    assert said(replace(GOOD, topology=homeless))["numa_agent_cpus", "unknown", "shared"] == 4


def test_bindings_are_in_force_failing_or_waiting() -> None:
    found = of(said(FULL), "numa_agent_bindings")
    assert found == {("in-force",): 1, ("failing",): 2, ("waiting",): 1}


def test_every_verdict_is_told_even_where_no_container_has_it() -> None:
    found = said(FULL)
    name = "numa_agent_containers"
    assert {key[1]: found[key] for key in found if key[0] == name} == {
        "aligned": 1,
        "split": 0,
        "remote": 1,
        "unknown": 1,
    }


def test_a_quota_below_the_own_cpus_is_counted_and_one_as_large_not() -> None:
    assert said(FULL)["numa_agent_containers_quota_below_cpus",] == 1


def test_what_is_not_bound_is_told_by_code() -> None:
    found = said(FULL)
    assert of(found, "numa_agent_assignments_refused") == {("malformed",): 1}
    assert of(found, "numa_agent_pods_left_alone") == {("opted-out",): 1}
    assert found["numa_agent_pods_left_out",] == 1
    assert found["numa_agent_failures",] == 2
    assert found["numa_agent_binding_possible",] == 1
    assert said(replace(FULL, looked=False))["numa_agent_binding_possible",] == 0


def test_drift_is_counted_by_its_likely_writer() -> None:
    found = said(GOOD)
    assert found["numa_agent_drift_total", "systemd"] == 2
    assert found["numa_agent_drift_total", "kubelet-static"] == 0


def test_writes_are_counted_in_passes_and_between_them() -> None:
    told = board()
    mems = replace(WRITE, step=replace(STEP, file="mems"))
    told.passed(replace(GOOD, writes=(WRITE, mems)))
    told.wrote([WRITE, Write(step=STEP, error="EBUSY")])
    assert of(samples(told), "numa_agent_cpuset_writes_total") == {
        ("cpus", "taken"): 2,
        ("cpus", "refused"): 1,
        ("mems", "taken"): 1,
    }


def test_the_wait_for_cpus_is_a_histogram() -> None:
    clock = Clock()
    told = board(clock)
    lacking = replace(FULL.proofs[0], verdict=proof(1, "0-1", "0-7").verdict)
    report = replace(FULL, bindings=FULL.bindings[:1], writes=(), proofs=(lacking,))
    told.passed(report)
    clock.now += 500  # for the API server, say: nobody waited for that
    times = Times(began=1028.0, bound=1029.5, ended=1500.0)
    told.passed(replace(report, proofs=FULL.proofs[:1], times=times))
    found = samples(told)
    name = "numa_agent_binding_latency_seconds"
    assert found[f"{name}_count",] == 1
    assert found[f"{name}_sum",] == 30.5
    assert found[f"{name}_bucket", "15.0"] == 0
    assert found[f"{name}_bucket", "60.0"] == 1
    assert found[f"{name}_bucket", "+Inf"] == 1


def test_what_is_bound_between_passes_is_timed_from_the_beat() -> None:
    clock = Clock()
    told = board(clock)
    told.passed(replace(GOOD, bindings=FULL.bindings[:1], writes=(), proofs=()))
    clock.now += 20
    told.beat()
    clock.now += 0.125
    told.wrote([WRITE])
    assert samples(told)["numa_agent_binding_latency_seconds_sum",] == 0.125


def test_passes_are_counted_by_outcome_and_timed() -> None:
    told = board()
    told.failed("no map")
    told.passed(replace(GOOD, times=Times(began=1.0, bound=1.25, ended=1.5)))
    told.passed(GOOD)
    told.passed(FULL)
    found = samples(told)
    assert of(found, "numa_agent_passes_total") == {("good",): 2, ("faulty",): 1, ("failed",): 1}
    assert found["numa_agent_pass_duration_seconds_count",] == 2
    assert found["numa_agent_pass_duration_seconds_sum",] == 1.5
    assert found["numa_agent_last_pass_timestamp_seconds",] == 1_767_225_600
    assert found["numa_agent_ready",] == 1


def test_a_source_is_as_old_as_at_the_scrape_and_one_that_never_answered_has_no_age() -> None:
    clock = Clock()
    told = board(clock)
    told.passed(FULL)
    clock.now += 12
    found = samples(told)
    assert found["numa_agent_source_age_seconds", "pods"] == 12
    assert found["numa_agent_source_age_seconds", "node"] == 42
    assert ("numa_agent_source_age_seconds", "podresources") not in found
    assert of(found, "numa_agent_source_failing") == {("node",): 1, ("podresources",): 1}
    assert found["numa_agent_source_failing", "pods"] == 0


def test_errors_are_counted_by_source_over_passes() -> None:
    told = board()
    told.passed(FULL)
    told.passed(FULL)
    found = samples(told)
    assert found["numa_agent_source_errors_total", "node"] == 2
    assert found["numa_agent_source_errors_total", "pods"] == 0


def test_conditions_are_counted_by_code() -> None:
    found = said(FULL)
    assert found["numa_agent_conditions", "policy-differs"] == 2
    assert found["numa_agent_extended_resource_unplaced", GPU] == 1
    assert ("numa_agent_extended_resource_unplaced", GPU) not in said(GOOD)


def test_tries_to_publish_are_counted_by_outcome() -> None:
    told = board()
    for outcome in (Outcome.CREATED, Outcome.UNAVAILABLE, Outcome.UNAVAILABLE):
        told.tried(TOPOLOGY, published(outcome))
    told.tried({"kind": "Device"}, None)
    found = samples(told)
    assert of(found, "numa_agent_publications_total") == {
        ("NodeResourceTopology", "created"): 1,
        ("NodeResourceTopology", "unavailable"): 2,
    }
    assert found["numa_agent_publications_total", "NodeResourceTopology", "forbidden"] == 0


@pytest.mark.parametrize(
    ("outcome", "age"),
    [
        (Outcome.CREATED, 5),
        (Outcome.CHANGED, 5),
        (Outcome.UNCHANGED, 5),
        (Outcome.STOOD_BACK, 65),
        (Outcome.FORBIDDEN, 65),
        (Outcome.UNAVAILABLE, 65),
    ],
)
def test_the_server_was_last_seen_to_hold_it_when_a_try_went_well(
    outcome: Outcome, age: float
) -> None:
    clock = Clock()
    told = board(clock)
    told.tried(TOPOLOGY, published(Outcome.UNAVAILABLE))
    clock.now += 60
    told.tried(TOPOLOGY, published(outcome))
    clock.now += 5
    found = samples(told)
    assert found["numa_agent_publish_age_seconds", "NodeResourceTopology"] == age


def test_what_it_is_is_told() -> None:
    ((labels, value),) = of(samples(board()), "numa_agent_build_info").items()
    assert value == 1
    assert labels[1] == "ack"


def test_no_container_has_a_series_unless_asked_for() -> None:
    assert not [key for key in said(FULL) if key[0].startswith("numa_agent_container_")]


def test_each_container_has_its_verdict_and_cpus_where_asked_for() -> None:
    told = board()
    assert samples(told, per_container=True)["numa_agent_series_left_out",] == 0
    told.passed(FULL)
    found = samples(told, per_container=True)
    assert of(found, "numa_agent_container_verdict") == {
        ("c1", "shop", "p1", "aligned"): 1,
        ("c2", "shop", "p2", "remote"): 1,
        ("c3", "shop", "p3", "unknown"): 1,
    }
    assert of(found, "numa_agent_container_cpus") == {
        ("c1", "shop", "p1"): 2,
        ("c2", "shop", "p2"): 3,
    }
    assert found["numa_agent_series_left_out",] == 0


def test_no_more_containers_have_series_than_a_bound() -> None:
    told = board()
    seen = proof(1, "0-1", "0-1")
    proofs = tuple(
        replace(seen, container=replace(seen.container, name=f"c{number:04}"))
        for number in range(MOST_CONTAINERS + 7)
    )
    told.passed(replace(FULL, proofs=(*proofs, proof(2, "0-1", None))))
    found = samples(told, per_container=True)
    for name in ("numa_agent_container_verdict", "numa_agent_container_cpus"):
        assert len(of(found, name)) == MOST_CONTAINERS
    assert found["numa_agent_series_left_out",] == 2 * 7 + 1


def test_no_name_from_outside_makes_more_series_than_a_bound() -> None:
    many = {f"example.com/r{number}": (1, 1, 1) for number in range(MOST_SERIES + 3)}
    found = said(replace(GOOD, accounts=(account(0, **many),)))
    assert len(of(found, "numa_agent_zone_capacity")) == MOST_SERIES
    assert found["numa_agent_series_left_out",] == 3 * 3


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\ud800", "é", "x" * 100_000, ""])
def test_a_name_that_nobody_should_have_costs_nothing_else(name: str) -> None:
    condition = Condition(code="extended-resource-unplaced", subject=name, message="m")
    found = said(replace(GOOD, conditions=(condition,)))
    ((labels, value),) = of(found, "numa_agent_extended_resource_unplaced").items()
    assert value == 1
    assert len(labels[0]) <= 253


@pytest.mark.parametrize("names", [(GPU, GPU), ("\ud800", "?"), ("x" * 253, "x" * 254)])
def test_two_names_that_are_sent_alike_make_one_series(names: tuple[str, str]) -> None:
    conditions = tuple(
        Condition(code="extended-resource-unplaced", subject=name, message=str(number))
        for number, name in enumerate(names)
    )
    told = board()
    told.passed(replace(GOOD, conditions=conditions))
    (family,) = [
        each
        for each in Metrics(told).collect()
        if each.name == "numa_agent_extended_resource_unplaced"
    ]
    assert len(family.samples) == 1


@pytest.mark.parametrize(
    "report", [GOOD, FULL, replace(GOOD, topology=replace(TWO_NODES, nodes=()))]
)
def test_no_series_is_there_twice(report: Report) -> None:
    told = board()
    told.passed(report)
    told.tried(TOPOLOGY, published(Outcome.CREATED))
    keys = [
        (sample.name, *sorted(sample.labels.items()))
        for family in Metrics(told, per_container=True).collect()
        for sample in family.samples
    ]
    assert len(keys) == len(set(keys))


def test_a_gpu_on_a_node_is_told_there() -> None:
    topology = replace(
        TWO_NODES,
        gpus=tuple(
            gpu(f"0000:0{number}:00.0", pci_device(f"0000:0{number}:00.0", node=0, nodes=(0,)))
            for number in range(8)
        ),
    )
    assert of(said(replace(GOOD, topology=topology)), "numa_agent_gpus") == {("unknown", "0"): 8}


def test_an_object_that_nobody_is_sent_is_no_try() -> None:
    told = board()
    told.passed(replace(GOOD, publications=(Publication(manifest=TOPOLOGY, published=None),)))
    assert not of(samples(told), "numa_agent_publications_total")
