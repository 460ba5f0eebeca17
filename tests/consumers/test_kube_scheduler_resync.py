"""When kube-scheduler's cache takes our object over: once both count the same pods.

What it assumed of a node stays until then. Its rules are in topology_resync.py.
"""

from dataclasses import replace

import pytest

from numa_agent.core import pods as core_pods
from numa_agent.core.node import amounts
from numa_agent.core.requests import Demand, Demands, Role
from tests import machine_tree
from tests.consumers.kube_machines import TWO
from tests.consumers.kube_nodes import (
    GPU,
    account,
    amount,
    asking,
    pod,
    published,
    say,
)
from tests.consumers.topology_match import (
    Pod,
)
from tests.consumers.topology_resync import resyncs

RUNNING = pod(asking("4"), name="exclusive")
KNOWN = (
    RUNNING,
    pod(asking("500m"), name="fraction"),
    pod({"cpu": "1"}, name="whole-shared", qos="Burstable"),
    pod({GPU: "1"}, name="device", qos="BestEffort"),
    pod({}, name="ends", qos="BestEffort", init=(asking("4"),)),
    pod({}, name="serves", sidecars=({"cpu": "1"},)),
    pod({"rdma/hca": "1"}, name="elsewhere", qos="BestEffort"),
    pod(asking("1"), name="done", phase="Succeeded"),
    pod(asking("1"), name="failed", phase="Failed"),
    pod(asking("1"), name="starting", phase="Pending"),
)


@pytest.mark.parametrize("method", ["all", "with-exclusive-resources"])
@pytest.mark.parametrize("informer_mode", ["Dedicated", "Shared"])
def test_the_scheduler_and_we_count_the_same_pods(method: str, informer_mode: str) -> None:
    own = [account(node, amount(8), gpu=amount(1)) for node in TWO.values()]
    ours = [_core_pod(known) for known in KNOWN]
    choice = {"fingerprint_method": method, "fingerprint_pods": informer_mode}
    nrt = published(*own, pods=ours, **choice)
    assert resyncs(nrt, KNOWN, informer_mode)
    assert not resyncs(nrt, [known for known in KNOWN if known is not RUNNING], informer_mode)
    other = {"Dedicated": "Shared", "Shared": "Dedicated"}[informer_mode]
    assert not resyncs(nrt, KNOWN, other)


def test_a_pod_that_came_or_went_keeps_what_the_scheduler_assumed() -> None:
    nrt = published(
        *(account(node, amount(8)) for node in TWO.values()), pods=[_core_pod(RUNNING)]
    )
    assert resyncs(nrt, [RUNNING])
    assert not resyncs(nrt, [])
    assert not resyncs(nrt, [RUNNING, replace(RUNNING, name="another")])
    say(nrt, "nodeTopologyPodsFingerprint", None)
    assert not resyncs(nrt, [RUNNING])


def _core_pod(known: Pod) -> core_pods.Pod:
    """The same pod as we read it."""
    roles = (
        (Role.INIT, known.init),
        (Role.SIDECAR, known.sidecars),
        (Role.APP, known.containers),
    )
    demands = tuple(
        Demand(container=role, role=role, requests=amounts(requests))
        for role, containers in roles
        for requests in containers
    )
    return replace(
        machine_tree.pod(1),
        namespace=known.namespace,
        name=known.name,
        phase=known.phase,
        qos=core_pods.QosClass(known.qos),
        demands=Demands(containers=demands),
    )
