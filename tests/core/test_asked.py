"""What a container was to have, and whether it has it."""

import json
from dataclasses import replace

import pytest

from numa_agent.core.asked import KUBELET, Asked, asked, fulfilled
from numa_agent.core.assignment import AssignmentError
from numa_agent.core.cpusets import Inputs, Options, desired
from numa_agent.core.decision import decide
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from tests.machine_tree import TWO_NODES, container, cpus, pod, uid
from tests.verdicts import device, memory, verdict

SPEC = "scheduling.koordinator.sh/numa-topology-spec"
OWN = "numa-agent.io/assignment"


def of(own: Pod, **more: object) -> Asked:
    said = decide(own)
    decisions = {} if said is None else {own.uid: said}
    inputs = replace(Inputs(pods=[own], decisions=decisions, topology=TWO_NODES), **more)  # type: ignore[arg-type]
    return asked(own, own.containers[0], inputs, desired(inputs, Options()))


def test_cpus_by_an_annotation_and_who_decided_them() -> None:
    found = of(pod(1, "0-3"))
    assert (found.cpus, found.by) == (cpus("0-3"), "scheduling.koordinator.sh/resource-status")
    assert found.alignment
    own = of(pod(1, annotations={OWN: '{"version": 1, "cpus": "0-1", "mems": "0"}'}))
    assert (own.cpus, own.mems, own.by) == (cpus("0-1"), frozenset({0}), OWN)


def test_who_shares_and_wishes_nothing_asked_for_nothing() -> None:
    found = of(pod(1))
    assert (found.cpus, found.by, found.alignment) == (None, "", False)


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ('{"numaTopologyPolicy": "SingleNUMANode"}', True),
        ('{"numaTopologyPolicy": "BestEffort"}', False),
    ],
)
def test_a_wish_without_a_decision_is_a_wish(text: str, single: bool) -> None:
    found = of(pod(1, annotations={SPEC: text}))
    assert (found.alignment, found.single, found.cpus) == (True, single, None)
    assert found.wishes[0].startswith(SPEC)


def test_kubelets_own_decision_counts() -> None:
    state = CpuManagerState(
        policy="static", shared=cpus("2-7"), entries={uid(1): {"c1": cpus("0-1")}}
    )
    found = of(pod(1), kubelet=state)
    assert (found.cpus, found.by) == (cpus("0-1"), KUBELET)


def test_it_has_what_it_asked_for_or_not() -> None:
    near, wide = cpus("0-3"), cpus("2-5")
    wanted = Asked(cpus=near)
    assert fulfilled(verdict(near, near), wanted)
    assert not fulfilled(verdict(near, cpus("0-7")), wanted)
    assert not fulfilled(verdict(near, cpus("0-1")), wanted)
    assert not fulfilled(verdict(near, near, memory=memory({1: 64})), wanted)
    assert not fulfilled(verdict(near, near, devices=(device("g"),)), wanted)
    across = Asked(cpus=wide)
    assert fulfilled(verdict(wide, wide), across)
    assert not fulfilled(verdict(wide, wide), replace(across, single=True))


def test_a_wish_alone_is_met_by_what_is_in_one_node() -> None:
    wish = Asked(wishes=("x: SingleNUMANode",), single=True)
    assert fulfilled(verdict(None, cpus("0-3")), wish)
    assert not fulfilled(verdict(None, cpus("0-7")), wish)


def test_a_container_for_debugging_asked_for_nothing() -> None:
    demands = Demands(containers=(Demand(container="app", role=Role.APP, requests={}),))
    own = pod(1, annotations={SPEC: '{"numaTopologyPolicy": "SingleNUMANode"}'})
    assert not of(replace(own, demands=demands)).wishes
    assert of(own).wishes


def test_who_shares_beside_a_container_with_cpus_of_its_own_asked_for_nothing() -> None:
    said = {"version": 1, "containers": {"c1": {"cpus": "0-1"}}}
    both = pod(1, containers=(container(1), container(2)), annotations={OWN: json.dumps(said)})
    assert of(both).alignment
    shared = of(replace(both, containers=(container(2), container(1))))
    assert (shared.cpus, shared.shares, shared.alignment) == (cpus("2-7"), True, False)
    # Bound to the shared CPUs of a node it did.
    bound = {"version": 1, "containers": {"c1": {"cpus": "0-1"}, "c2": {"nodes": "1"}}}
    asked_for = replace(both, annotations={OWN: json.dumps(bound)})
    near = of(replace(asked_for, containers=(container(2), container(1))))
    assert (near.cpus, near.shares, near.alignment) == (cpus("4-7"), False, True)


def test_an_empty_entry_of_kubelets_decides_nothing() -> None:
    state = CpuManagerState(
        policy="static", shared=cpus("0-7"), entries={uid(1): {"c1": cpus("")}}
    )
    found = of(pod(1), kubelet=state)
    assert (found.cpus, found.by) == (None, "")


@pytest.mark.parametrize("word", ["true", "required"])
def test_who_asks_by_the_switch_alone_asked(word: str) -> None:
    found = of(pod(1, annotations={"cpuset-scheduler": word}))
    assert found.wishes == (f"cpuset-scheduler: {word}",)


def test_who_was_refused_what_was_decided_lacks_it() -> None:
    """CPUs that aren't there: what it runs on may be aligned, and isn't what it was to have."""
    found = of(pod(1, "90-91"))
    assert (found.refused, found.cpus, found.alignment) == ("cpus-not-online", None, True)
    assert not fulfilled(verdict(None, cpus("0-3")), found)


def test_who_was_refused_words_that_cannot_be_read_lacks_it() -> None:
    bad = pod(1)
    decisions = {bad.uid: AssignmentError("the scheduler: no list")}
    inputs = Inputs(pods=[bad], decisions=decisions, topology=TWO_NODES)
    found = asked(bad, bad.containers[0], inputs, desired(inputs, Options()))
    assert (found.refused, found.alignment) == ("malformed", True)
