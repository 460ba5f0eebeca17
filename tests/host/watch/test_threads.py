"""One thread waits, others follow, forget and close."""

import select
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from numa_agent.host.watch import Event, Followed, Role, Watch
from tests.host.watch.events import created, written

BOUND = 30.0
"""Seconds after which a wait is given up: it never passes in a test that holds."""


@pytest.fixture
def pool(watch: Watch) -> Iterator[ThreadPoolExecutor]:
    """Threads that have ended after the test, since the watch that they wait for is closed."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield pool
        watch.close()


def in_wait(pool: ThreadPoolExecutor, watch: Watch) -> tuple[Future[list[Event]], int]:
    """A thread that waits for events without end, and its kernel id."""
    ids: Future[int] = Future()

    def wait() -> list[Event]:
        ids.set_result(threading.get_native_id())
        return watch.events(None)

    return pool.submit(wait), ids.result(BOUND)


def wake_ups(thread: int) -> int:
    """How often a thread gave its CPU up of itself, that is, fell asleep again."""
    status = Path(f"/proc/self/task/{thread}/status").read_text()
    return int(status.partition("nonvoluntary")[0].rpartition(":")[2])


def test_a_waiting_thread_gets_what_happens(
    watch: Watch, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    watch.follow(tmp_path, Role.CGROUP)
    waiting, _ = in_wait(pool, watch)
    (tmp_path / "pod1").mkdir()
    assert waiting.result(BOUND) == [created(tmp_path / "pod1")]


def test_a_waiting_thread_gets_what_another_thread_s_follow_finds(
    watch: Watch, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    (tmp_path / "pod1").mkdir()
    waiting, _ = in_wait(pool, watch)
    watch.follow(tmp_path, Role.CGROUP)
    assert waiting.result(BOUND) == [created(tmp_path / "pod1")]


def test_closing_wakes_the_thread_that_waits(watch: Watch, pool: ThreadPoolExecutor) -> None:
    waiting, _ = in_wait(pool, watch)
    watch.close()
    assert waiting.result(BOUND) == []
    assert watch.closed


def test_after_closing_nothing_is_followed_told_or_raised(watch: Watch, tmp_path: Path) -> None:
    watch.follow(tmp_path, Role.CGROUP)
    (tmp_path / "pod1").mkdir()
    watch.close()
    watch.close()
    assert watch.events(None) == []
    assert watch.follow(tmp_path, Role.CGROUP) is Followed.REFUSED
    watch.forget(tmp_path)
    assert watch.followed == frozenset()


def test_nobody_wakes_while_nothing_happens(
    watch: Watch, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    (tmp_path / "cpuset.cpus").write_text("0\n")
    watch.follow(tmp_path, Role.CGROUP)
    waiting, thread = in_wait(pool, watch)
    counts = [wake_ups(thread)]
    # The first spans may still see the thread go to sleep; one that polls wakes in each of them.
    while len(counts) < 20 and (len(counts) < 2 or counts[-1] != counts[-2]):
        time.sleep(0.2)
        (tmp_path / "cpuset.cpus").read_text()
        counts.append(wake_ups(thread))
    assert counts[-1] == counts[-2]
    assert not waiting.done()
    (tmp_path / "cpuset.cpus").write_text("1\n")
    assert waiting.result(BOUND) == [written(tmp_path / "cpuset.cpus")]


def test_a_wait_ends_at_its_time_without_an_event(watch: Watch, tmp_path: Path) -> None:
    watch.follow(tmp_path, Role.CGROUP)
    assert watch.events(0.05) == []
    assert not watch.closed


def test_what_isn_t_told_doesn_t_end_the_wait(
    watch: Watch, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    watch.follow(tmp_path, Role.CGROUP)
    waiting, _ = in_wait(pool, watch)
    (tmp_path / "cpu.max").write_text("max\n")
    (tmp_path / "pod1").mkdir()
    assert waiting.result(BOUND) == [created(tmp_path / "pod1")]


def test_its_descriptor_is_readable_while_there_is_something_to_get(
    watch: Watch, tmp_path: Path
) -> None:
    poller = select.poll()
    poller.register(watch.fileno(), select.POLLIN)
    assert poller.poll(0) == []
    (tmp_path / "pod1").mkdir()
    watch.follow(tmp_path, Role.CGROUP)
    assert poller.poll(0) != []
    assert watch.events(0) == [created(tmp_path / "pod1")]
    assert poller.poll(0) == []
    (tmp_path / "pod2").mkdir()
    assert poller.poll(0) != []
    assert watch.events(0) == [created(tmp_path / "pod2")]
    assert poller.poll(0) == []


def test_threads_that_follow_and_forget_at_once_leave_what_was_asked_last(
    watch: Watch, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    halves = [[tmp_path / f"{half}{number}" for number in range(50)] for half in "ab"]
    for path in (*halves[0], *halves[1]):
        path.mkdir()

    def churn(paths: list[Path]) -> None:
        for path in paths * 5:
            watch.follow(path, Role.CGROUP)
            watch.forget(path)
        for path in paths:
            watch.follow(path, Role.CGROUP)
            (path / "c1").mkdir()

    done = [pool.submit(churn, half) for half in halves]
    told: set[Path] = set()
    expected = {path / "c1" for path in (*halves[0], *halves[1])}
    end = time.monotonic() + BOUND
    while told != expected and time.monotonic() < end:
        told |= {event.target for event in watch.events(0.1)}
    assert [one.result(BOUND) for one in done] == [None, None]
    assert told == expected
    assert watch.followed == frozenset((*halves[0], *halves[1]))
