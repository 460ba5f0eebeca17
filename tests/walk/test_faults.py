"""System calls of a pass fail, each with every errno that the kernel may answer, once and on."""

import errno
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.own_assignment import ASSIGNMENT
from tests.kernel.faults import Call, Fault, Faults
from tests.walk.agent import Agent, Pass
from tests.walk.node import LivePod, Node, Setup
from tests.walk.refusing import refusing

TABLE = (
    *(errno.ENOENT, errno.ENODEV, errno.EACCES, errno.EBUSY, errno.ENOSPC, errno.EINVAL),
    *(errno.ERANGE, errno.EOVERFLOW, errno.EPERM, errno.EROFS, errno.EINTR, errno.EAGAIN),
    errno.EIO,
)
GONE = {errno.ENOENT, errno.ENODEV}
KERNELS = (
    Setup(version="6.1", hierarchy="v2", driver="systemd"),
    Setup(version="5.10", hierarchy="v2", driver="cgroupfs"),
    Setup(version="6.1", hierarchy="v1", driver="cgroupfs"),
)
CALLS: tuple[Call, ...] = ("open", "write")

every_errno = pytest.mark.parametrize("error", TABLE, ids=lambda each: errno.errorcode[each])
every_kernel = pytest.mark.parametrize("setup", KERNELS, ids=str)


def own(**cpus: str) -> Mapping[str, str]:
    containers = {name: {"cpus": each} for name, each in cpus.items()}
    return {ASSIGNMENT: json.dumps({"version": 1, "containers": containers})}


class Three:
    """A node with a pod whose calls fail, one with CPUs of its own, and one that shares."""

    def __init__(self, root: Path, setup: Setup) -> None:
        self.node = Node(root, setup)
        self.seconds = 0.0
        self.one = self._pod(own(a="0", b="1"))
        self.two = self._pod(own(a="2", b="3"))
        self.shared = self._pod({})

    def _pod(self, annotations: Mapping[str, str]) -> LivePod:
        pod = self.node.admit(annotations=annotations, names=("a", "b"))
        for name in pod.names:
            # crun's inner cgroup; on v1 there is none.
            assert self.node.start(pod, name, inner=name == "b" and not self.node.v1)
        return pod

    def agent(self, faults: Faults | None = None) -> Agent:
        put = None if faults is None else faults.put
        return Agent(self.node, put=put, clock=lambda: self.seconds)

    def run(self, agent: Agent) -> Pass:
        self.seconds += 30.0
        return agent.run()

    def allowed(self, pod: LivePod) -> str:
        each = (self.node.kernel.task_allowed(live.tasks[0]) for live in pod.containers.values())
        return " ".join(map(render, each))

    def cpus(self, pod: LivePod) -> list[CpuSet]:
        return [self.node.kernel.task_allowed(each.tasks[0]) for each in pod.containers.values()]

    def faults(self, call: Call, error: int, times: int | None) -> Faults:
        return Faults(
            self.node.kernel,
            Fault(call=call, path=f"{self.one.path}/*", error=error, times=times),
        )


def errors(found: Pass) -> list[str]:
    return [each.error for each in found.report.writes if each.error is not None]


@every_kernel
@every_errno
def test_a_write_that_fails_once_is_named_costs_one_pod_and_is_made_up_for(
    error: int, setup: Setup, tmp_path: Path
) -> None:
    for call in CALLS:
        three = Three(tmp_path / call, setup)
        agent = three.agent(three.faults(call, error, 1))
        found = three.run(agent)
        assert (three.allowed(three.two), three.allowed(three.shared)) == ("2 3", "4-7 4-7")
        _check_named(found, three, error)
        settled = three.run(agent)
        assert errors(settled) == []
        assert three.allowed(three.one) == "0 1"
        assert three.run(agent).writes == []
        assert dict(agent.drift.counts) == {}


def _check_named(found: Pass, three: Three, error: int) -> None:
    if error == errno.ENODEV:
        assert errors(found) == []
        return
    (said,) = errors(found)
    assert str(three.node.mount / three.one.path) in said
    assert "wasn't taken" in said
    if error == errno.EROFS:
        assert "mount the host's /sys/fs/cgroup read-write" in said
    if error == errno.ENOENT:
        assert "the cpuset controller isn't enabled in this cgroup" in said


