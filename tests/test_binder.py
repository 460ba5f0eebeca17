"""Binding between passes by what is told: the first pods, kubelet's state, what is remembered."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from numa_agent.agent import (
    Binder,
    Kept,
    News,
    NodeSources,
    Ports,
    Reading,
    Seen,
    binding,
    run_forever,
    run_pass,
)
from numa_agent.agent.binding import Memory
from numa_agent.agent.decisions import with_pods
from numa_agent.agent.mover import Mover
from numa_agent.core.cgroups import ContainerGroups, PodGroups
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Inputs, Options, Step, desired
from numa_agent.core.drift import Drift
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.pods import Pod, PodsRead
from numa_agent.core.report import Report
from numa_agent.core.schedulers import kube_scheduler
from tests.core.cpusets.scene import SANDBOX, asking, path, v2
from tests.machine_tree import TWO_NODES, container, container_id, cpus, pod, uid
from tests.one_pass import Kernel, kernel, static_state

RUNS = {SANDBOX: "", 1: ""}
"""A container beside its sandbox."""


@dataclass
class Watching:
    """Tells of what a test says, and of nothing else."""

    degraded: str | None = None
    is_stale: bool = False
    touched: set[str] = field(default_factory=set)
    there: frozenset[str] = frozenset()

    def follow(self, paths: Iterable[str]) -> None:
        pass

    def changed(self) -> frozenset[str]:
        found = frozenset(self.touched)
        self.touched.clear()
        return found

    def stale(self) -> bool:
        found, self.is_stale = self.is_stale, False
        return found

    def parents(self) -> tuple[str, ...]:
        return ("kubepods",)

    def pods(self) -> frozenset[str]:
        return self.there


class Heard(Mover):
    """Takes down what is wanted of it, and makes no move."""

    def __init__(self, write: Callable[[Step], None]) -> None:
        super().__init__(write)
        self.heard: list[tuple[tuple[Step, ...], ...]] = []

    def want(self, moves: Iterable[tuple[Step, ...]]) -> None:
        self.heard.append(tuple(moves))


@dataclass
class Pair:
    """The cgroups of one pod on v2, whose own has CPUs and memory nodes."""

    held: dict[str, str] = field(default_factory=lambda: {"cpus": "", "mems": ""})
    containers: dict[int, str] = field(default_factory=dict)

    def finder(self) -> Callable[[Pod], PodGroups]:
        return self.find

    def find(self, _: Pod) -> PodGroups:
        return v2(1, self.held["cpus"], mems=self.held["mems"], containers=self.containers)

    def write(self, where: str, file: str, ids: frozenset[int]) -> None:
        assert where == path(1)
        self.held[file] = render(ids)


@dataclass
class World:
    """A node in simulated time: pods that are listed late, a state that changes, and wake-ups."""

    seconds: float = 200.0
    listed: float = 0.0
    settled: float = 0.0
    """Until then kubelet's state is another at each look."""
    woken: tuple[float, ...] = ()
    now: float = 0.0
    looks: int = 0
    passes: list[tuple[float, bool]] = field(default_factory=list)
    mover: Mover | None = None
    pods: tuple[Pod, ...] = (pod(1),)

    def read_pods(self) -> PodsRead:
        if self.now < self.listed:
            raise SourceError("Pods on Node n1 aren't listed yet")
        return PodsRead(self.pods, ())

    def state(self) -> CpuManagerState:
        if self.now < self.settled:
            self.looks += 1
        return replace(static_state({}), shared=cpus("0-7") - {self.looks % 8})

    def news(self) -> tuple[tuple[Pod, ...], tuple[str, ...]] | None:
        try:
            return self.read_pods().pods, ()
        except SourceError:
            return None

    def wait(self, seconds: float) -> bool:
        end = self.now + max(seconds, 0.001)
        self.now = min([each for each in self.woken if self.now < each], default=end)
        self.now = min(self.now, end)
        return self.now > self.seconds

    def tell(self, news: News) -> None:
        if isinstance(news, Report):
            self.passes.append((round(self.now, 1), news.looked))

    def run(self) -> None:
        sources = NodeSources(
            topology=lambda: TWO_NODES,
            node=Kept("node", lambda: Node(name="n1", uid="u1")),
            pods=Kept("pods", self.read_pods),
            settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
            cpu_state=Kept("cpu-manager-state", self.state),
            memory_state=Kept("memory-manager-state", lambda: None),
            granted=Kept("podresources", lambda: None),
            cpu_info=Kept("cpuinfo", lambda: None),
        )
        at, drift = kernel(1, 2), Drift(lambda: 0.5)
        ports = Ports(
            sources=sources,
            render=kube_scheduler.publish,
            publish=lambda _: None,
            cpusets=at,
            damaged=tuple,
            drift=drift,
            clock=lambda: self.now,
            period=60.0,
            mover=self.mover,
        )
        run_forever(
            ports,
            tell=self.tell,
            wait=self.wait,
            random=random.Random(1).random,
            binder=Binder(
                at,
                Watching(),
                drift,
                lambda: self.now,
                sources.cpu_state.read,
                self.news,
                ports.memory,
            ),
        )


