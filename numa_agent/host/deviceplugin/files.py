"""The driver's device files, as the machine has them."""

from pathlib import Path

from numa_agent.config import DEV_DIR, OWN_DEV

_DRIVER = "nvidia"


def read_device_files(host_root: Path, *, own: Path = Path(OWN_DEV)) -> frozenset[str]:
    """The names below /dev that are NVIDIA's driver's; none where it can't be read.

    Where the machine's /dev isn't mounted they are this process's own: its container has them all,
    since NVML needs them.
    """
    there = host_root / DEV_DIR
    try:
        names = [entry.name for entry in (there if there.is_dir() else own).iterdir()]
    except OSError:
        return frozenset()
    return frozenset(name for name in names if name.startswith(_DRIVER))