@every_kernel
@every_errno
def test_writes_that_always_fail_lose_nothing_and_are_made_up_for_once_they_dont(
    error: int, setup: Setup, tmp_path: Path
) -> None:
    for call in CALLS:
        three = Three(tmp_path / call, setup)
        three.run(three.agent())
        three.one.annotations = own(a="4", b="5")
        # The faults end by themselves, after more passes than a fight would be put up with.
        faults = three.faults(call, error, 8)
        agent = three.agent(faults)
        for _ in range(20):
            found = three.run(agent)
            if errors(found):
                assert three.allowed(three.one) == "0 1"
            assert three.allowed(three.two) == "2 3"
        assert len(faults.tripped) == 8
        assert three.allowed(three.one) == "4 5"
        assert three.allowed(three.shared) == "0-1,6-7 0-1,6-7"
        assert three.run(agent).writes == []
        assert dict(agent.drift.counts) == {}


@every_kernel
@every_errno
def test_a_failing_write_in_the_middle_of_a_move_leaves_a_superset_of_what_stays(
    error: int, setup: Setup, tmp_path: Path
) -> None:
    three = Three(tmp_path, setup)
    three.run(three.agent())
    places = (("0", "1"), ("4", "5"), ("0", "5"))
    for at in range(9):
        old = three.cpus(three.one)
        first, second = places[(at + 1) % 3]
        three.one.annotations = own(a=first, b=second)
        passed = _FailsAfter(three, at, error)
        agent = Agent(three.node, put=passed.put, clock=lambda: three.seconds)
        three.run(agent)
        new = [CpuSet({int(first)}), CpuSet({int(second)})]
        for had, has, gets in zip(old, three.cpus(three.one), new, strict=True):
            # What is gone by its errno and isn't leaves a container what others of its pod get.
            most = CpuSet().union(*old, *new) if error in GONE else had | gets
            assert had & gets <= has <= most
            assert has
        assert three.allowed(three.two) == "2 3"
        three.run(agent)
        assert three.allowed(three.one) == f"{first} {second}"


class _FailsAfter:
    """Takes a number of writes to the first pod, fails at the next one, and takes the rest."""

    def __init__(self, three: Three, after: int, error: int) -> None:
        self._good = Faults(three.node.kernel)
        self._bad = three.faults("write", error, 1)
        self._inside = three.node.mount / three.one.path
        self._left = after

    def put(self, path: Path, text: str) -> None:
        if path.is_relative_to(self._inside):
            self._left -= 1
            if self._left < 0:
                return self._bad.put(path, text)
        return self._good.put(path, text)


@every_kernel
@every_errno
def test_an_open_that_fails_anywhere_in_a_pass_costs_one_pod_at_most(
    error: int, setup: Setup, tmp_path: Path
) -> None:
    three = Three(tmp_path, setup)
    agent = three.agent()
    three.run(agent)
    with refusing() as counted:
        three.run(agent)
    # Each errno fails at other places, so that together they are everywhere.
    for at in range(TABLE.index(error), len(counted.names), len(TABLE)):
        old = {pod.number: three.cpus(pod) for pod in three.node.pods.values()}
        left = old[three.one.number][0] == CpuSet({4})
        three.one.annotations = own(a="0", b="1") if left else own(a="4", b="5")
        with refusing(at, error) as refused:
            found = three.run(agent)
        assert refused.happened
        late = {pod.number: three.cpus(pod) for pod in three.node.pods.values()}
        settled = three.run(agent)
        now = {pod.number: three.cpus(pod) for pod in three.node.pods.values()}
        assert errors(settled) == []
        assert settled.report.failures == ()
        assert now[three.one.number] == ([{0}, {1}] if left else [{4}, {5}])
        assert now[three.two.number] == old[three.two.number] == [{2}, {3}]
        assert now[three.shared.number] == ([{4, 5, 6, 7}] if left else [{0, 1, 6, 7}]) * 2
        wrong = [number for number, each in late.items() if each != now[number]]
        assert len(wrong) <= 1
        for number in wrong:
            for had, has, gets in zip(old[number], late[number], now[number], strict=True):
                assert had & gets <= has <= CpuSet().union(*old[number], *now[number])
        if wrong and error not in GONE:
            assert [*errors(found), *found.report.failures], refused.names[at]


@every_kernel
def test_a_container_that_vanishes_at_any_moment_of_the_writes_is_no_error(
    setup: Setup, tmp_path: Path
) -> None:
    for at in range(6):
        three = Three(tmp_path / str(at), setup)
        agent = Agent(three.node, put=_Vanishing(three, at).put)
        found = three.run(agent)
        assert errors(found) == []
        assert found.report.failures == ()
        assert (three.allowed(three.two), three.allowed(three.shared)) == ("2 3", "4-7 4-7")
        assert three.run(agent).writes == []


class _Vanishing:
    """Takes writes; before one of them the first pod's second container ends."""

    def __init__(self, three: Three, before: int) -> None:
        self._three = three
        self._left = before

    def put(self, path: Path, text: str) -> None:
        if self._left == 0:
            self._three.node.stop(self._three.one, "b")
        self._left -= 1
        self._three.node.kernel.put(path, text)
