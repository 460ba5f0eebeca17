"""Between passes a cgroup that appears or is written to is bound at once: real inotify."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

import pytest

from numa_agent.agent import Binder, Kept, Ports, Seen, binder, planned_of, read_all, run_pass
from numa_agent.config import Config
from numa_agent.core.cpulist import render
from numa_agent.core.pods import Pod, PodsRead, parse_pods
from numa_agent.core.report import Report
from numa_agent.core.verifying import AFTER_START, EVERY, EVERY_TOLD
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.recorded import RecordedKernel, read_answer
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import ports_of
from numa_agent.wiring.watching import CgroupWatch
from tests.recorded import copied, machine
from tests.waits import eventually

OWN = "56-67,168-179"
SHARED = "0-55,68-167,180-223"
SECONDS = 30.0


@dataclass
class Node:
    """A copy of the recorded two-socket machine, one pass taken, and what binds after it."""

    root: Path
    ports: Ports
    binder: Binder
    watch: CgroupWatch
    woken: Event
    ahead: list[float]
    """The seconds of its clock, which stands still: what is to be seen is told."""
    told: list[tuple[Pod, ...]]
    """The pods as the API server tells of them, the newest last; none while it isn't heard."""
    report: Report | None = None

    @property
    def assigned(self) -> Path:
        """The cgroup of the pod with CPUs of its own."""
        (found,) = (self.root / "sys/fs/cgroup/kubepods.slice").glob("kubepods-pod*.slice")
        return found

    def take_pass(self) -> None:
        failures: list[str] = []
        now = read_all(self.ports.sources)
        self.binder.know(planned_of(self.ports, now, failures))
        self.report = run_pass(self.ports)
        self.settle()

    def settle(self) -> None:
        """Take in what following and the pass itself told."""
        while self.woken.wait(0.2):
            self.woken.clear()
            self.binder.work()

    def work_until_seen(self) -> Seen:
        """The first thing that the binder did or asked for."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.woken.wait(0.1)
            self.woken.clear()
            seen = self.binder.work()
            if seen != Seen():
                return seen
        raise AssertionError("nothing was seen")

    def work_until(self, done: str, file: Path) -> list[Seen]:
        """What the binder did until a file holds a text."""
        seen = []
        end = time.monotonic() + SECONDS
        while file.read_text().strip() != done:
            assert time.monotonic() < end, f"{file} holds {file.read_text()!r}"
            if self.woken.wait(0.1):
                self.woken.clear()
            seen.append(self.binder.work())
        return seen


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    config = Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)
    woken = Event()
    with ExitStack() as stack:
        ask = stack.enter_context(asking_nvml(config))
        ahead = [1000.0]
        told: list[tuple[Pod, ...]] = []
        ports = replace(ports_of(config, ask, None, None), clock=lambda: ahead[0])
        watch = CgroupWatch(CpusetTree(root), root / "var/lib/kubelet", woken.set)
        stack.callback(watch.close)
        binder = Binder(
            ports.cpusets,
            watch,
            ports.drift,
            ports.clock,
            ports.sources.cpu_state.read,
            lambda: (told[-1], ()) if told else None,
            ports.memory,
        )
        yield Node(root, ports, binder, watch, woken, ahead, told)


def cpus_of(group: Path) -> str:
    return (group / "cpuset.cpus").read_text().strip()


def writes(seen: list[Seen]) -> list[str]:
    return [write.step.path.rpartition("/")[2] for each in seen for write in each.writes]


def test_a_set_that_somebody_changes_is_put_back_without_a_pass(node: Node) -> None:
    node.take_pass()
    file = node.assigned / "cpuset.cpus"
    assert cpus_of(node.assigned) == OWN
    file.write_text("0-7\n")
    seen = node.work_until(OWN, file)
    assert writes(seen) == [node.assigned.name]
    assert sum(node.ports.drift.counts.values()) == 1


def test_a_pod_whose_cgroup_appears_after_the_pass_is_bound_at_once(node: Node) -> None:
    away = node.root / "away"
    shutil.move(node.assigned, away)
    parent = node.root / "sys/fs/cgroup/kubepods.slice"
    name = "kubepods-pod275ef510_9903_477e_8b7c_66bbd1930b1f.slice"
    node.take_pass()
    shutil.move(away, parent / name)
    seen = node.work_until(OWN, parent / name / "cpuset.cpus")
    assert writes(seen) == [name]
    assert not any(each.unknown for each in seen)


def test_a_directory_made_anew_under_its_name_is_bound_at_once_and_no_drift(node: Node) -> None:
    anew = node.root / "away"
    shutil.copytree(node.assigned, anew)
    node.take_pass()
    # The looks that a container gets after its start are over: only what is told brings another.
    for _ in range(3):
        node.ahead[0] += 10.0
        node.binder.work()
    (anew / "cpuset.cpus").write_text("\n")
    for inner in [each for each in anew.iterdir() if each.is_dir()]:
        scope = re.sub("[0-9a-f]{64}", lambda found: found[0][::-1], inner.name)
        inner.rename(anew / scope)
    there = node.assigned
    shutil.rmtree(there)
    anew.rename(there)
    assert cpus_of(there) == ""
    seen = node.work_until(OWN, there / "cpuset.cpus")
    assert there.name in writes(seen)
    assert node.ports.drift.counts == {}


def test_a_pod_that_the_pass_didnt_know_asks_for_another_pass(node: Node) -> None:
    node.take_pass()
    name = "kubepods-pod11111111_2222_4333_8444_555555555555.slice"
    (node.root / "sys/fs/cgroup/kubepods.slice" / name).mkdir()
    assert node.work_until_seen() == Seen(unknown=True)


def test_while_nothing_happens_nothing_is_done(node: Node) -> None:
    node.take_pass()
    late = 0
    # Of the pass itself something may still be told.
    while node.woken.wait(0.3):
        node.woken.clear()
        assert node.binder.work() == Seen()
        late += 1
        assert late < 10
    assert node.binder.work() == Seen()


def test_before_the_first_pass_and_after_one_that_may_not_bind_nothing_is_written(
    node: Node,
) -> None:
    assert node.binder.work() == Seen()
    assert node.binder.due() is None
    node.take_pass()
    node.binder.know(None)
    (node.assigned / "cpuset.cpus").write_text("0-7\n")
    node.woken.wait(0.3)
    assert node.binder.work() == Seen()
    assert cpus_of(node.assigned) == "0-7"


def test_while_nothing_may_be_bound_kubelet_s_state_asks_for_a_pass_and_a_cgroup_doesn_t(
    node: Node,
) -> None:
    # It may have been the state for which the very first pass bound nothing.
    node.binder.know(None)
    assert node.binder.work() == Seen(unknown=True)
    node.settle()
    state = node.root / "var/lib/kubelet/cpu_manager_state"
    fresh = state.with_name("fresh")
    fresh.write_text(state.read_text())
    fresh.rename(state)
    assert node.work_until_seen() == Seen(unknown=True)
    node.settle()
    (node.assigned / "cpuset.cpus").write_text("0-7\n")
    node.woken.wait(0.3)
    assert node.binder.work() == Seen()


def test_a_fight_ends_after_a_few_rounds_and_is_a_condition_of_the_next_pass(node: Node) -> None:
    node.take_pass()
    file = node.assigned / "cpuset.cpus"
    rounds = 0
    while rounds < 20:
        RecordedKernel(node.root).put(file, "0-7\n")
        node.ahead[0] += 60.0
        node.work_until_seen()
        if cpus_of(node.assigned) == "0-7":
            break
        rounds += 1
    assert rounds == 5
    report = run_pass(node.ports)
    assert "drift-conflict" in {each.code for each in report.conditions}
    assert cpus_of(node.assigned) == "0-7"
    assert not report.good


def test_shared_pods_are_kept_off_the_cpus_of_others(node: Node) -> None:
    node.take_pass()
    (shared,) = (node.root / "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice").glob(
        "kubepods-burstable-pod9815*"
    )
    assert cpus_of(shared) == SHARED
    (shared / "cpuset.cpus").write_text("0-223\n")
    node.work_until(SHARED, shared / "cpuset.cpus")


def test_a_state_that_kubelet_changed_since_the_pass_asks_for_another_one_first(
    node: Node,
) -> None:
    node.take_pass()
    state = node.root / "var/lib/kubelet/cpu_manager_state"
    fresh = state.with_name("fresh")
    fresh.write_text('{"policyName":"static","defaultCpuSet":"0-223","entries":{}}')
    fresh.rename(state)
    assert node.work_until_seen() == Seen(unknown=True)
    (node.assigned / "cpuset.cpus").write_text("0-7\n")
    assert node.work_until_seen() == Seen(unknown=True)
    assert cpus_of(node.assigned) == "0-7"


def pods_of(node: Node) -> tuple[Pod, ...]:
    return tuple(node.ports.sources.pods.last[0].pods)


def as_assigned(pods: tuple[Pod, ...], name: str, cpuset: str) -> tuple[Pod, ...]:
    said = {"scheduling.koordinator.sh/resource-status": json.dumps({"cpuset": cpuset})}
    return tuple(replace(each, annotations=said) if each.name == name else each for each in pods)


def test_an_assignment_that_is_told_of_is_in_force_without_a_pass(node: Node) -> None:
    node.take_pass()
    node.told.append(as_assigned(pods_of(node), "train-0", "60-63"))
    seen = node.binder.work()
    assert cpus_of(node.assigned) == "60-63"
    assert "ml/train-0" in {write.step.pod for write in seen.writes}
    # What it leaves to others is the next pass's, which is asked for.
    assert seen.unknown


def test_a_told_assignment_takes_no_cpu_of_another_pod(node: Node) -> None:
    node.take_pass()
    web = next(each for each in pods_of(node) if each.name.startswith("web"))
    node.told.append(as_assigned(pods_of(node), web.name, "56-57"))
    seen = node.binder.work()
    assert [write.step.pod for write in seen.writes if "56" in render(write.step.after)] == []
    assert cpus_of(node.assigned) == OWN
    assert seen.unknown


def test_a_bad_assignment_that_is_told_of_clears_nothing(node: Node) -> None:
    node.take_pass()
    node.told.append(as_assigned(pods_of(node), "train-0", "60-,63"))
    assert node.binder.work().writes == ()
    assert cpus_of(node.assigned) == OWN


def test_a_pod_that_is_told_of_before_its_cgroup_comes_is_bound_when_it_does(node: Node) -> None:
    away = node.root / "away"
    shutil.move(node.assigned, away)
    parent = node.root / "sys/fs/cgroup/kubepods.slice"
    name = "kubepods-pod275ef510_9903_477e_8b7c_66bbd1930b1f.slice"
    every = parse_pods(read_answer(node.root, "pods")).pods
    node.told.append(tuple(each for each in every if each.name != "train-0"))
    listed = Kept("pods", lambda: PodsRead(node.told[-1], ()))
    node.ports = replace(node.ports, sources=replace(node.ports.sources, pods=listed))
    node.take_pass()
    node.told.append(every)
    assert node.binder.work().unknown
    shutil.move(away, parent / name)
    seen = node.work_until(OWN, parent / name / "cpuset.cpus")
    assert name in writes(seen)


def test_pods_that_go_ask_for_a_pass_and_pods_that_stay_the_same_for_nothing(node: Node) -> None:
    node.take_pass()
    same = pods_of(node)
    node.told.append(same)
    assert node.binder.work() == Seen()
    node.told.append(tuple(each for each in same if each.name != "train-0"))
    assert node.binder.work() == Seen(unknown=True)
    assert cpus_of(node.assigned) == OWN


def test_of_very_many_pods_those_that_are_new_come_first_and_the_rest_bit_by_bit(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binder, "AT_ONCE", 1)
    node.take_pass()
    others = [cgroup for cgroup in shared_cgroups(node) if cpus_of(cgroup) == SHARED]
    assert len(others) == 3
    for each in others:
        (each / "cpuset.cpus").write_text("0-223\n")
    node.told.append(as_assigned(pods_of(node), "train-0", "60-63"))
    mount = node.root / "sys/fs/cgroup"
    eventually(
        lambda: {str(each.relative_to(mount)) for each in others} <= node.watch._changed, SECONDS
    )
    node.binder.work()
    assert cpus_of(node.assigned) == "60-63"
    still = [each for each in others if cpus_of(each) == "0-223"]
    assert len(still) == 2
    for _ in range(10):
        if node.binder.due() != 0:
            break
        node.binder.work()
    assert [each for each in others if cpus_of(each) == "0-223"] == []


def shared_cgroups(node: Node) -> list[Path]:
    classes = (node.root / "sys/fs/cgroup/kubepods.slice").glob("kubepods-*.slice")
    return [pod for each in sorted(classes) for pod in sorted(each.glob("*-pod*.slice"))]


@pytest.mark.parametrize(
    ("degraded", "seconds"), [(None, EVERY_TOLD), ("2 directories aren't followed", EVERY)]
)
def test_what_inotify_doesnt_tell_is_seen_after_a_while_and_sooner_where_it_tells_less(
    degraded: str | None, seconds: float, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CgroupWatch, "degraded", degraded)
    node.take_pass()
    for early in AFTER_START:
        node.ahead[0] += early
        assert node.binder.work() == Seen()
    node.take_pass()
    file = node.assigned / "cpuset.cpus"
    # A file that isn't closed after writing is no event.
    with file.open("w") as left_open:
        left_open.write("0-7\n")
        left_open.flush()
        node.ahead[0] += seconds - 5
        node.binder.work()
        assert cpus_of(node.assigned) == "0-7"
        node.ahead[0] += 5
        node.binder.work()
        assert cpus_of(node.assigned) == OWN