def test_pods_that_are_listed_after_the_first_pass_are_bound_when_the_watch_wakes_it() -> None:
    world = World(listed=1.5, woken=(2.0,))
    world.run()
    assert next(moment for moment, looked in world.passes if looked) < 3.0


def test_without_a_word_of_pods_passes_come_in_their_time() -> None:
    world = World(listed=1e9, woken=tuple(float(each) for each in range(1, 200)))
    world.run()
    assert len(world.passes) <= 6


def test_pods_that_never_change_ask_for_one_pass_where_none_may_bind() -> None:
    # kubelet's state can't be relied on, and the pods are known all the time.
    news: list[tuple[Pod, ...]] = [(pod(1),)]
    binder = _binder(kernel(1), news=lambda: (news[-1], ()))
    binder.know(None)
    binder.work()
    for _ in range(3):
        binder.know(None)
        assert binder.work() == Seen()
    news.append((pod(1), pod(2)))
    assert binder.work() == Seen(unknown=True)
    assert binder.work() == Seen()


def test_a_state_that_changed_before_it_was_followed_is_read_again_at_once() -> None:
    world = World(settled=1.0)
    world.run()
    first = next(moment for moment, looked in world.passes if looked)
    assert 1.0 <= first < 2.0


def test_a_state_that_changed_between_the_first_pass_and_following_asks_for_another_pass() -> None:
    at, state = kernel(1), static_state({})
    later = static_state({uid(2): cpus("0-1")})
    binder = _binder(at, state=lambda: later)
    binder.know(_planned(at, (pod(1),), None, state))
    assert binder.due() == 0.0
    assert binder.work() == Seen(unknown=True)
    # The next pass went by it.
    binder.know(_planned(at, (pod(1),), None, later))
    assert binder.work() == Seen()


def test_a_state_that_can_t_be_read_is_waited_for() -> None:
    binder = _binder(kernel(1), state=_damaged)
    for _ in range(2):
        binder.know(None)
        assert (binder.due(), binder.work()) == (None, Seen())


NEAR = {ASSIGNMENT: '{"version": 1, "cpus": "4-7", "mems": "1"}'}
GOOD = {ASSIGNMENT: '{"version": 1, "cpus": "0-3"}'}
BAD = {ASSIGNMENT: '{"version": 1, "cpus": "0-3,"}'}


def test_what_was_bound_between_passes_is_in_force_for_the_next_pass() -> None:
    """A bad annotation never clears a binding in force, however new that is."""
    at, memory, drift = kernel(1, 2), Memory(), Drift(lambda: 0.5)
    plain, other = pod(1), pod(2, containers=(container(2),))
    told = [(plain, other)]
    binder = _binder(at, drift=drift, news=lambda: (told[-1], ()), memory=memory)
    first = _planned(at, told[0], None)
    binding.write(at, first, drift, 0.0)
    memory.assigned = first.desired.assigned
    binder.know(first)
    told.append((replace(plain, annotations=GOOD), other))
    binder.work()
    assert at.configured[uid(1)] == cpus("0-3")
    assert memory.assigned == {uid(1): cpus("0-3")}
    bad = (replace(plain, annotations=BAD), other)
    wanted = desired(_inputs(at, bad, memory.assigned), Options())
    assert [each.code for each in wanted.refusals] == ["malformed"]
    assert {each.pod.name: each.cpus for each in wanted.targets} == {
        "p1": cpus("0-3"),
        "p2": cpus("4-7"),
    }


def test_the_daemon_s_passes_and_its_binder_share_a_memory() -> None:
    """As `run_pass` keeps it: what is bound between two passes stays bound by the second."""
    at, drift, told = kernel(1, 2), Drift(lambda: 0.5), [(pod(1), pod(2, containers=()))]
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", lambda: PodsRead(told[-1], ())),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", lambda: static_state({})),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    ports = Ports(
        sources=sources,
        render=kube_scheduler.publish,
        publish=lambda _: None,
        cpusets=at,
        damaged=tuple,
        drift=drift,
    )
    binder = Binder(
        at,
        Watching(),
        drift,
        ports.clock,
        sources.cpu_state.read,
        lambda: (told[-1], ()),
        ports.memory,
    )
    ports = replace(ports, planned=binder.know)
    run_pass(ports)
    told.append((replace(told[0][0], annotations=GOOD), told[0][1]))
    binder.work()
    told.append((replace(told[0][0], annotations=BAD), told[0][1]))
    report = run_pass(ports)
    assert [each.code for each in report.refusals] == ["malformed"]
    assert {where: render(ids) for where, ids in at.configured.items()} == {
        uid(1): "0-3",
        uid(2): "4-7",
    }


