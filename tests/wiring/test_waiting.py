"""What the loop waits for, and an end within a second whatever the process is stuck in."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from numa_agent.wiring.waiting import Waiting
from tests.waits import eventually

ENDS_SECONDS = 4.0
"""A second, and what a busy computer adds; what it is stuck in takes longer."""
WAKES_SECONDS = 20.0
"""Much less than is waited for."""

STUCK = """
import ctypes, select, sys, time
from numa_agent.wiring.waiting import Waiting

def sleeps():
    while True:
        time.sleep(0.05)

def takes_every_error():
    while True:
        try:
            select.select([], [], [], 300)
        except BaseException:
            pass

def deadlocks_in_a_library():
    # As a driver's call may: no signal ends it, and no handler of Python runs meanwhile.
    library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    while True:
        library.pthread_mutex_lock(mutex)

with Waiting() as waiting:
    waiting.end_at_signals()
    print("stuck", flush=True)
    globals()[sys.argv[1]]()
"""


@pytest.mark.parametrize("where", ["sleeps", "takes_every_error", "deadlocks_in_a_library"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whatever_it_is_stuck_in_it_ends_within_a_second_and_says_so(
    where: str, number: signal.Signals
) -> None:
    stuck = subprocess.Popen(
        [sys.executable, "-c", STUCK, where], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert stuck.stdout is not None
        assert stuck.stdout.readline() == b"stuck\n"
        # Until it is.
        time.sleep(0.1)
        stuck.send_signal(number)
        eventually(lambda: stuck.poll() is not None, ENDS_SECONDS)
        _, printed = stuck.communicate(timeout=60)
    finally:
        stuck.kill()
        stuck.wait(10)
    assert stuck.returncode == 0
    assert b"ended in the middle of a pass that waits" in printed


def test_it_ends_where_nobody_reads_what_it_says() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x" * fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ))
    command = [sys.executable, "-c", STUCK, "sleeps"]
    stuck = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writing)
    try:
        assert stuck.stdout is not None
        stuck.stdout.readline()
        stuck.terminate()
        eventually(lambda: stuck.poll() is not None, ENDS_SECONDS)
        assert stuck.returncode == 0
    finally:
        stuck.kill()
        stuck.communicate(timeout=10)
        os.close(reading)
        os.close(writing)


STORM = """
import signal, time
from numa_agent.wiring.waiting import Waiting

with Waiting() as waiting:
    signal.signal(signal.SIGPROF, lambda *_: waiting.wake())
    signal.setitimer(signal.ITIMER_PROF, 0.0001, 0.0001)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert not waiting(0.0001)
    signal.setitimer(signal.ITIMER_PROF, 0)
print("through")
"""


def test_a_signal_in_the_middle_of_a_wait_may_wake_it() -> None:
    done = subprocess.run([sys.executable, "-c", STORM], capture_output=True, timeout=120)
    assert done.stdout == b"through\n", done.stderr


def test_a_wake_up_ends_the_wait_that_is_on_or_the_next_one_and_no_other() -> None:
    with Waiting() as waiting:
        waiting.wake()
        waiting.wake()
        assert taken(waiting, 60.0) < WAKES_SECONDS
        assert taken(waiting, 0.2) >= 0.19
        other = threading.Timer(0.1, waiting.wake)
        other.start()
        assert taken(waiting, 60.0) < WAKES_SECONDS
        other.join()


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 1e12, float("inf")])
def test_any_time_can_be_waited_for(seconds: float) -> None:
    with Waiting() as waiting:
        waiting.wake()
        assert not waiting(seconds)
        waiting.end()
        assert waiting(seconds)


LIVES_ON = """
import os, signal, time
from numa_agent.wiring.waiting import Waiting

with Waiting() as waiting:
    waiting.end_at_signals()
    os.kill(os.getpid(), signal.SIGTERM)
    assert waiting(60)
time.sleep(1.2)
print("lives")
"""


def test_who_ended_in_time_is_not_cut_short() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIVES_ON], capture_output=True, timeout=120, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("lives\n", "", 0)


def taken(waiting: Waiting, seconds: float) -> float:
    began = time.monotonic()
    waiting(seconds)
    return time.monotonic() - began
