"""Waiting for what somebody else does, on a computer that is busy or stands still now and then."""

import time
from collections.abc import Callable

TURN_SECONDS = 0.01
MOST_COUNTED = 0.1
"""Of a turn's sleep. Where it lasted longer the computer stood still, and all others with it."""
MOST_TIMES = 5
"""So many times the seconds are over by the clock at most: others may have been well meanwhile."""


def eventually(what: Callable[[], object], seconds: float) -> float:
    """Wait until something is true, for so many seconds at most; answers how many it took.

    Those in which the computer stood still aren't counted: nobody did anything in them.
    """
    taken, began = 0.0, time.monotonic()
    end = began + MOST_TIMES * seconds
    while not what():
        asked = time.monotonic()
        taken += asked - began
        assert taken < seconds, f"not within {seconds:g} s"
        assert asked < end, f"not within {MOST_TIMES} times {seconds:g} s"
        time.sleep(TURN_SECONDS)
        began = time.monotonic()
        taken += min(began - asked, MOST_COUNTED)
    return taken + time.monotonic() - began
