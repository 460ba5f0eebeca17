"""What is sent to the API server, in a thread of its own: nobody waits for its answers."""

import threading
from collections.abc import Sequence

from numa_agent.agent import Sending

IDLE_SECONDS = 3600.0


class Errands:
    """Sends what is due when it is, one thing after another."""

    def __init__(self, sending: Sequence[Sending]) -> None:
        """Take those who send, and start the thread."""
        self._sending = sending
        self._poked = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="errands", daemon=True)
        self._thread.start()

    def poke(self) -> None:
        """Say that there may be something new to send."""
        self._poked.set()

    def close(self) -> None:
        """End the thread; what is being sent is left to itself."""
        self._ended = True
        self._poked.set()
        self._thread.join(timeout=0.2)

    def _run(self) -> None:
        while not self._ended:
            dues = [each.due() for each in self._sending]
            waits = (each for each in dues if each is not None)
            self._poked.wait(min(waits, default=IDLE_SECONDS))
            self._poked.clear()
            for each in self._sending:
                if self._ended:
                    return
                each.send_due()
