"""What is sent in a thread of its own: when it is due, one thing after another, and no longer."""

import threading
import time
from collections.abc import Callable

from numa_agent.wiring.errands import Errands

SECONDS = 30.0


class Letters:
    """Something to send, so many times."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.sent: list[str] = []
        self.may = threading.Event()
        self.may.set()

    def due(self) -> float | None:
        return 0.0 if self.count else None

    def send_due(self) -> int:
        if not self.count:
            return 0
        assert self.may.wait(SECONDS)
        self.count -= 1
        self.sent.append(threading.current_thread().name)
        return 1


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_what_is_due_is_sent_in_its_thread_and_what_comes_later_when_it_is_poked() -> None:
    first, second = Letters(2), Letters()
    errands = Errands([first, second])
    until(lambda: len(first.sent) == 2)
    second.count = 1
    errands.poke()
    until(lambda: len(second.sent) == 1)
    errands.close()
    assert {*first.sent, *second.sent} == {"errands"}


def test_nobody_waits_for_what_is_being_sent_and_the_end_doesn_t_either() -> None:
    letters = Letters(1)
    letters.may.clear()
    errands = Errands([letters])
    begun = time.monotonic()
    errands.poke()
    errands.close()
    assert time.monotonic() - begun < SECONDS / 2
    assert letters.sent == []
    letters.may.set()


def test_after_the_end_nothing_more_is_sent() -> None:
    letters = Letters()
    errands = Errands([letters])
    errands.close()
    letters.count = 1
    errands.poke()
    time.sleep(0.05)
    assert letters.sent == []
