"""A process that loads the fake library through the real binding, and does what it is told.

The library is found by an environment variable that the loader reads at a process' start.
"""

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numa_agent.core.nvml import NvmlAnswers
from numa_agent.host.nvml.calls import CPU_AFFINITY, INIT, MEMORY_AFFINITY, UUID, CallError
from numa_agent.host.nvml.live import HighestIds, LiveCalls
from numa_agent.host.nvml.read import read
from numa_agent.host.nvml.session import NvmlSession, live_session

ROOT = Path(__file__).resolve().parents[2]

HIGHEST = HighestIds(cpu=255, node=63)


class Child:
    """The other end: `child.call("read_live")` is `read_live()` in the process."""

    def __init__(self, process: "subprocess.Popen[bytes]", answers: Path) -> None:
        self._process = process
        self.answers = answers

    def call(self, name: str, *arguments: Any) -> Any:
        """What a function of this module returned there; fails with its traceback if it raised."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        pickle.dump((name, arguments), stdin)
        stdin.flush()
        fine, reply = pickle.load(stdout)
        assert fine, reply
        return reply


@contextmanager
def child(answers: Path, **environment: str) -> Iterator[Child]:
    """A process whose library answers from a file; it ends with the block."""
    settings = os.environ | {"FAKE_NVML_FILE": str(answers)} | environment
    with subprocess.Popen(
        [sys.executable, "-m", "tests.nvml.child"],
        cwd=ROOT,
        env=settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield Child(process, answers)


@cache
def _live() -> LiveCalls:
    return LiveCalls(None, HIGHEST)


def read_live() -> NvmlAnswers:
    """All that the library says, opened anew."""
    _live().close()
    return read(_live())


def read_again() -> NvmlAnswers:
    """All that the library says, kept open."""
    return read(_live())


def affinities(cpu: int, node: int, own_cpus: set[int]) -> dict[str, Any]:
    """A GPU's CPUs and memory nodes, with masks for these highest ids, asked from some CPUs."""
    calls = LiveCalls(None, HighestIds(cpu, node))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, own_cpus)
    try:
        calls.ask(INIT)
        return {key.name: _asked(calls, key, 0) for key in (CPU_AFFINITY, MEMORY_AFFINITY)}
    finally:
        calls.close()
        os.sched_setaffinity(0, before)


def memory_nodes(node: int) -> Any:
    """A GPU's memory nodes, with a mask for this highest id, or the error's name."""
    calls = LiveCalls(None, HighestIds(HIGHEST.cpu, node))
    calls.ask(INIT)
    try:
        return _asked(calls, MEMORY_AFFINITY, 0)
    finally:
        calls.close()


def _asked(calls: LiveCalls, key: Any, argument: int | None = None) -> Any:
    try:
        return calls.ask(key, 0, argument)
    except CallError as refusal:
        return str(refusal.error)


def asked_when_closed() -> list[Any]:
    """A GPU's UUID before NVML is opened, while it is, once closed, and opened again."""
    calls = LiveCalls(None, HIGHEST)
    found = [_asked(calls, UUID)]
    for _ in range(2):
        calls.ask(INIT)
        found.append(_asked(calls, UUID))
        calls.close()
        found.append(_asked(calls, UUID))
    calls.close()
    return found


def error_after_close() -> str:
    """What the library itself answers once the last that had opened it has closed it."""
    import pynvml

    calls = _live()
    calls.ask(INIT)
    calls.close()
    calls.close()
    try:
        pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return type(error).__name__
    return "none"


def of_fork() -> tuple[NvmlAnswers, NvmlAnswers, NvmlAnswers]:
    """What a fork sees, what it still sees after closing, and what this process sees then."""
    calls = _live()
    read(calls)
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = read(calls)
        calls.close()
        os.write(sender, pickle.dumps((found, read(calls))))
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        in_fork, closed_there = pickle.load(pipe)
    os.waitpid(pid, 0)
    return in_fork, closed_there, read(calls)


def answers_of(option: str, host_root: Path) -> NvmlAnswers:
    """What a session says in its first pass, where GPUs are expected."""
    session = live_session(option, host_root)
    try:
        return session.answers(expected=True)
    finally:
        session.close()


def loaded(option: str) -> tuple[NvmlAnswers, bool]:
    """What a session says where no GPU is expected, and whether it loaded the binding for it."""
    session = live_session(option, Path("/nowhere"))
    try:
        return session.answers(expected=False), "pynvml" in sys.modules
    finally:
        session.close()


class _Patient:
    """A session whose time is set."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.session = NvmlSession(
            LiveCalls(None, HIGHEST), clock=lambda: self.seconds, jitter=lambda: 0.5
        )


@cache
def _patient() -> _Patient:
    return _Patient()


def answers_at(seconds: float) -> NvmlAnswers:
    """What one and the same session says at a time."""
    patient = _patient()
    patient.seconds = seconds
    return patient.session.answers(expected=True)


def serve() -> None:
    """Do what comes in, until nothing more comes."""
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = (True, globals()[name](*arguments))
        except Exception:
            reply = (False, traceback.format_exc())
        pickle.dump(reply, out)
        out.flush()


if __name__ == "__main__":
    serve()
