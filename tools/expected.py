"""Write the maps of the recorded machines, to be read by a person before they are committed.

python -m tools.expected
"""

import contextlib
import io
from pathlib import Path

from numa_agent.cli import main

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "sysfs"


def write() -> None:
    """Write `expected/topology.{json,txt}` of every recorded machine."""
    for mark in sorted(MACHINES.glob("*/recorded.yaml")):
        folder = mark.parent / "expected"
        folder.mkdir(exist_ok=True)
        for output, name in (("json", "topology.json"), ("tree", "topology.txt")):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                main(["topology", "--host-root", str(mark.parent), "-o", output])
            (folder / name).write_text(printed.getvalue())


if __name__ == "__main__":
    write()
