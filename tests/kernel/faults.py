"""A kernel some of whose calls fail: each with any errno, once, a few times or for ever."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from tests.kernel.kernel import Kernel
from tests.kernel.refusals import refused

Call = Literal["open", "write", "read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The system call that fails, on which files, with what, and how often (None: for ever).

    `path` is a shell pattern of paths from the root, such as `kubepods/*/cpuset.cpus`, in which
    `*` stands for slashes too.
    """

    call: Call
    path: str = "*"
    error: int
    times: int | None = None


class Faults:
    """Writes to and reads from a fake kernel, except where a fault says otherwise.

    A call that fails has done nothing: a `write` that fails has opened and closed the file.
    `tripped` are the faults that happened, in order.
    """

    def __init__(self, kernel: Kernel, *faults: Fault) -> None:
        """Take the faults; of several for one call the first that isn't used up happens."""
        self._kernel = kernel
        self._left = {fault: fault.times for fault in faults}
        self.tripped: list[Fault] = []

    def put(self, path: Path, text: str) -> None:
        """Write to a file as `Kernel.put` does. Raises OSError."""
        self._pass("open", path)
        with self._kernel.open(path) as file:
            self._pass("write", path)
            file.write(text)

    def get(self, path: Path) -> str:
        """What a file says, as `Kernel.get` does. Raises OSError."""
        self._pass("open", path)
        self._pass("read", path)
        return self._kernel.get(path)

    def _pass(self, call: Call, path: Path) -> None:
        """Raises OSError if this call has a fault."""
        name = path.relative_to(self._kernel.root).as_posix()
        for fault, left in self._left.items():
            if fault.call == call and left != 0 and fnmatchcase(name, fault.path):
                self._left[fault] = left and left - 1
                self.tripped.append(fault)
                raise refused(fault.error, str(path))
