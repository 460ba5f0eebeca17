"""Moves of pages: one at a time, never in the way of anything else."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from numa_agent.agent.mover import LONG_SECONDS, Mover
from numa_agent.core.cpusets import Step
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.report import Write

SECONDS = 30.0


def step(path: str, *nodes: int) -> Step:
    return Step(
        path=path,
        file="mems",
        before=frozenset({0, 1}),
        after=frozenset(nodes),
        pod=f"shop/{path}",
        container="",
        reason="it was decided",
    )


@dataclass
class Kernel:
    """Writes that last until they are let go."""

    started: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    written: list[Step] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    fails: SourceError | None = None

    def write(self, each: Step) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.started.release()
        assert self.go.acquire(timeout=SECONDS)
        self.at_once -= 1
        if self.fails is not None:
            raise self.fails
        self.written.append(each)

    def let_go(self, count: int = 1) -> None:
        for _ in range(count):
            self.go.release()


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.let_go(10)


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def mover(kernel: Kernel, now: list[float]) -> Iterator[Mover]:
    made = Mover(kernel.write, clock=lambda: now[0], pause=0.0)
    yield made
    made.close()


def finished(mover: Mover, count: int) -> list[Write]:
    """The first so many results, waited for."""
    found: list[Write] = []
    for _ in range(1000):
        found += mover.done()
        if len(found) >= count:
            return found
        threading.Event().wait(SECONDS / 1000)
    raise AssertionError(f"{len(found)} of {count} moves ended")


def test_to_offer_a_move_doesnt_wait_for_it(kernel: Kernel, mover: Mover) -> None:
    mover.want([(step("a", 1),)])
    assert kernel.started.acquire(timeout=SECONDS)
    assert (kernel.written, mover.done()) == ([], ())
    kernel.let_go()
    assert finished(mover, 1) == [Write(step=step("a", 1), error=None)]
    assert mover.done() == ()


def test_moves_are_made_one_at_a_time_in_their_order(kernel: Kernel, mover: Mover) -> None:
    mover.want([(step(name, 1),) for name in "abc"])
    kernel.let_go(3)
    assert [each.step.path for each in finished(mover, 3)] == ["a", "b", "c"]
    assert kernel.most == 1


def test_what_is_wanted_no_more_isnt_made_and_what_is_on_isnt_made_twice(
    kernel: Kernel, mover: Mover
) -> None:
    mover.want([(step("a", 1),), (step("b", 0),), (step("c", 0),)])
    assert kernel.started.acquire(timeout=SECONDS)
    mover.want([(step("a", 1),), (step("b", 1),)])
    kernel.let_go(2)
    finished(mover, 2)
    assert kernel.written == [step("a", 1), step("b", 1)]
    mover.want([])
    assert not kernel.started.acquire(timeout=0.2) or kernel.written[-1] == step("b", 1)


def test_the_steps_of_a_pod_end_with_the_first_that_fails(kernel: Kernel, mover: Mover) -> None:
    kernel.fails = SourceError("no room there")
    first, second = step("a", 0, 1), replace(step("a", 1), path="a/nested")
    mover.want([(first, second)])
    kernel.let_go(2)
    assert [each.step for each in finished(mover, 1)] == [first]
    kernel.started.acquire(timeout=SECONDS)
    assert not kernel.started.acquire(timeout=0.2)


def test_a_move_that_lasts_long_is_told_of_with_what_waits(
    kernel: Kernel, mover: Mover, now: list[float]
) -> None:
    mover.want([(step("a", 1),), (step("b", 1),)])
    assert kernel.started.acquire(timeout=SECONDS)
    assert mover.conditions() == ()
    now[0] = LONG_SECONDS
    (condition,) = mover.conditions()
    assert condition.code == "move-lasts-long"
    assert "pod shop/a: the kernel has moved its pages for 60 s" in condition.message
    assert condition.message.endswith("1 more wait")
    kernel.let_go(2)
    finished(mover, 2)
    assert mover.conditions() == ()


def test_a_move_that_fails_is_told_and_the_next_one_is_made(kernel: Kernel, mover: Mover) -> None:
    kernel.fails = SourceError("no room there")
    mover.want([(step("a", 1),)])
    kernel.let_go()
    assert finished(mover, 1)[0].error == "no room there"
    kernel.fails = GoneError("gone")
    mover.want([(step("b", 1),)])
    kernel.let_go()
    assert finished(mover, 1)[0].error is None


def test_after_the_end_nothing_more_is_begun(kernel: Kernel, mover: Mover) -> None:
    mover.want([(step("a", 1),)])
    assert kernel.started.acquire(timeout=SECONDS)
    mover.want([(step("b", 1),)])
    mover.close()
    kernel.let_go(2)
    finished(mover, 1)
    mover.want([(step("c", 1),)])
    assert not kernel.started.acquire(timeout=0.2)
    assert kernel.written == [step("a", 1)]
