"""Our object has none of the faults that kube-scheduler's plugin passes over without a word.

Each is done to an object of ours, to see that it would be noticed, and what it would do to pods.
"""

from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.consumers.kube_machines import MACHINES, Nrt
from tests.consumers.kube_nodes import (
    GPU,
    account,
    amount,
    asking,
    nodes,
    pod,
    published,
    say,
)
from tests.consumers.topology_faults import faults
from tests.consumers.topology_match import (
    PASSED,
    Pod,
    Verdict,
    filtered,
)
from tests.consumers.topology_score import (
    STRATEGIES,
    scored,
)


def no_zone(resource: str) -> Verdict:
    return Verdict(rejected=f"{resource}: no zone fits")


def none_here(resource: str) -> Verdict:
    return Verdict(rejected=f"{resource}: the Node has none")


@pytest.mark.parametrize("machine", MACHINES)
def test_no_object_of_ours_has_a_fault(machine: str) -> None:
    nrt, allocatable = MACHINES[machine]
    assert faults(nrt, {name: q for name, q in allocatable.items() if q != "0"}) == []


@st.composite
def machines(draw: st.DrawFn) -> Nrt:
    """An object for nodes of any ids, memory-only ones among them."""
    ids = sorted(draw(st.sets(st.integers(0, 90), min_size=1, max_size=10)))
    with_cpus = sorted(draw(st.sets(st.sampled_from(ids), min_size=1)))
    found = nodes(*with_cpus, memory=[number for number in ids if number not in with_cpus])
    gpus = draw(st.booleans())
    accounts = [
        account(
            found[number],
            amount(draw(st.integers(0, 64))),
            **({"gpu": amount(draw(st.integers(0, 8)))} if gpus and draw(st.booleans()) else {}),
        )
        for number in with_cpus
    ]
    others = [found[number] for number in ids if number not in with_cpus]
    nrt: Nrt = published(*accounts, others=others, memory_zones=draw(st.booleans()))
    return nrt


@settings(deadline=None)
@given(machines())
def test_no_object_of_any_machine_has_a_fault(nrt: Nrt) -> None:
    listed = {row["name"] for zone in nrt["zones"] for row in zone.get("resources", [])}
    offered = dict.fromkeys({"cpu", "memory", *listed}, "1")
    assert faults(nrt, offered) == []
    for wanted in (pod(asking("1")), pod(asking("64"), asking("64", gpu="9"))):
        assert filtered(wanted, nrt, offered).rejected is None or nrt["zones"]
        assert all(0 <= scored(wanted, nrt, strategy) <= 100 for strategy in STRATEGIES)


def _name(pattern: str) -> Callable[[Nrt], None]:
    def wrong(nrt: Nrt) -> None:
        for number, zone in enumerate(nrt["zones"]):
            zone["name"] = pattern.format(number)

    return wrong


def _type(word: str) -> Callable[[Nrt], None]:
    def wrong(nrt: Nrt) -> None:
        for zone in nrt["zones"]:
            zone["type"] = word

    return wrong


def _attribute(name: str, value: str | None) -> Callable[[Nrt], None]:
    return lambda nrt: say(nrt, name, value)


def _without(resource: str, *numbers: int) -> Callable[[Nrt], None]:
    def wrong(nrt: Nrt) -> None:
        for number in numbers:
            rows = nrt["zones"][number]["resources"]
            rows[:] = [row for row in rows if row["name"] != resource]

    return wrong


def _row(zone: int, **row: str) -> Callable[[Nrt], None]:
    blank = {"capacity": "1", "allocatable": "1", "available": "1"}
    return lambda nrt: nrt["zones"][zone]["resources"].append({**blank, **row})


def _move_gpus(nrt: Nrt) -> None:
    _without(GPU, 0, 1)(nrt)
    gpu = {"name": GPU, "capacity": "8", "allocatable": "8", "available": "8"}
    nrt["zones"].append({"name": "gpus", "type": "MemoryNode", "resources": [gpu]})


def _overdraw(nrt: Nrt) -> None:
    nrt["zones"][0]["resources"][0]["available"] = "-1"


def _duplicate(nrt: Nrt) -> None:
    nrt["zones"].append(nrt["zones"][0])


def _forget_costs(nrt: Nrt) -> None:
    del nrt["zones"][1]["costs"]


GOOD, OFFERED = MACHINES["two sockets"]

