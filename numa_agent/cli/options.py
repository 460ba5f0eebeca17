"""Options that several commands share."""

import argparse
from pathlib import Path

path = Path
"""The type of an option that names a file or folder."""


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Declare what may be asked and corrected about devices."""
    parser.add_argument(
        "--nvml",
        metavar="auto|off|PATH",
        help="whether to ask NVIDIA's management library, or which one (default: auto, on the live"
        " machine only; it wakes GPUs that have no persistence mode)",
    )
    parser.add_argument(
        "--locality-overrides",
        metavar="FILE",
        help="YAML of PCI addresses or ranges and their NUMA node, where firmware is wrong:"
        ' "0000:80:00.0-0000:ff:1f.7": 1',
    )


def add_host_root(parser: argparse.ArgumentParser) -> None:
    """Declare --host-root: the machine looked at."""
    parser.add_argument(
        "--host-root",
        type=path,
        default=Path("/"),
        metavar="DIR",
        help="the root of the machine to look at, a folder with its sys/ and proc/: `/` is this"
        " one (default), a recorded one is a folder of fixtures/sysfs/",
    )
