"""What becomes of a pod's other files where somebody else keeps writing one, and of moves."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from numa_agent.agent import Kept, Mover, NodeSources, binding, moving, run_pass
from numa_agent.agent.binding import Planned
from numa_agent.core.cgroups import File, PodGroups, TasksAllowed
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Desired, Inputs, Options, PodTarget, Step, steps
from numa_agent.core.drift import Drift
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.node import Node
from numa_agent.core.pods import PodsRead
from tests.core.cpusets.scene import path, v1, v2
from tests.machine_tree import TWO_NODES, container, cpus, pod
from tests.one_pass import Cluster, kernel, ports

TWO = pod(1, containers=(container(1), container(2)))
SHARING = PodTarget(pod=TWO, cpus=cpus("4-7"), mems=None, reason="it shares")
NOTHING = Desired(targets=(), assigned={}, refusals=(), left_alone=(), conditions=())


@dataclass
class Cpusets:
    """Takes writes down, and refuses some paths."""

    written: list[str] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)

    def write(self, where: str, file: File, ids: frozenset[int]) -> None:
        if where in self.refuses:
            raise SourceError(f"{where}: wasn't taken")
        short = "pod" if where == path(1) else f"c{int(where.rpartition('/')[2], 16)}"
        self.written.append(f"{short} {file}={render(ids)}")

    def finder(self) -> "Cpusets":
        raise AssertionError("nobody is looked for")

    def __call__(self, _: object) -> PodGroups | None:
        raise AssertionError("nobody is looked for")

    def tasks_allowed(self, where: str) -> TasksAllowed:
        raise AssertionError(where)

    def memory(self, where: str, leaves: Sequence[str] = ()) -> MemoryUse | None:
        raise AssertionError(where)

    def open_devices(self, where: str, leaves: Sequence[str]) -> frozenset[str]:
        raise AssertionError(where)

    def quota(self, where: str) -> float | None:
        raise AssertionError(where)

    def check_writable(self) -> None:
        raise AssertionError("nobody asks")

    def lift_quota(self, where: str) -> None:
        raise AssertionError(where)


@dataclass
class Fighting:
    """A pod's cgroups that others write, looked at from time to time."""

    target: PodTarget = SHARING
    cpusets: Cpusets = field(default_factory=Cpusets)
    drift: Drift = field(default_factory=lambda: Drift(lambda: 0.5))
    now: float = 0.0

    def planned(self, own: tuple[Step, ...]) -> Planned:
        inputs = Inputs(pods=(TWO,), decisions={}, topology=TWO_NODES)
        return Planned(
            inputs=inputs, options=Options(), desired=NOTHING, steps=((self.target, own),)
        )

    def look(self, groups: PodGroups, after: float = 70.0) -> tuple[list[str], list[str]]:
        """What is written, and the codes of what is said."""
        self.now += after
        self.cpusets.written.clear()
        planned = self.planned(steps(self.target, groups))
        _, said = binding.write(self.cpusets, planned, self.drift, self.now)
        return list(self.cpusets.written), [each.code for each in said]

    def until_conflict(self, groups: PodGroups) -> None:
        """Let somebody change the same files at each look."""
        for _ in range(10):
            if self.look(groups)[1] == ["drift-conflict"]:
                return
        raise AssertionError("there is no conflict")


def test_v1_a_container_that_restarts_is_bound_beside_one_in_conflict() -> None:
    found = Fighting()
    found.look(v1(1, {1: "0-7", 2: "0-7"}))
    found.until_conflict(v1(1, {1: "0-7", 2: "4-7"}))
    counts = dict(found.drift.counts)
    # One that has gone is forgotten, so that its next one is new.
    found.drift.keep({f"{path(1, 1)}/cpuset.cpus"})
    assert found.look(v1(1, {1: "0-7", 2: "0-7"})) == (["c2 cpus=4-7"], ["drift-conflict"])
    assert found.drift.counts == counts


def test_v2_a_container_with_a_part_of_the_pod_s_is_bound_below_a_directory_in_conflict() -> None:
    target = PodTarget(pod=TWO, cpus=cpus("2-3"), mems=None, reason="its own")
    found = Fighting(target=target)
    found.look(v2(1, "0-7", containers={1: "", 2: ""}))
    found.until_conflict(v2(1, "0-7", containers={1: "", 2: ""}))
    # Somebody left a container wider than what its pod shall have.
    written, said = found.look(v2(1, "0-7", containers={1: "0-3", 2: ""}))
    assert (written, said) == (["c1 cpus=2-3"], ["drift-conflict"])


def test_v2_a_pod_is_narrowed_around_a_container_in_conflict() -> None:
    """Else it stays on what is another pod's by now."""
    found = Fighting()
    own = (
        _step(path(1, 1), "0-7", "4-5"),
        _step(path(1), "0-7", "4-7"),
    )
    inner = (own[0],)
    for _ in range(10):
        found.now += 70.0
        _, said = binding.write(found.cpusets, found.planned(inner), found.drift, found.now)
    assert [each.code for each in said] == ["drift-conflict"]
    found.cpusets.written.clear()
    binding.write(found.cpusets, found.planned(own), found.drift, found.now)
    assert found.cpusets.written == ["pod cpus=4-7"]


def test_what_was_held_back_is_no_drift_later() -> None:
    found = Fighting()
    wide, move = _step(path(1), "0-3", "0-7"), _step(path(1, 1), "0-3", "4-5")
    for _ in range(10):
        found.now += 70.0
        _, said = binding.write(found.cpusets, found.planned((wide,)), found.drift, found.now)
    assert [each.code for each in said] == ["drift-conflict"]
    counts, found.cpusets.written = dict(found.drift.counts), []
    for _ in range(10):
        found.now += 70.0
        binding.write(found.cpusets, found.planned((wide, move)), found.drift, found.now)
    assert found.cpusets.written == []
    assert found.drift.counts == counts
    assert list(found.drift.conflicts) == [f"{path(1)}/cpuset.cpus"]


