"""A thread that dies ends the process: kubelet starts it again."""

import subprocess
import sys
from pathlib import Path

DEAD_THREAD = """
import threading, time
from numa_agent.wiring.daemon import end_process
threading.excepthook = end_process
def fail():
    raise RuntimeError("the watch broke")
threading.Thread(target=fail, name="cgroup-watch").start()
time.sleep(300)
"""


def test_an_unexpected_error_in_a_thread_ends_the_process_with_its_message() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DEAD_THREAD], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 70
    assert "the watch broke" in ended.stderr
    assert "cgroup-watch" in ended.stderr


def test_it_ends_the_process_where_its_message_can_t_be_written_too() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([sys.executable, "-c", DEAD_THREAD], stderr=full, timeout=120)
    assert ended.returncode == 70