WRONG: list[tuple[Callable[[Nrt], None], str]] = [
    *(
        (_name(pattern), "the name is passed over")
        for pattern in ("numa-{}", "numa-node-{}", "Node-{}", "node_{}", "node{}", "node--{}")
    ),
    *((_type(word), "are passed over") for word in ("node", "NUMA", "numa", "Socket")),
    (_name("node-6{}"), "an id isn't its place in the list"),
    (_name("node-{}4"), "an id isn't its place in the list"),
    (_name("node-0"), "an id isn't its place in the list"),
    (lambda nrt: nrt["zones"].reverse(), "an id isn't its place in the list"),
    (lambda nrt: nrt["zones"][1].update(name="node-64"), "node-64: no place for the id"),
    (_duplicate, "node-0: named 2 times"),
    (_attribute("topologyManagerPolicy", None), "topologyManagerPolicy: taken for none"),
    (_attribute("topologyManagerPolicy", "SingleNumaNode"), "taken for none"),
    (_attribute("topologyManagerPolicy", "Single-NUMA-Node"), "taken for none"),
    (_attribute("topologyManagerScope", None), "topologyManagerScope: taken for container"),
    (_attribute("topologyManagerScope", "Pod"), "topologyManagerScope: taken for container"),
    (
        lambda nrt: nrt.update(topologyPolicies=["SingleNUMANodePodLevel"]),
        "topologyPolicies: two log lines a call",
    ),
    (_without("memory", 0, 1), "memory: pods that ask for it are rejected"),
    (_without("cpu", 0), "cpu: pods that ask for it are rejected"),
    (_without(GPU, 1), f"{GPU}: some zones are without it"),
    (_row(0, name="example.com/fpga"), "example.com/fpga: the Node doesn't offer it"),
    (_move_gpus, f"{GPU}: in no zone of type Node"),
    (_row(0, name="cpu"), "node-0 cpu: listed 2 times"),
    (_overdraw, "node-0 cpu: not available <= allocatable <= capacity"),
    (_forget_costs, "node-1: no cost to node-0, node-1"),
    (_attribute("nodeTopologyPodsFingerprint", None), "never resynced"),
    (_attribute("nodeTopologyPodsFingerprint", "pfp0v002e477a4e3b2fc0ec6"), "never resynced"),
    (_attribute("nodeTopologyPodsFingerprintMethod", None), "Method: taken for all"),
    (_attribute("nodeTopologyPodsFingerprintMethod", "exclusive"), "Method: taken for all"),
]


@pytest.mark.parametrize(("spoil", "fault"), WRONG)
def test_each_silent_break_would_be_noticed(spoil: Callable[[Nrt], None], fault: str) -> None:
    wrong = deepcopy(GOOD)
    spoil(wrong)
    assert faults(GOOD, OFFERED) == []
    assert any(fault in found for found in faults(wrong, OFFERED)), faults(wrong, OFFERED)


@pytest.mark.parametrize(
    ("spoil", "wanted", "harm"),
    [
        # Every pod is rejected for want of a zone.
        (_name("numa-{}"), pod(asking("1")), no_zone("cpu")),
        (_type("numa"), pod(asking("1")), no_zone("cpu")),
        (_without("memory", 0, 1), pod(asking("1"), qos="Burstable"), no_zone("memory")),
        # The GPUs of half the machine are lost.
        (_without(GPU, 1), pod(asking("1", gpu="4")), no_zone(GPU)),
        # The filter does nothing at all.
        (_attribute("topologyManagerPolicy", "SingleNumaNode"), pod(asking("33")), PASSED),
        # The pod's containers are spread, which kubelet then refuses.
        (
            _attribute("topologyManagerScope", "Pod"),
            pod(asking("30"), asking("12")),
            Verdict((1, 0)),
        ),
        # GPUs are admitted on any zone.
        (_move_gpus, pod(asking("1", gpu="8")), Verdict((0,))),
        (_row(0, name="cpu", available="90"), pod(asking("90")), Verdict((0,))),
    ],
)
def test_what_a_silent_break_does_to_pods(
    spoil: Callable[[Nrt], None], wanted: Pod, harm: Verdict
) -> None:
    wrong = deepcopy(GOOD)
    spoil(wrong)
    assert filtered(wanted, wrong, OFFERED) == harm
    assert filtered(wanted, GOOD, OFFERED) != harm