def test_v1_a_container_whose_write_is_refused_keeps_no_other_one_from_being_bound() -> None:
    found = Fighting()
    found.cpusets.refuses = {path(1, 1)}
    for _ in range(3):
        written, said = found.look(v1(1, {1: "0-7", 2: "0-7"}))
        assert (written, said) == (["c2 cpus=4-7"], [])
        found.drift.keep(())


def _step(where: str, before: str, after: str, file: File = "cpus") -> Step:
    return Step(
        path=where,
        file=file,
        before=cpus(before),
        after=cpus(after),
        pod=TWO.full_name,
        container="",
        reason="it was decided",
    )


MOVE = _step(path(1), "0-1", "0", "mems")


@dataclass
class Moves:
    """A mover whose writes last until they are let go."""

    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    written: list[str] = field(default_factory=list)
    fails: bool = False
    started: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def write(self, step: Step) -> None:
        self.started.release()
        assert self.go.acquire(timeout=30)
        self.ended.release()
        if self.fails:
            raise SourceError("no room there")
        self.written.append(step.path)


@pytest.fixture
def moves() -> Moves:
    return Moves()


@pytest.fixture
def mover(moves: Moves) -> Iterator[Mover]:
    made = Mover(moves.write, pause=0.0)
    yield made
    made.close()
    moves.go.release(50)


def passed(found: Fighting, mover: Mover, *own: Step) -> list[str]:
    """One pass over these steps; what it says."""
    found.now += 50.0
    planned = found.planned(own)
    _, said = moving.written(found.cpusets, planned, found.drift, found.now, mover)
    return [each.code for each in said if each.code.startswith("drift-")]


def finish(mover: Mover, moves: Moves, count: int = 1) -> None:
    """Let so many moves end, and wait until the mover knows."""
    for _ in range(count):
        moves.go.release()
        assert moves.ended.acquire(timeout=30)
    for _ in range(1000):
        if not mover.asked():
            return
        threading.Event().wait(0.01)
    raise AssertionError("moves go on")


def test_moves_that_somebody_takes_back_end_in_a_conflict_as_cpus_do(
    mover: Mover, moves: Moves
) -> None:
    found = Fighting()
    said: list[list[str]] = []
    for _ in range(12):
        said.append(passed(found, mover, MOVE))
        if mover.asked():
            finish(mover, moves)
        # The pass after a move may have looked before it was made: it leaves the file alone.
        moving.written(found.cpusets, found.planned(()), found.drift, found.now, mover)
    assert len(moves.written) == 6
    assert said[-1] == ["drift-conflict"]
    assert list(found.drift.conflicts) == [f"{path(1)}/cpuset.mems"]


def test_a_move_that_waits_or_lasts_is_no_drift(mover: Mover, moves: Moves) -> None:
    found = Fighting()
    other = _step(f"{path(1)}x", "0-1", "1", "mems")
    for _ in range(20):
        assert passed(found, mover, MOVE, other) == []
    finish(mover, moves, 2)
    # This pass looked before the moves ended.
    assert passed(found, mover, MOVE, other) == []
    assert not mover.asked()
    assert (sorted(moves.written), found.drift.counts) == ([path(1), f"{path(1)}x"], {})
    assert passed(found, mover, MOVE) == []
    assert sum(found.drift.counts.values()) == 1


def test_a_move_that_fails_or_is_given_up_is_no_drift_later(mover: Mover, moves: Moves) -> None:
    found = Fighting()
    moves.fails = True
    after = _step(f"{path(1)}/n", "0-1", "0", "mems")
    for _ in range(12):
        assert passed(found, mover, MOVE, after) == []
        finish(mover, moves)
        assert moves.started.acquire(timeout=30)
    assert found.drift.counts == {}
    mover.want([(_step("kubepods/other", "0-1", "0", "mems"),)])
    assert moves.started.acquire(timeout=30)
    for _ in range(12):
        # Another pod's lasts, and these never begin.
        assert passed(found, mover, MOVE, after) == []
        moving.written(found.cpusets, None, found.drift, found.now, mover)
    assert found.drift.counts == {}


def test_memory_nodes_that_cpus_need_on_older_kernels_come_before_them_and_not_by_the_mover(
    mover: Mover,
) -> None:
    found = Fighting()
    spelt, narrow = _step(path(1), "", "0-1", "mems"), _step(path(1), "", "0-3")
    passed(found, mover, spelt, narrow, MOVE)
    assert found.cpusets.written == ["pod mems=0-1", "pod cpus=0-3"]
    assert mover.asked() == {MOVE}


def test_a_pass_in_which_nothing_may_be_bound_begins_no_move(mover: Mover, moves: Moves) -> None:
    """kubelet's state isn't known: whose memory it is isn't either."""
    others = [_step(f"{path(1)}{n}", "0-1", "0", "mems") for n in range(3)]
    mover.want([(MOVE,), *((each,) for each in others)])
    assert moves.started.acquire(timeout=30)
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", lambda: PodsRead((), ())),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", _damaged),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    of_pass = replace(ports(sources, kernel(), Cluster().publish), mover=mover)
    assert not run_pass(of_pass).looked
    finish(mover, moves)
    assert moves.written == [path(1)]


def _damaged() -> CpuManagerState | None:
    raise SourceError("damaged")
