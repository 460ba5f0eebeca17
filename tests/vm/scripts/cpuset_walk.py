"""What the kernel answers to random operations: arguments are `v2` or `v1`, a count, and seeds."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.kernel.notices import Notices
from tests.kernel.operations import TASKS
from tests.kernel.walk import Player, operations

ROOTS = {"v2": Path("/sys/fs/cgroup"), "v1": Path("/sys/fs/cgroup/cpuset")}
SYSTEM = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class RealFile:
    """A file that is open for writing."""

    descriptor: int

    def write(self, text: str) -> None:
        """One write(2)."""
        os.write(self.descriptor, text.encode())

    def close(self) -> None:
        """One close(2)."""
        os.close(self.descriptor)


class RealSystem:
    """This machine's kernel. Its tasks are processes that sleep."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._tasks = {task: _sleeper() for task in TASKS}
        self._notices = Notices()
        self._notices.watch("", root)
        # A write to a group waits for what the kernel still has to do after a CPU went or came.
        self._waiting = root / "waiting"
        self.mkdir("waiting")
        self._notices.read()

    def pid(self, task: str) -> int:
        """The task's present pid."""
        return self._tasks[task].pid

    def mkdir(self, group: str) -> None:
        """Make a group and watch it."""
        folder = self._root / group
        folder.mkdir()
        if group != "waiting":
            self._notices.watch(group, folder)

    def rmdir(self, group: str) -> None:
        """Remove a group."""
        (self._root / group).rmdir()

    def open(self, group: str, file: str) -> RealFile:
        """A file of a group, open for writing."""
        return RealFile(os.open(self._root / group / file, os.O_WRONLY))

    def read(self, group: str, file: str) -> str:
        """What a file of a group says."""
        descriptor = os.open(self._root / group / file, os.O_RDONLY)
        try:
            return os.read(descriptor, 1 << 16).decode()
        finally:
            os.close(descriptor)

    def set_online(self, cpu: int, online: bool) -> None:
        """Take a CPU away or give it back; as it was already is fine."""
        file = SYSTEM / f"cpu{cpu}/online"
        if file.read_text().strip() != str(int(online)):
            file.write_text(str(int(online)))
            waiting = self.open("waiting", "cpuset.cpus")
            try:
                waiting.write("wait")
            except OSError:
                pass
            finally:
                waiting.close()

    def set_affinity(self, task: str, cpus: frozenset[int]) -> None:
        """What sched_setaffinity(2) does."""
        os.sched_setaffinity(self.pid(task), cpus)

    def restart(self, task: str) -> None:
        """End the task and start it anew in the root group."""
        self._tasks[task].kill()
        self._tasks[task].wait()
        self._tasks[task] = _sleeper()

    def status(self, task: str) -> str:
        """The CPUs and nodes that the task may use."""
        text = Path(f"/proc/{self.pid(task)}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return f"{fields['Cpus_allowed_list']} {fields['Mems_allowed_list']}"

    def notices(self) -> list[str]:
        """What inotify told since the last time, but for what the kernel tells when it likes."""
        return [line for line in self._notices.read() if "cgroup.events" not in line]


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def main() -> None:
    """Print the kernel's release, and for every seed what was seen after each operation."""
    hierarchy, count, *seeds = sys.argv[1:]
    system = RealSystem(ROOTS[hierarchy])
    walks = {}
    for seed in seeds:
        player = Player(system, hierarchy)
        walks[seed] = list(player.play(operations(int(seed), int(count), hierarchy)))
    for task in TASKS:
        os.kill(system.pid(task), 9)
    json.dump({"release": os.uname().release, "walks": walks}, sys.stdout)


if __name__ == "__main__":
    main()
