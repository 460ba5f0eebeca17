"""What NVML tells by itself: critical errors (XIDs) of cards, and what the driver wants done.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlEvents.html. The wait blocks in the library,
in a thread of its own: a driver that hangs keeps nobody else.
"""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numa_agent.core.backoff import doubled
from numa_agent.core.gpu_plugin import Xid
from numa_agent.host.nvml import binding
from numa_agent.host.nvml.calls import CallError

XID_CRITICAL = 0x8
"""nvmlEventTypeXidCriticalError."""
RECOVERY_ACTION = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, which drivers have from R570 on."""

_ACTIONS = {
    1: "a reset of the GPU",
    2: "a reboot of the node",
    3: "the end of its peer-to-peer traffic",
    4: "a drain and a reset of the GPU",
}
_NO_GPUS = 1
_WAIT_MS = 1000
_ADVICE_SECONDS = 30.0
_HANGS_SECONDS = 60.0
_AGAIN_SECONDS = 300.0
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0

Heard = Callable[[Xid], None]
Advised = Callable[[Mapping[str, str]], None]


class NvmlEvents:
    """Listens in a thread from `start` until `close`; opens NVML again if need be."""

    def __init__(
        self,
        library: Path | None,
        heard: Heard,
        advised: Advised,
        *,
        first_pause: float = _FIRST_PAUSE,
        longest_pause: float = _LONGEST_PAUSE,
        advice_seconds: float = _ADVICE_SECONDS,
        again_seconds: float = _AGAIN_SECONDS,
    ) -> None:
        """Take the library's path, None to let the loader find it, and who hears.

        `advised` is given, by card, what the driver wants done; both are called in the thread.
        """
        self._trouble: str | None = None
        self._alive_at = time.monotonic()
        self._library = library
        self._heard = heard
        self._advised = advised
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._advice_seconds = advice_seconds
        self._again_seconds = again_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nvml-events", daemon=True)

    @property
    def trouble(self) -> str | None:
        """Why nothing is heard, and what follows from it; None while it listens."""
        silent = time.monotonic() - self._alive_at
        if silent > _HANGS_SECONDS:
            return f"NVML's events aren't heard: the driver hasn't come back for {silent:.0f} s"
        return self._trouble

    def start(self) -> None:
        """Begin to listen."""
        self._alive_at = time.monotonic()
        self._thread.start()

    def close(self, seconds: float = 0.2) -> None:
        """End; a library that hangs is left behind."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        failures = 0
        while not self._over.is_set():
            try:
                with _Session(self._library) as session:
                    failures = 0
                    self._listen(session)
            except CallError as error:
                failures += 1
                self._trouble = f"NVML's events aren't heard: {error}; they are asked for again"
                pause = doubled(self._first_pause, self._longest_pause, failures, 1.0)
                self._alive_at = time.monotonic() + pause
                self._over.wait(pause)

    def _listen(self, session: "_Session") -> None:
        """Until the end, or until cards that couldn't be opened are worth another try."""
        self._trouble = session.trouble
        ask_at, begun = 0.0, time.monotonic()
        while not self._over.is_set():
            self._alive_at = time.monotonic()
            if session.unopened and self._alive_at - begun >= self._again_seconds:
                return
            if time.monotonic() >= ask_at:
                self._advised(session.advice())
                ask_at = time.monotonic() + self._advice_seconds
            event = session.next_event()
            if event is not None:
                self._heard(event)
                ask_at = 0.0


class _Session:
    """NVML, opened once more: it counts who uses it, so that the map's reader keeps its own."""

    def __init__(self, library: Path | None) -> None:
        """Open it and ask for the events of every card. Raises CallError."""
        if library is not None:
            binding.preload(library)
        self._nvml = binding.load()
        self._call("nvmlInitWithFlags", _NO_GPUS)
        try:
            self._set = self._call("nvmlEventSetCreate")
            self.unopened: dict[str, str] = {}
            self._cards = dict(self._opened())
            self.trouble = self._ask_events()
        except CallError:
            # Its end frees the set as well.
            self._call("nvmlShutdown")
            raise

    def __enter__(self) -> "_Session":
        return self

    def __exit__(self, *_: object) -> None:
        for name, arguments in (("nvmlEventSetFree", (self._set,)), ("nvmlShutdown", ())):
            with suppress(CallError):
                self._call(name, *arguments)

    def next_event(self) -> Xid | None:
        """The next critical error, None after a while without any. Raises CallError."""
        try:
            data = self._call("nvmlEventSetWait_v2", self._set, _WAIT_MS)
        except CallError as error:
            if error.error == "Timeout":
                return None
            raise
        if data.eventType != XID_CRITICAL:
            return None
        return Xid(self._card(data.device), int(data.eventData))

    def _card(self, handle: Any) -> str | None:
        """Whose handle it is: a lost card doesn't tell its UUID any more."""
        for card, known in self._cards.items():
            if _address(known) == _address(handle):
                return card
        try:
            told: str = binding.text(self._call("nvmlDeviceGetUUID", handle))
        except CallError:
            return None
        return told

    def advice(self) -> dict[str, str]:
        """What the driver wants done about cards, by UUID; nothing from one too old to say."""
        found = {}
        for card, handle in self._cards.items():
            with suppress(CallError, IndexError):
                value = self._call("nvmlDeviceGetFieldValues", handle, [RECOVERY_ACTION])[0]
                action = int(value.value.uiVal) if value.nvmlReturn == 0 else 0
                if action:
                    what = _ACTIONS.get(action, f"recovery action {action}")
                    found[card] = f"the driver wants {what}: drain the node and do it"
        return found

    def _opened(self) -> Iterator[tuple[str, Any]]:
        for index in range(self._call("nvmlDeviceGetCount")):
            try:
                handle = self._call("nvmlDeviceGetHandleByIndex", index)
                yield binding.text(self._call("nvmlDeviceGetUUID", handle)), handle
            except CallError as error:
                self.unopened[f"GPU {index}"] = str(error)

    def _ask_events(self) -> str | None:
        """Ask for the errors of each card; which ones don't tell them, and why."""
        silent = {**self.unopened}
        for card, handle in self._cards.items():
            try:
                supported = self._call("nvmlDeviceGetSupportedEventTypes", handle)
                if not supported & XID_CRITICAL:
                    raise CallError("NotSupported")
                self._call("nvmlDeviceRegisterEvents", handle, XID_CRITICAL, self._set)
            except CallError as error:
                silent[card] = str(error)
        if not silent:
            return None
        why = ", ".join(sorted({*silent.values()}))
        return f"errors (XIDs) aren't told by {', '.join(silent)}: {why}"

    def _call(self, name: str, *arguments: Any) -> Any:
        """A function of the binding. Raises CallError."""
        function = binding.wrapper(self._nvml, name)
        with binding.translated(self._nvml):
            return function(*arguments)


def _address(handle: Any) -> int | None:
    """What two handles of one card have in common; the binding's objects don't compare."""
    found: int | None = ctypes.cast(handle, ctypes.c_void_p).value
    return found
