"""Whose word lends a pod's own CPUs to others: Koordinator's, where it schedules."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from numa_agent.agent import Ports
from numa_agent.agent.decisions import with_pods
from numa_agent.config import Config
from numa_agent.core.cpusets import Inputs, desired
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import ports_of, with_settings
from tests.machine_tree import TWO_NODES, cpus, pod
from tests.recorded import machine


@contextmanager
def configured(scheduler: str) -> Iterator[tuple[Config, Ports]]:
    config = Config(
        host_root=machine("single-node"),
        live_root=Path("/"),
        node_name=None,
        kubeconfig=None,
        scheduler=scheduler,
    )
    with asking_nvml(config) as ask:
        yield config, ports_of(config, ask, None, None)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [("koordinator", "0-7"), ("kube-scheduler", "4-7"), ("ack", "4-7")],
)
def test_a_best_effort_label_takes_others_cpus_with_koordinator_alone(
    scheduler: str, expected: str
) -> None:
    """Elsewhere any user may write it, and no policy keeps him from it."""
    owner = pod(1, "0-3")
    best = replace(pod(2), labels={"koordinator.sh/qosClass": "BE"})
    known = with_pods(Inputs(pods=(), decisions={}, topology=TWO_NODES), (owner, best, pod(3)), ())
    with configured(scheduler) as (config, ports):
        for each in (ports, with_settings(ports, config)):
            wanted = desired(known, each.options)
            found = {target.pod.name: target.cpus for target in wanted.targets}
            assert found == {"p1": cpus("0-3"), "p2": cpus(expected), "p3": cpus("4-7")}
