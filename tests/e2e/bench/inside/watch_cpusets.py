"""Tells who writes pods' cpusets while it runs, and what a container may use: lines of JSON.

PYTHON watch_cpusets.py STOP POD: until the file STOP is there. Of each write to a cpuset below
kubepods it tells the cgroup, the file and what that held just after: the kernel tells neither who
wrote nor what. Of the containers of the cgroup POD it tells each change of what is in force,
looked for every 20 ms.
"""

import ctypes
import json
import os
import struct
import sys
import time
from pathlib import Path
from select import select

ROOT = Path("/sys/fs/cgroup/kubepods")
MODIFY, CREATE, ONLY_DIR = 0x2, 0x100, 0x1000000
FILES = ("cpuset.cpus", "cpuset.mems")
SECONDS = 3600.0
TICK = 0.02

libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """An inotify of the whole tree, which grows with it."""

    def __init__(self) -> None:
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        self._paths: dict[int, Path] = {}
        self.add(ROOT)

    def add(self, group: Path) -> None:
        """Watch a cgroup, its files and those below; one that has gone isn't there to watch."""
        self._add(group, CREATE | ONLY_DIR)
        for name in FILES:
            self._add(group / name, MODIFY)
        try:
            below = [each for each in group.iterdir() if each.is_dir()]
        except OSError:
            return
        for each in below:
            self.add(each)

    def changed(self) -> list[Path]:
        """The files that were written since the last time, each as often as it was."""
        if not select([self.fd], [], [], TICK)[0]:
            return []
        data, files, at = os.read(self.fd, 65536), [], 0
        while at < len(data):
            number, mask, _, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode()
            at += 16 + length
            path = self._paths.get(number)
            if path is not None and mask & CREATE:
                self.add(path / name)
            elif path is not None and mask & MODIFY:
                files.append(path)
        return files

    def _add(self, path: Path, mask: int) -> None:
        number = libc.inotify_add_watch(self.fd, bytes(path), mask)
        if number >= 0:
            self._paths[number] = path


def held(path: Path) -> str:
    """A file's text, `gone` where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return "gone"


def tell(group: Path, **more: str) -> None:
    moment = round(time.clock_gettime(time.CLOCK_BOOTTIME), 3)
    print(json.dumps({"at": moment, "group": str(group.relative_to(ROOT)), **more}), flush=True)


def main() -> None:
    stop, pod = Path(sys.argv[1]), Path(sys.argv[2])
    watch = Watch()
    seen: dict[Path, str] = {}
    tell(pod, began="")
    end = time.monotonic() + SECONDS
    while not stop.exists() and time.monotonic() < end:
        for file in watch.changed():
            tell(file.parent, wrote=file.name, held=held(file))
        for file in pod.glob("*/cpuset.cpus.effective"):
            now = held(file)
            if seen.get(file) != now:
                seen[file] = now
                tell(file.parent, in_force=now)
    tell(pod, ended="")


main()
