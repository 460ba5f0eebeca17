"""A clock that jumps: the time of day moves nothing but the stamps of Events.

libfaketime (Debian) moves the clock of this process alone, and leaves the monotonic one.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.daemon import AT_ONCE, Daemon, eventually
from tests.chaos.lengthy import Scene, lengthy
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST
from tests.chaos.test_life import taken

pytestmark = pytest.mark.apiserver

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
DAY = 86400.0
STAMP = "numa_agent_last_pass_timestamp_seconds"


@lengthy
def test_a_clock_that_jumps_a_day_ahead_and_a_month_back_moves_no_pass_and_no_binding(
    scene: Scene,
) -> None:
    if LIBRARY is None:
        pytest.skip("needs libfaketime: apt-get install libfaketime")
    node = scene.make_node()
    clock = node.folder / "clock"
    clock.write_text("+0\n")
    faked = {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    # A pod for each jump: a set that drifts again and again is put back later and later.
    own = ("80-83", "84-87", "88-91")
    pods = [node.machine.start(node.pod(f"p{cpus[:2]}", cpus)) for cpus in own]
    agent = node.agent(environment=faked)
    node.until(agent.quiet)
    for jump, cpus, file in zip(("+1d", "-30d", "+0d"), own, pods, strict=True):
        clock.write_text(f"{jump}\n")
        node.until(stamped(agent, float(jump[:-1]) * DAY))
        passes = taken(agent)
        settle(file, ALL_CPUS)
        eventually(holds(file, cpus), AT_ONCE)
        assert agent.page("/healthz")[0] == 200
        assert agent.ready()
        # No storm of passes, and no watch that takes its time to be over.
        assert taken(agent) <= passes + 2
    late = node.machine.start(node.pod("late", FIRST))
    eventually(holds(late, FIRST), AT_ONCE)
    eventually(lambda: node.available() == ["110", "76"])
    node.until(agent.quiet)


def stamped(agent: Daemon, ahead: float) -> Callable[[], bool]:
    """Asks whether the last pass was taken so many seconds ahead of our clock, to an hour."""
    return lambda: abs(agent.metric(STAMP) - time.time() - ahead) < DAY / 24
