"""What random walks found, each in its shortest form."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Mems, Options
from numa_agent.core.own_assignment import ASSIGNMENT
from tests.machine_tree import uid
from tests.walk.agent import Agent, Pass
from tests.walk.node import LivePod, Node, Setup


def own(**members: object) -> Mapping[str, str]:
    return {ASSIGNMENT: json.dumps({"version": 1, **members})}


def running(
    node: Node, annotations: Mapping[str, str], names: tuple[str, ...] = ("a",)
) -> LivePod:
    pod = node.admit(annotations=annotations, names=names)
    for name in names:
        assert node.start(pod, name)
    return pod


def assigned(found: Pass) -> dict[str, CpuSet]:
    assert found.planned is not None
    return dict(found.planned.desired.assigned)


def errors(found: Pass) -> list[str]:
    return [each.error for each in found.report.writes if each.error is not None]


def test_a_pod_that_kubelet_gave_cpus_owns_nothing_else_by_what_somebody_wrote(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path, Setup())
    pod = running(node, own(cpus="0"))
    node.set_kubelet({uid(pod.number): CpuSet({0, 1})})
    node.write(pod.path, "cpuset.cpus", "2")
    assert assigned(Agent(node).run()) == {}


def test_a_refused_pod_s_part_of_kubelet_s_shared_cpus_isn_t_its_own_after_a_restart(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path, Setup())
    running(node, own(cpus="0"))
    node.set_kubelet({uid(99): CpuSet({0, 1})})
    Agent(node).run()
    assert assigned(Agent(node).run()) == {}


def test_a_refused_pod_s_shared_cpus_aren_t_its_own_after_one_went_offline_and_a_restart(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path, Setup())
    running(node, {ASSIGNMENT: "{"})
    running(node, own(cpus="0"))
    Agent(node).run()
    node.kernel.offline(1)
    assert list(assigned(Agent(node).run()).values()) == [CpuSet({0})]


def test_a_refused_pod_s_shared_cpus_aren_t_its_own_where_another_was_given_some_meanwhile(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path, Setup())
    running(node, {ASSIGNMENT: "{"})
    running(node, own(cpus="0"))
    Agent(node).run()
    running(node, own(cpus="1"))
    for _ in range(2):
        assert list(assigned(Agent(node).run()).values()) == [CpuSet({0}), CpuSet({1})]


def test_cpus_can_be_written_after_a_container_got_memory_nodes_of_its_own(
    tmp_path: Path,
) -> None:
    node = Node(tmp_path, Setup(version="5.10"))
    running(node, own(containers={"a": {"cpus": "0"}}), ("a", "b"))
    agent = Agent(node, options=Options(mems=Mems.MIGRATE))
    assert errors(agent.run()) == []
    node.kernel.offline(1)
    assert errors(agent.run()) == []


def test_cpus_can_be_written_where_kubelet_gave_a_container_memory_nodes(tmp_path: Path) -> None:
    # kubelet's memory manager writes those of containers of Guaranteed pods.
    node = Node(tmp_path, Setup(version="5.10"))
    pod = running(node, own(cpus="0-1"))
    node.kernel.write(pod.containers["a"].path, "cpuset.mems", "0")
    assert errors(Agent(node).run()) == []


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        (0, frozenset({0, 1, 2, 3, 4, 5, 6, 7})),
        # What lags behind its container can't be told from a part that it took for itself.
        (1, frozenset({1, 2, 3, 4, 5, 6, 7})),
    ],
)
def test_a_cgroup_in_a_container_has_cpus_of_its_own_pod_wherever_the_agent_crashes(
    after: int, kept: frozenset[int], tmp_path: Path
) -> None:
    node = Node(tmp_path, Setup(hierarchy="v1"))
    pod, other = running(node, {}), running(node, own(cpus="0"))
    node.nest(pod.containers["a"], "nested")
    Agent(node).run()
    node.remove(other)
    node.forget(other)
    assert Agent(node).dies(after)
    Agent(node).run()
    assert node.ids(f"{pod.containers['a'].path}/nested", "cpuset.cpus") == kept
