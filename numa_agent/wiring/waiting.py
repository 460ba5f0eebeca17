"""What the loop waits for: its time, a wake-up from another thread, or the end."""

import os
import select
import signal
from contextlib import suppress
from threading import Event, Thread
from typing import Self

END_SECONDS = 0.5
"""To the end of the process, whatever it waits for: SIGTERM ends it within a second."""

_CUT_SHORT = b"numa-agent run: ended in the middle of a pass that waits; the next start goes on\n"

_STDERR = 2

_MOST_SECONDS = 3600.0
"""poll(2) counts milliseconds in an int."""

_ENDING = (signal.SIGTERM, signal.SIGINT)


class Waiting:
    """Waits in the main thread; `wake` may be called by any, and by a signal's handler.

    A handler runs in the middle of what the main thread does, so no lock may be taken in it.
    """

    def __init__(self) -> None:
        """Nothing has happened yet. Raises OSError where no more files may be opened."""
        # Others may wake it until the process ends, so that it is never closed.
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._ending = False
        self._over = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def wake(self) -> None:
        """End the wait that is on, or the next one."""
        os.eventfd_write(self._bell, 1)

    def end(self, *_: object) -> None:
        """Let the loop end after what it does now."""
        self._ending = True
        self.wake()

    def end_at_signals(self) -> None:
        """End at SIGTERM, which kubelet sends, and at SIGINT, within a second.

        A pass may wait for kubelet or the API server, or be stuck in a driver. The process then
        ends in the middle of it, which loses nothing: each write is legal by itself.
        """
        told, telling = os.pipe()
        os.set_blocking(telling, False)
        # The interpreter writes it at once, while handlers wait for the main thread to go on.
        signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
        Thread(target=_see_to_the_end, args=(told, self._over), name="end", daemon=True).start()
        for number in _ENDING:
            signal.signal(number, self.end)

    def __call__(self, seconds: float) -> bool:
        """Wait for so long at most; whether it is time to end."""
        self._poll.poll(min(max(seconds, 0.0), _MOST_SECONDS) * 1000)
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        return self._ending


def _see_to_the_end(told: int, over: Event) -> None:
    """End the process a while after a signal, unless it is over by then."""
    while os.read(told, 1)[0] not in _ENDING:
        pass
    if over.wait(END_SECONDS):
        return
    # The log may be a pipe that nobody reads, or a full disk.
    with suppress(OSError):
        if select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, _CUT_SHORT)
    os._exit(0)
