"""What CPUs the kernel holds each container to, looked at all the time; neither agent knows of it.

    python sampler.py CGROUP_ROOT SECONDS FOLDER

Runs on the node with nothing but the standard library. FOLDER/samples gets a JSON line for each
change: {"at": seconds since boot, "pod": uid, "leaf": name, "cpus": list, null once it is gone}.
What has changed is seen a period late at most. The file FOLDER/stop ends it; FOLDER/periods has
what the periods really were.
"""

import json
import os
import sys
import time
from pathlib import Path

PARENTS = ("kubepods", "kubepods/burstable", "kubepods/besteffort")
FILE = "cpuset.cpus.effective"


class Sampler:
    """Keeps each leaf's file open: read anew at its beginning it tells the state of then."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._out = (folder / "samples").open("w", buffering=1)
        self._open: dict[tuple[str, str], int] = {}
        self._seen: dict[tuple[str, str], str] = {}

    def look(self) -> None:
        """Look at every leaf once."""
        found = set()
        for parent in PARENTS:
            for pod in self._folders(self._root / parent, "pod"):
                for leaf in self._folders(self._root / parent / pod):
                    key = (pod.removeprefix("pod"), leaf)
                    found.add(key)
                    if key not in self._open:
                        self._follow(key, self._root / parent / pod / leaf / FILE)
        for key in [*self._open]:
            self._read(key, gone=key not in found)

    def close(self) -> None:
        """Close every file."""
        self._out.close()
        while self._open:
            os.close(self._open.popitem()[1])

    def _folders(self, path: Path, prefix: str = "") -> list[str]:
        try:
            return [
                each.name
                for each in os.scandir(path)
                if each.name.startswith(prefix) and each.is_dir(follow_symlinks=False)
            ]
        except OSError:
            return []

    def _follow(self, key: tuple[str, str], file: Path) -> None:
        try:
            self._open[key] = os.open(file, os.O_RDONLY)
        except OSError:
            return

    def _read(self, key: tuple[str, str], *, gone: bool) -> None:
        try:
            text = None if gone else os.pread(self._open[key], 4096, 0).decode().strip()
        except OSError:
            text = None
        if text is not None and self._seen.get(key) == text:
            return
        moment = time.clock_gettime(time.CLOCK_BOOTTIME)
        line = {"at": round(moment, 4), "pod": key[0], "leaf": key[1], "cpus": text}
        self._out.write(json.dumps(line) + "\n")
        if text is None:
            os.close(self._open.pop(key))
            self._seen.pop(key, None)
        else:
            self._seen[key] = text


def main() -> None:
    """Look until the file `stop` is there."""
    root, seconds, folder = Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])
    sampler = Sampler(root, folder)
    periods = []
    before = time.monotonic()
    while not (folder / "stop").exists():
        sampler.look()
        time.sleep(max(0.0, before + seconds - time.monotonic()))
        now = time.monotonic()
        periods.append(round(now - before, 4))
        before = now
    sampler.close()
    (folder / "periods").write_text(json.dumps(periods))


if __name__ == "__main__":
    main()
