"""Whether a file's lock is held, by the kernel's list of locks: to try it would be to take it.

https://man7.org/linux/man-pages/man5/proc_locks.5.html
"""

from pathlib import Path

from numa_agent.config import OWN_LOCKS
from numa_agent.core.doctor.findings import Told
from numa_agent.core.doctor.texts import lock_holders


def read_held(file: Path, name: str, locks: Path = Path(OWN_LOCKS)) -> Told[bool]:
    """Whether a process that this one can see holds the file's flock; `name` is said of it."""
    try:
        inode = file.stat().st_ino
    except FileNotFoundError:
        return Told(source=name, value=False)
    except OSError as error:
        return Told(source=name, why=f"{error.strerror}")
    try:
        text = locks.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        return Told(source=name, why=f"{locks}: {error.strerror}")
    return Told(source=name, value=inode in lock_holders(text))
