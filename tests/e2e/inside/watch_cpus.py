"""Writes down what CPUs are in force in each pod's and container's cgroup, whenever that changes.

watch_cpus.py FILE: a line of JSON for each change, until it is ended, an hour at most. `late` is
the time since the look before.
"""

import json
import sys
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup/kubepods")
PATTERNS = ("pod*", "pod*/*", "*/pod*", "*/pod*/*")
FILE = "cpuset.cpus.effective"
TURN_SECONDS = 0.05
MOST_SECONDS = 3600


def look() -> dict[str, str]:
    """The CPUs in force by cgroup, but of those that end meanwhile."""
    found = {}
    for pattern in PATTERNS:
        for path in ROOT.glob(f"{pattern}/{FILE}"):
            try:
                found[str(path.parent.relative_to(ROOT))] = path.read_text().strip()
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
