"""The recorded machines of the project."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MACHINES = sorted(path.parent for path in (ROOT / "fixtures" / "sysfs").glob("*/recorded.yaml"))


def machine(name: str) -> Path:
    """The folder of one recorded machine."""
    return ROOT / "fixtures" / "sysfs" / name
