"""Which boot of which machine this is: /proc/sys/kernel/random/boot_id (proc(5))."""

from pathlib import Path

from numa_agent.config import BOOT_ID
from numa_agent.host.recording.plain import LeftOutError, read_plain

_LIMIT = 4096


def read_boot_id(host_root: Path) -> str | None:
    """The id that the kernel drew at boot, which kubelet puts in its Node; None if unreadable."""
    try:
        return read_plain(host_root / BOOT_ID, _LIMIT).decode("ascii").strip() or None
    except (OSError, UnicodeDecodeError, LeftOutError):
        return None
