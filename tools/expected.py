"""Write what the recorded machines are and would publish, to be read before it is committed.

python -m tools.expected
"""

import contextlib
import io
import json
from pathlib import Path

from numa_agent.cli import main
from numa_agent.config import SCHEDULERS

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "sysfs"


def files(machine: Path) -> dict[str, str]:
    """The texts of a recorded machine's `expected/` by file name."""
    root = ("--host-root", str(machine))
    found = {
        "topology.json": _printed("topology", *root, "-o", "json"),
        "topology.txt": _printed("topology", *root, "-o", "tree"),
        "doctor.txt": _printed("doctor", *root),
        "verify.txt": _printed("verify", *root),
        "explain.txt": "\n".join(_printed("explain", name, *root) for name in _pods(machine)),
    }
    for scheduler in SCHEDULERS:
        found[f"{scheduler}.yaml"] = _printed("render", *root, "--scheduler", scheduler)
    return found


def _pods(machine: Path) -> list[str]:
    """Its pods as namespace/name."""
    listed = json.loads((machine / "answers/pods.json").read_text())["items"]
    return [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in listed]


def write() -> None:
    """Write `expected/` of every recorded machine."""
    for mark in sorted(MACHINES.glob("*/recorded.yaml")):
        folder = mark.parent / "expected"
        folder.mkdir(exist_ok=True)
        for name, text in files(mark.parent).items():
            (folder / name).write_text(text)


def _printed(*words: str) -> str:
    """What a command prints, its notes last, each as a comment."""
    said, notes = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(notes):
        main(words)
    return said.getvalue() + "".join(f"# {line}\n" for line in notes.getvalue().splitlines())


if __name__ == "__main__":
    write()
