"""The version before this one, from this repository's history."""

import shutil
import subprocess
from pathlib import Path

from tests.vm.guest import CHECKOUT

MADE_OF = ("numa_agent", "manifests", "Containerfile", "requirements.txt")
TAG = "previous"


def commit() -> str | None:
    """The newest commit with another agent or other manifests than those here; None without one.

    A checkout may have no history, or only its end.
    """
    changed = _git("status", "--porcelain", "--", *MADE_OF)
    commits = (_git("rev-list", "-n", "2", "HEAD", "--", *MADE_OF) or "").split()
    before = commits if changed else commits[1:]
    return before[0] if before else None


def tree(commit: str, folder: Path) -> Path:
    """The files of a commit, laid out in a folder below that one, once."""
    whole = folder / commit[:12]
    if not whole.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        part = folder / "part"
        part.mkdir(parents=True)
        packed = subprocess.run(
            ["git", "-C", str(CHECKOUT), "archive", commit], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(part)], input=packed.stdout, check=True)
        part.rename(whole)
    return whole


def _git(*words: str) -> str | None:
    """What git says of this checkout, None where it can't tell."""
    command = ["git", "-C", str(CHECKOUT), *words]
    try:
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
