"""The last pass in Prometheus' words, over a real socket."""

import socket
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from numa_agent.core.conditions import Condition
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report, SourceAge
from numa_agent.serve.metrics import ReportCollector, serve
from tests.core.test_report import GOOD

GPU = "nvidia.com/gpu"


def said(*reports: Report) -> dict[tuple[str, ...], float]:
    """The samples after these reports: name and label values, and the number."""
    collector = ReportCollector()
    for report in reports:
        collector.tell(report)
    registry = CollectorRegistry()
    registry.register(collector)
    return parsed(generate_latest(registry).decode())


def parsed(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_before_the_first_pass_nothing_is_said() -> None:
    assert said() == {}


def test_a_resource_that_is_left_out_of_every_zone_is_a_metric() -> None:
    left_out = Condition(code="extended-resource-unplaced", subject=GPU, message="m")
    other = Condition(code="policy-differs", subject="cpuManagerPolicy", message="m")
    found = said(replace(GOOD, conditions=(left_out, other, other)))
    assert found["numa_agent_extended_resource_unplaced", GPU] == 1
    assert found["numa_agent_conditions", "extended-resource-unplaced"] == 1
    assert found["numa_agent_conditions", "policy-differs"] == 2
    assert ("numa_agent_extended_resource_unplaced", GPU) not in said(GOOD)


def test_a_source_that_fails_has_an_age_and_one_that_never_answered_has_none() -> None:
    ages = (
        SourceAge(source="pods", age_seconds=30.0, error="down"),
        SourceAge(source="node", age_seconds=0.0, error=None),
        SourceAge(source="podresources", age_seconds=None, error="no socket"),
    )
    found = said(replace(GOOD, sources=ages))
    assert found["numa_agent_source_age_seconds", "pods"] == 30
    assert ("numa_agent_source_age_seconds", "podresources") not in found
    failing = {source: found["numa_agent_source_failing", source] for source in ("pods", "node")}
    assert failing == {"pods": 1, "node": 0}


def test_drift_is_counted_by_its_likely_writer() -> None:
    assert said(GOOD)["numa_agent_drift_total", "systemd"] == 2


def test_outcomes_are_counted_over_passes() -> None:
    name = "numa_agent_publications_total"
    assert said(GOOD, GOOD)[name, "NodeResourceTopology", "created"] == 2


def test_it_is_served_over_http_and_a_taken_port_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    collector = ReportCollector()
    collector.tell(GOOD)
    serve(collector, "127.0.0.1", port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert parsed(answer.read().decode())["numa_agent_source_failing", "pods"] == 0
    with pytest.raises(SourceError, match=f"can't serve metrics at 127.0.0.1:{port}"):
        serve(collector, "127.0.0.1", port)
