"""Listens to a library's events in a process of its own, and prints each thing as a JSON line.

python -m tests.gpu_plugin.listening LIBRARY, with FAKE_NVML_FILE; it ends when stdin does.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from numa_agent.host.deviceplugin import NvmlEvents

_SPEAKING = threading.Lock()


def say(kind: str, what: object) -> None:
    """Print one line. Several threads speak: a line and its end are two writes."""
    with _SPEAKING:
        print(json.dumps([kind, what]), flush=True)


class Telling(NvmlEvents):
    """Says each trouble when it comes and goes: who looks now and then misses a short one."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        if name == "_trouble" and value != before:
            say("trouble", value or "")


def main() -> None:
    """Listen until stdin ends, and tell each change."""
    events = Telling(
        Path(sys.argv[1]),
        lambda xid: say("xid", [xid.card, xid.number]),
        lambda advice: say("advice", dict(advice)),
        first_pause=0.1,
        longest_pause=0.2,  # else the wait grows as long again as a busy computer kept the test
        advice_seconds=3600.0,
        again_seconds=0.5,
    )
    events.start()
    sys.stdin.read()
    events.close()


if __name__ == "__main__":
    main()
