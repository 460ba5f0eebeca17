"""Running a command in turn, as if it had been started by itself."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from numa_agent.core.errors import SourceError
from numa_agent.host.measuring.leftovers import adopt, children, end_children

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that a command gets and that end the trial."""

PASSED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)

GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL for a command that takes too long."""


class StoppedError(Exception):
    """A signal that ends the trial came; the command has had it too, and has ended."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: wall seconds, and its exit code or the signal that ended it."""

    seconds: float
    exit_code: int | None
    signal: int | None
    timed_out: bool


class Runner:
    """Runs one command again and again, with its output in one open file.

    It has this process's environment, folder and process group; its input is empty, since the
    first run would read it all. Where a run is ended before its time, so is what it has started.
    """

    def __init__(self, command: Sequence[str], output: int, timeout: float) -> None:
        """Take the words, a descriptor for what it says, and the seconds that a run may take."""
        self._command = list(command)
        self._output = output
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._others: frozenset[int] = frozenset()
        self._ending: int | None = None
        self._timed_out = False

    @contextmanager
    def passing_signals(self) -> Iterator[None]:
        """Pass signals on to the command in this block. Only in the main thread."""
        before = {number: signal.getsignal(number) for number in PASSED}
        # What is ignored (nohup) stays so, and the command inherits it.
        taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        for number in taken:
            signal.signal(number, self._pass)
        try:
            yield
        finally:
            for number in taken:
                signal.signal(number, before[number])

    def start(self) -> None:
        """Start the command; it inherits where this thread may run. Raises SourceError."""
        self._stop_if_asked()
        self._timed_out = False
        self._others = children()
        adopt(orphans=True)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - it is what the user asked for
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
            )
        except (OSError, ValueError) as error:
            adopt(orphans=False)
            why = error.strerror if isinstance(error, OSError) else error
            raise SourceError(f"{self._command[0]}: can't be started: {why}") from error
        if self._ending is not None:
            # It came while there was no process yet to pass it to.
            self._process.send_signal(self._ending)

    def wait(self, began: float) -> Ended:
        """Wait for its end; `began` is when it was started, by time.perf_counter.

        Raises StoppedError when a signal came that ends the trial.
        """
        process = self._process
        if process is None:
            raise SourceError("no command runs")
        timer = threading.Timer(self._timeout, self._stop_late, [process])
        timer.daemon = True
        timer.start()
        try:
            # With a timeout it would look only every 50 ms.
            code = process.wait()
        finally:
            seconds = time.perf_counter() - began
            timer.cancel()
            self._process = None
        timer.join(2 * GRACE)
        if self._timed_out or self._ending is not None:
            end_children(self._others, GRACE)
        adopt(orphans=False)
        self._stop_if_asked()
        return Ended(
            seconds=seconds,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=self._timed_out,
        )

    def _stop_if_asked(self) -> None:
        if self._ending is not None:
            raise StoppedError(self._ending)

    def _pass(self, number: int, _: FrameType | None) -> None:
        if number in ENDING:
            self._ending = number
        process = self._process
        if process is not None and not _from_terminal(number):
            process.send_signal(number)

    def _stop_late(self, process: "subprocess.Popen[bytes]") -> None:
        self._timed_out = True
        process.terminate()
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            if process.returncode is not None:
                return
            time.sleep(0.05)
        process.kill()


def _from_terminal(number: int) -> bool:
    """Whether the terminal sent it, to the whole process group and so to the command as well."""
    if number not in (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH):
        return False
    for descriptor in range(3):
        try:
            return os.tcgetpgrp(descriptor) == os.getpgrp()
        except OSError:
            continue
    return False
