"""What the loop waits for: its time, a wake-up from another thread, or the end."""

import signal
from threading import Event


class Waiting:
    """Waits in the main thread; `wake` may be called by any."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._wake = Event()
        self._ending = False

    def wake(self) -> None:
        """End the wait that is on, or the next one."""
        self._wake.set()

    def end(self, *_: object) -> None:
        """Let the loop end after what it does now."""
        self._ending = True
        self._wake.set()

    def end_at_signals(self) -> None:
        """End at SIGTERM, which kubelet sends, and at SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.end)

    def __call__(self, seconds: float) -> bool:
        """Wait for so long at most; whether it is time to end."""
        self._wake.wait(seconds)
        self._wake.clear()
        return self._ending
