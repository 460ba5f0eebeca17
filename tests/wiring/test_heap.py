"""The process gives back what it doesn't need any more."""

import subprocess
import sys

import pytest

from numa_agent.wiring.heap import giving_back

GROWN = """
import sys
from numa_agent.wiring.heap import giving_back

def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

act = (lambda blocks: blocks.clear())
act = giving_back(act) if sys.argv[1] == "trimmed" else act
before = rss()
blocks = [bytearray(64 << 10) for _ in range(400)]
kept = [bytearray(4096) for _ in range(16)]  # on top, so that freeing alone doesn't shrink it
act(blocks)
print(rss() - before)
"""


def grown(how: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", GROWN, how], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_freed_blocks_go_back_to_the_kernel() -> None:
    assert grown("plain") > 16
    assert grown("trimmed") < 4


def test_a_c_library_without_the_call_changes_nothing() -> None:
    def act(what: str) -> None:
        pass

    assert giving_back(act, lambda _: object()) is act


def test_what_the_act_raises_is_raised() -> None:
    def act(what: str) -> None:
        raise ValueError(what)

    with pytest.raises(ValueError, match="said"):
        giving_back(act)("said")
