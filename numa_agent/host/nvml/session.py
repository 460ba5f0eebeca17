"""The daemon's hold on NVML: open once, ask every pass, try again with growing pauses."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from numa_agent.config import CPU_DIR, NODE_DIR, NVIDIA_GPUS_DIR, OWN_MAPS, ConfigError
from numa_agent.core import cpulist
from numa_agent.core.nvml import NvmlAnswers, NvmlCondition
from numa_agent.host.nvml.calls import CallError, Calls
from numa_agent.host.nvml.conditions import NOTHING, may_open_anew, outcome, start_condition
from numa_agent.host.nvml.live import HighestIds, LiveCalls
from numa_agent.host.nvml.read import read_started
from numa_agent.host.nvml.skew import mapped_files, skew

_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
_MOST_DOUBLINGS = 10

_ANY_ID = 1023
"""The highest id assumed where the kernel's isn't known: a mask may be too long, not too short."""


class OpenCalls(Calls, Protocol):
    """NVML as something that is opened by asking `init`, and can be closed."""

    def conditions(self) -> tuple[NvmlCondition, ...]:
        """What is wrong though it answers."""
        ...

    def close(self) -> None:
        """Let go of it, until `init` is asked again."""
        ...


def live_session(option: str, host_root: Path) -> "NvmlSession":
    """The session for `auto`, `off` or the absolute path of a libnvidia-ml.so.1.

    Raises ConfigError for anything else. The machine's files below `host_root` size the masks.
    """
    if option == "off":
        return NvmlSession(None)
    if option != "auto" and not option.startswith("/"):
        raise ConfigError(
            f"nvml: {option!r}: expected auto, off or the absolute path of a libnvidia-ml.so.1"
        )
    library = None if option == "auto" else Path(option)
    module = (host_root / NVIDIA_GPUS_DIR).parent / "version"
    return NvmlSession(
        LiveCalls(library, read_highest_ids(host_root)),
        always=library is not None,
        versions=lambda: skew(_text(module), read_mapped(Path(OWN_MAPS))),
    )


class NvmlSession:
    """NVML over many passes: answers where it can, else a condition, and retries by the clock."""

    def __init__(
        self,
        calls: OpenCalls | None,
        *,
        always: bool = False,
        versions: Callable[[], str | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Take what to ask, None to ask nothing.

        `always` asks even where no GPU is expected. `versions` tells, in words, how library and
        kernel module differ. `clock` gives seconds, `jitter` a number from 0 to 1.
        """
        self._calls = calls
        self._always = always
        self._versions = versions
        self._clock = clock
        self._jitter = jitter
        self._failure: NvmlAnswers | None = None
        self._failures = 0
        self._retry_at: float | None = None

    def answers(self, *, expected: bool) -> NvmlAnswers:
        """What NVML says now; nothing where sysfs shows no NVIDIA GPU (`expected`).

        Such a machine needs no driver, and a driver that is there isn't loaded into the process.
        """
        if self._calls is None or not (expected or self._always):
            return NOTHING
        if self._failure is not None and not self._due():
            return self._failure
        try:
            answers = read_started(self._calls)
        except CallError as refusal:
            failure = replace(NOTHING, conditions=(start_condition(refusal),))
            return self._failed(self._calls, failure, curable=outcome(refusal.error).curable)
        if may_open_anew(answers.gpus):
            return self._failed(self._calls, answers, curable=True)
        self._failure, self._failures = None, 0
        return replace(answers, conditions=(*self._calls.conditions(), *answers.conditions))

    def close(self) -> None:
        """Let go of the driver; the next question opens it again."""
        if self._calls is not None:
            self._calls.close()

    def _due(self) -> bool:
        return self._retry_at is not None and self._clock() >= self._retry_at

    def _failed(self, calls: OpenCalls, failure: NvmlAnswers, *, curable: bool) -> NvmlAnswers:
        """Let go of the driver, and say so until it is time to open it again."""
        calls.close()
        found = (*calls.conditions(), *failure.conditions, *self._skew())
        by_subject = {(condition.code, condition.subject): condition for condition in found}
        self._failure = replace(failure, conditions=tuple(by_subject.values()))
        self._retry_at = self._clock() + self._pause() if curable else None
        self._failures += 1
        return self._failure

    def _pause(self) -> float:
        """Doubling from 5 s to 5 min, a quarter more or less, so that nodes don't ask in step."""
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(self._failures, _MOST_DOUBLINGS)))
        return pause * (0.75 + self._jitter() / 2)

    def _skew(self) -> tuple[NvmlCondition, ...]:
        """The mismatch of versions in words, where the files show one."""
        versions = self._versions()
        if versions is None:
            return ()
        mismatch = start_condition(CallError("LibRmVersionMismatch", versions))
        return (mismatch,)


def read_highest_ids(host_root: Path) -> HighestIds:
    """The highest ids in the kernel's `possible` files: holes and offline CPUs don't move them."""
    return HighestIds(
        cpu=_highest(host_root / CPU_DIR / "possible"),
        node=_highest(host_root / NODE_DIR / "possible"),
    )


def read_mapped(maps: Path) -> tuple[str, ...]:
    """The files in /proc/PID/maps, loaded libraries among them; none where it can't be read."""
    return mapped_files(_text(maps))


def _highest(path: Path) -> int:
    try:
        return max(cpulist.parse(_text(path)), default=_ANY_ID)
    except cpulist.CpuListError:
        return _ANY_ID


def _text(path: Path) -> str:
    """A file's text, empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
