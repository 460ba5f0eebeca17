"""Listens to a library's events in a process of its own, and prints each thing as a JSON line.

python -m tests.gpu_plugin.listening LIBRARY, with FAKE_NVML_FILE; it ends when stdin does.
"""

import json
import sys
import threading
import time
from pathlib import Path

from numa_agent.host.deviceplugin import NvmlEvents


def _wait_for_the_end(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


def main() -> None:
    """Listen, and tell each change."""

    speaking = threading.Lock()

    def say(kind: str, what: object) -> None:
        # Several threads speak: a line and its end are two writes.
        with speaking:
            print(json.dumps([kind, what]), flush=True)

    events = NvmlEvents(
        Path(sys.argv[1]),
        lambda xid: say("xid", [xid.card, xid.number]),
        lambda advice: say("advice", dict(advice)),
        first_pause=0.1,
        advice_seconds=3600.0,
        again_seconds=0.5,
    )
    over = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(over,), daemon=True).start()
    events.start()
    said = ""
    while not over.is_set():
        if (events.trouble or "") != said:
            said = events.trouble or ""
            say("trouble", said)
        time.sleep(0.01)
    events.close()


if __name__ == "__main__":
    main()
