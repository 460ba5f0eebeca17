"""The seed user's pod on a machine whose scheduler knows nothing of NUMA: whole passes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numa_agent.config import Config
from numa_agent.core.cpulist import parse
from numa_agent.core.report import Report
from numa_agent.wiring.explain import explain_once
from numa_agent.wiring.passes import run_once
from numa_agent.wiring.plans import plan_once
from numa_agent.wiring.verify import verify_once
from tests.recorded import copied, machine

STATUS = "scheduling.koordinator.sh/resource-status"
SEED = {
    "cpuset-scheduler": "required",
    "scheduling.alibabacloud.com/numa-topology-spec": '{"numaTopologyPolicy": "SingleNUMANode",'
    ' "singleNUMANodeExclusive": "Preferred"}',
}


class Node:
    """A copy of the recorded two-socket machine with the seed's pod on it."""

    def __init__(self, root: Path) -> None:
        copied(machine("two-socket-8gpu"), root)
        self.root = root
        self.config = Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)
        self.annotate(SEED)

    def annotate(self, annotations: dict[str, str]) -> None:
        self.change(lambda pod: pod["metadata"].update(annotations=annotations))

    def change(self, how: Any) -> None:
        path = self.root / "answers/pods.json"
        pods = json.loads(path.read_text())
        how(pods["items"][0])
        path.write_text(json.dumps(pods))

    def take(self, **settings: Any) -> Report:
        return run_once(replace(self.config, **settings))

    @property
    def cpuset(self) -> str:
        """What the pod's own cgroup holds."""
        (found,) = (self.root / "sys/fs/cgroup/kubepods.slice").glob("kubepods-pod*.slice")
        return (found / "cpuset.cpus").read_text().strip()

    @property
    def file(self) -> Path:
        return self.root / "run/numa-agent/decisions.json"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "machine")


def codes(report: Report) -> list[str]:
    return [each.code for each in report.conditions if each.code.startswith("assigner")]


def available(report: Report, node_id: int, resource: str = "cpu") -> int:
    (account,) = (each for each in report.accounts if each.node.id == node_id)
    return account.resources[resource].available


def test_the_seed_s_pod_gets_24_cpus_beside_its_gpus(node: Node) -> None:
    report = node.take()
    (binding,) = report.bindings
    (proof,) = report.proofs
    assert len(binding.cpus) == 24
    home = {device.node for device in proof.verdict.devices}
    assert report.topology.nodes_of(binding.cpus) == home
    assert parse(node.cpuset) == binding.cpus
    assert codes(report) == ["assigner-assigned"]
    assert proof.verdict.alignment.value == "aligned"


def test_what_it_has_is_no_longer_available_to_others(node: Node) -> None:
    before = node.take(assigner="off")
    after = node.take()
    (binding,) = after.bindings
    (home,) = after.topology.nodes_of(binding.cpus)
    assert before.bindings == ()
    assert available(before, home) - available(after, home) == 24
    (told,) = (each.manifest for each in after.publications)
    assert str(available(after, home)) in json.dumps(told)


def test_nothing_is_written_when_nothing_changed_and_a_restart_moves_nobody(node: Node) -> None:
    node.take()
    held, kept = node.cpuset, node.file.read_text()
    again = node.take()
    assert (again.writes, codes(again)) == ((), [])
    assert (node.cpuset, node.file.read_text()) == (held, kept)


def test_a_broken_file_of_decisions_costs_nobody_their_cpus(node: Node) -> None:
    node.take()
    held = node.cpuset
    node.file.write_text("{}")
    report = node.take()
    assert node.cpuset == held
    assert report.writes == ()
    assert codes(report) == ["assigner-adopted", "assigner-forgot"]
    assert codes(node.take()) == []


def test_a_lost_file_of_decisions_costs_nobody_their_cpus(node: Node) -> None:
    node.take()
    held = node.cpuset
    node.file.unlink()
    assert node.take().writes == ()
    assert node.cpuset == held


def test_a_file_that_cannot_be_written_is_told_and_the_pod_is_bound(node: Node) -> None:
    node.file.parent.parent.mkdir(exist_ok=True)
    node.file.parent.write_text("in the way")
    report = node.take()
    assert len(parse(node.cpuset)) == 24
    assert codes(report) == ["assigner-assigned", "assigner-unsaved"]


def test_looking_writes_no_decision_down(node: Node) -> None:
    plan = plan_once(node.config)
    assert plan.planned is not None
    assert [len(cpus) for cpus in plan.planned.desired.assigned.values()] == [24]
    assert not node.file.exists()


def test_a_scheduler_that_decides_later_is_followed(node: Node) -> None:
    node.take()
    node.annotate({**SEED, STATUS: '{"cpuset": "60-71,172-183"}'})
    report = node.take()
    assert node.cpuset == "60-71,172-183"
    assert codes(report) == ["assigner-yields"]
    assert json.loads(node.file.read_text())["pods"] == {}


def test_a_scheduler_that_may_still_decide_has_its_time(node: Node) -> None:
    node.annotate({})
    node.take(scheduler="ack")
    node.annotate(SEED)
    report = node.take(scheduler="ack")
    assert len(report.bindings) == 1, "one that was there before this process has waited"


def test_what_does_not_fit_is_told_and_runs_on_what_all_share(node: Node) -> None:
    def grow(pod: dict[str, Any]) -> None:
        resources = pod["spec"]["containers"][0]["resources"]
        for amounts in resources.values():
            amounts["cpu"] = "200"

    node.change(grow)
    report = node.take()
    (told,) = (each for each in report.conditions if each.code == "assigner-unplaced")
    assert "never-fits" in told.message
    assert report.bindings == ()
    assert not report.refusals


def test_verify_and_explain_say_who_decided(node: Node) -> None:
    node.take()
    (proof,) = (
        each for each in verify_once(node.config).proofs if each.pod.full_name == "ml/train-0"
    )
    assert proof.has_it is True
    assert proof.asked.by == "numa-agent's assigner"
    story = explain_once(node.config, "ml/train-0").story
    (decided,) = (each for each in story.chapters if each.title == "decided")
    assert any("numa-agent's assigner" in line for line in decided.lines)


def test_a_pod_that_tells_no_memory_is_told_gently_that_none_is_held_to_nodes(node: Node) -> None:
    def without_memory(pod: Any) -> None:
        for amounts in pod["spec"]["containers"][0]["resources"].values():
            amounts.pop("memory")

    node.change(without_memory)
    codes = [each.code for each in node.take().conditions]
    assert "mems-untold" in codes
    assert "mems-not-set" not in codes
    story = explain_once(node.config, "ml/train-0").story
    [line] = [
        line
        for chapter in story.chapters
        for line in chapter.lines
        if chapter.title == "decided" and line.startswith("container trainer")
    ]
    assert "memory of node 1 meant and not set (mems-untold)" in line
