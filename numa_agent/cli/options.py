"""Options that several commands share."""

import argparse
from pathlib import Path

path = Path
"""The type of an option that names a file or folder."""


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
