"""Runs a command at a terminal, presses Ctrl-C some times, and prints how often it was told.

python -m tests.host.measuring.at_terminal
"""

import os
import pty
import sys
import time

from numa_agent.host.measuring import Runner, StoppedError

PRESSES = 8

COMMAND = """\
import signal
wanted = {signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("ready", flush=True)
told = 0
while signal.sigtimedwait(wanted, 1 if told else 20):
    told += 1
print("told", told, flush=True)
"""


def _below() -> None:
    runner = Runner([sys.executable, "-c", COMMAND], 1, 30)
    with runner.passing_signals():
        runner.start()
        try:
            runner.wait(time.perf_counter())
        except StoppedError as stopped:
            print(stopped, flush=True)


def main() -> None:
    """Be the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        _below()
        os._exit(0)
    said = b""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            said += os.read(terminal, 1024)
        except OSError:
            break
        if said.strip() == b"ready":
            # Two that come at once are one, so that one press alone would show little.
            for _ in range(PRESSES):
                os.write(terminal, b"\x03")
                time.sleep(0.1)
    os.waitpid(pid, 0)
    print(said.decode().replace("\r", ""))


if __name__ == "__main__":
    main()
