"""Writes down what CPUs are in force in each pod's and container's cgroup, whenever that changes.

watch_cpus.py FILE: a line of JSON for each change, until it is ended, an hour at most. `late` is
the time since the look before.
"""

import json
import os
import sys
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup/kubepods")
FILE = "cpuset.cpus.effective"
TURN_SECONDS = 0.05
MOST_SECONDS = 3600


def look() -> dict[str, str]:
    """The CPUs in force by cgroup, but of those that end meanwhile: os.walk passes those over."""
    found = {}
    for folder, below, _ in os.walk(ROOT):
        parts = Path(folder).relative_to(ROOT).parts
        depth = next((at for at, part in enumerate(parts, 1) if part.startswith("pod")), None)
        if depth is None:
            continue
        if len(parts) > depth:
            below.clear()
        try:
            found["/".join(parts)] = Path(folder, FILE).read_text().strip()
        except OSError:
            continue
    return found


def watch(out: Path) -> None:
    before: dict[str, str] = {}
    last = began = time.monotonic()
    with out.open("w", buffering=1) as log:
        while last < began + MOST_SECONDS:
            seen = look()
            now = time.monotonic()
            for group in sorted(before.keys() | seen.keys()):
                if before.get(group) != seen.get(group):
                    change = {
                        "at": now,
                        "late": now - last,
                        "group": group,
                        "cpus": seen.get(group),
                    }
                    log.write(json.dumps(change) + "\n")
            before, last = seen, now
            time.sleep(TURN_SECONDS)


watch(Path(sys.argv[1]))
