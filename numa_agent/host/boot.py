"""Which boot of which machine this is: /proc/sys/kernel/random/boot_id (proc(5))."""

from pathlib import Path

from numa_agent.config import BOOT_ID


def read_boot_id(host_root: Path) -> str | None:
    """The id that the kernel drew at boot, which kubelet puts in its Node; None if unreadable."""
    try:
        return (host_root / BOOT_ID).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
