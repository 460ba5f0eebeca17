"""What an agent does that starts where another one, or an older one, has bound pods."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.pods import QosClass
from tests.kernel.kernel import Hierarchy
from tests.kernel.versions import Version
from tests.machine_tree import uid
from tests.walk.agent import Agent, Sources
from tests.walk.laws import in_force
from tests.walk.node import Driver, LivePod, Node, Setup

KERNELS: tuple[tuple[Version, Hierarchy], ...] = (
    ("5.10", "v1"),
    ("6.1", "v1"),
    ("5.10", "v2"),
    ("6.12", "v2"),
)
DRIVERS: tuple[Driver, ...] = ("cgroupfs", "systemd")
LAYOUTS = [
    Setup(version=version, hierarchy=hierarchy, driver=driver)
    for version, hierarchy in KERNELS
    for driver in DRIVERS
]
every_layout = pytest.mark.parametrize("setup", LAYOUTS, ids=str)


def own(**members: object) -> Mapping[str, str]:
    return {ASSIGNMENT: json.dumps({"version": 1, **members})}


def running(node: Node, pod: LivePod, *, inner: bool = False) -> LivePod:
    for name in pod.names:
        assert node.start(pod, name, inner=inner)
    return pod


def busy(root: Path, setup: Setup) -> Node:
    """A node with a pod of each kind, one of them with cgroups inside its containers."""
    node = Node(root, setup)
    running(node, node.admit(annotations=own(cpus="0-1", mems="0")))
    each = own(containers={"a": {"cpus": "2"}, "b": {"cpus": "3"}})
    running(node, node.admit(QosClass.BURSTABLE, each, names=("a", "b")), inner=True)
    running(node, node.admit(QosClass.BURSTABLE, own(nodes="1")))
    running(node, node.admit(QosClass.BEST_EFFORT), inner=True)
    running(node, node.admit(annotations={ASSIGNMENT: "{"}))
    return node


def allowed(node: Node, pod: LivePod, name: str = "a") -> str:
    return render(node.kernel.task_allowed(pod.containers[name].tasks[0]))


@every_layout
def test_a_new_agent_writes_nothing_where_nothing_changed(setup: Setup, tmp_path: Path) -> None:
    node = busy(tmp_path, setup)
    before = Agent(node).run()
    assert before.writes
    after = Agent(node).run()
    assert after.writes == []
    assert after.report.refusals == before.report.refusals


@every_layout
def test_every_task_is_where_it_shall_be_and_stays_there_without_an_agent(
    setup: Setup, tmp_path: Path
) -> None:
    node = busy(tmp_path, setup)
    Agent(node).run()
    first, second, third, fourth, fifth = node.pods.values()
    pods = ((first, "a"), (second, "a"), (second, "b"), (third, "a"), (fourth, "a"), (fifth, "a"))
    wanted = ["0-1", "2", "3", "4-7", "4-7", "4-7"]
    assert [allowed(node, *each) for each in pods] == wanted
    # The agent has gone; a container's restart is the kernel's and the runtime's alone.
    node.stop(first, "a")
    assert node.start(first, "a")
    kept = ["0-1" if not node.v1 else "0-7", *wanted[1:]]
    assert [allowed(node, *each) for each in pods] == kept
    Agent(node).run()
    assert [allowed(node, *each) for each in pods] == wanted


@every_layout
def test_what_an_older_agent_bound_moves_to_what_is_decided_now(
    setup: Setup, tmp_path: Path
) -> None:
    node = busy(tmp_path, setup)
    Agent(node).run()
    one, other = list(node.pods.values())[:2]
    one.annotations = own(cpus="4-5")
    other.annotations = own(containers={"a": {"cpus": "1"}, "b": {"cpus": "6"}})
    found = Agent(node).run()
    assert not found.failed
    assert [allowed(node, one), allowed(node, other), allowed(node, other, "b")] == [
        "4-5",
        "1",
        "6",
    ]
    assert Agent(node).run().writes == []


@every_layout
def test_older_assignments_in_force_may_be_swapped_by_way_of_free_cpus(
    setup: Setup, tmp_path: Path
) -> None:
    node = busy(tmp_path, setup)
    one, two, *_ = node.pods.values()
    two.annotations = own(cpus="2-3")
    Agent(node).run()
    for words in (("6-7", "0-1"), ("2-3", "0-1")):
        one.annotations, two.annotations = own(cpus=words[0]), own(cpus=words[1])
        found = Agent(node).run()
        assert found.planned is not None
        assert [each.code for each in found.report.refusals] == ["malformed"]
        assert [allowed(node, one), allowed(node, two, "b")] == list(words)


@every_layout
def test_a_bad_annotation_leaves_an_older_binding_in_force_after_a_restart_too(
    setup: Setup, tmp_path: Path
) -> None:
    node = busy(tmp_path, setup)
    Agent(node).run()
    one = next(iter(node.pods.values()))
    one.annotations = {ASSIGNMENT: "{"}
    for _ in range(2):
        found = Agent(node).run()
        assert found.writes == []
        assert found.planned is not None
        assert found.planned.desired.assigned[uid(one.number)] == CpuSet({0, 1})
        assert allowed(node, one) == "0-1"


@every_layout
def test_without_the_api_server_the_last_pods_stay_bound(setup: Setup, tmp_path: Path) -> None:
    node = busy(tmp_path, setup)
    sources = Sources()
    agent = Agent(node, sources, clock=iter(range(0, 10**6, 1000)).__next__)
    agent.run()
    bound = in_force(node)
    sources.api = False
    assert agent.run().writes == []
    # A pod that nobody could tell of is left as it is, and the others are held where they are.
    late = running(node, node.admit(annotations=own(cpus="6-7")))
    one = next(iter(node.pods.values()))
    node.write(one.containers["a"].path if node.v1 else one.path, "cpuset.cpus", "0")
    found = agent.run()
    assert "pods: the API server doesn't answer" in found.report.failures
    assert {path: sets for path, sets in in_force(node).items() if path in bound} == bound
    assert allowed(node, late) == "0-7"
    sources.api = True
    agent.run()
    assert allowed(node, late) == "6-7"


@every_layout
def test_an_agent_that_never_knew_the_pods_writes_nothing(setup: Setup, tmp_path: Path) -> None:
    node = busy(tmp_path, setup)
    Agent(node).run()
    bound = in_force(node)
    for sources in (Sources(api=False), Sources(kubelet=False)):
        found = Agent(node, sources).run()
        assert (found.writes, found.planned) == ([], None)
        assert in_force(node) == bound


@every_layout
def test_a_cpu_that_goes_and_returns_leaves_the_binding_as_it_was(
    setup: Setup, tmp_path: Path
) -> None:
    node = busy(tmp_path, setup)
    Agent(node).run()
    bound = in_force(node)
    one = next(iter(node.pods.values()))
    node.kernel.offline(1)
    found = Agent(node).run()
    assert "degraded" in {each.code for each in found.report.conditions}
    assert not found.failed
    assert allowed(node, one) == "0"
    node.kernel.online(1)
    if node.v1:
        # The kernel took it from every cgroup above too, which are never the agent's to write.
        node.restore_above()
    Agent(node).run()
    assert in_force(node) == bound