def test_a_pod_s_directory_that_is_made_anew_is_bound_at_its_coming() -> None:
    at, watching, now, drift = kernel(1), Watching(), [0.0], Drift(lambda: 0.5)
    owner = pod(1, "0-3")
    binder = _binder(at, watching=watching, drift=drift, clock=lambda: now[0])
    planned = _planned(at, (owner,), None)
    binding.write(at, planned, drift, 0.0)
    binder.know(planned)
    for moment in (0.3, 1.1, 10.5):
        now[0] = moment
        binder.work()
    assert at.configured[uid(1)] == cpus("0-3")
    # It went and came before anybody looked; its container is another one.
    at.configured.clear()
    inside = at.find

    def find(each: Pod) -> PodGroups | None:
        found = inside(each)
        anew = ContainerGroups(id=container_id(9), group=found.group) if found else None
        return None if found is None or anew is None else replace(found, containers=(anew,))

    at.find = find  # type: ignore[method-assign,assignment]
    now[0], watching.there = 12.0, frozenset({uid(1)})
    watching.touched |= {"kubepods", uid(1)}
    seen = binder.work()
    assert [render(write.step.after) for write in seen.writes] == ["0-3"]
    assert not seen.unknown
    assert drift.counts == {}


def test_a_pod_whose_directory_was_away_is_a_new_one_when_it_comes_again() -> None:
    at, watching, drift = kernel(1), Watching(), Drift(lambda: 0.5)
    binder = _binder(at, watching=watching, drift=drift)
    planned = _planned(at, (pod(1, "0-3"),), None)
    binding.write(at, planned, drift, 0.0)
    binder.know(planned)
    at.configured.clear()
    # Another pod's coming shows that this one's has gone.
    watching.touched.add("kubepods")
    watching.there = frozenset({uid(7)})
    assert binder.work() == Seen(unknown=True)
    watching.touched.add("kubepods")
    watching.there = frozenset({uid(1)})
    assert [render(each.step.after) for each in binder.work().writes] == ["0-3"]


@pytest.mark.parametrize(("containers", "written"), [({}, "1"), ({SANDBOX: ""}, "1"), (RUNS, "")])
def test_sets_that_are_lost_before_anything_ran_are_written_again(
    containers: dict[int, str], written: str
) -> None:
    """As systemd empties them when a pod's first scope comes; later, pages would move."""
    at, watching, drift = Pair(), Watching(), Drift(lambda: 0.5)
    owner = asking(pod(1, containers=()), 1 << 30)
    owner = replace(owner, annotations=NEAR)
    inputs = with_pods(
        Inputs(
            pods=(),
            decisions={},
            topology=TWO_NODES,
            observed={owner.uid: at.find(owner)},
            free_memory={0: 2 << 30, 1: 2 << 30},
        ),
        (owner,),
        (),
    )
    planned = binding.plan(inputs, Options())
    binder = _binder(cast("Any", at), watching=watching, drift=drift)
    binding.write(cast("Any", at), planned, drift, 0.0)
    assert at.held == {"cpus": "4-7", "mems": "1"}
    binder.know(planned)
    binder.work()
    at.held, at.containers = {"cpus": "", "mems": ""}, containers
    watching.touched.add(path(1))
    binder.work()
    assert at.held == {"cpus": "4-7", "mems": written}


@pytest.mark.parametrize("drop", [True, False])
def test_moves_that_wait_begin_only_once_a_pass_has_seen_what_changed(drop: bool) -> None:
    mover = Heard(lambda _: None)
    world = World(seconds=20.0, listed=1.5 if drop else 0.0, woken=(2.0,), mover=mover)
    world.run()
    # One from each pass, and one where the pods were heard of.
    assert len(mover.heard) == len(world.passes) + (2 if drop else 0)


def _inputs(
    at: Kernel, pods: tuple[Pod, ...], before: Mapping[str, frozenset[int]] | None
) -> Inputs:
    observed = {each.uid: found for each in pods if (found := at.find(each)) is not None}
    known = Inputs(pods=(), decisions={}, topology=TWO_NODES, observed=observed, before=before)
    return with_pods(known, pods, ())


def _planned(
    at: Kernel,
    pods: tuple[Pod, ...],
    before: Mapping[str, frozenset[int]] | None,
    state: CpuManagerState | None = None,
) -> binding.Planned:
    return binding.plan(replace(_inputs(at, pods, before), kubelet=state), Options())


def _damaged() -> CpuManagerState | None:
    raise SourceError("damaged")


def _binder(
    at: Kernel,
    *,
    watching: Watching | None = None,
    drift: Drift | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    state: Callable[[], CpuManagerState | None] = lambda: None,
    news: Callable[[], tuple[tuple[Pod, ...], tuple[str, ...]] | None] = lambda: None,
    memory: Memory | None = None,
) -> Binder:
    def read() -> Reading[CpuManagerState | None]:
        return Kept("cpu-manager-state", state).read()

    return Binder(
        at,
        watching or Watching(),
        drift or Drift(lambda: 0.5),
        clock,
        read,
        news,
        memory,
    )
