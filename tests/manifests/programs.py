"""kustomize and helm, built from Go modules into .cache/manifests/ at the first need."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

TOOLS = Path(__file__).with_name("tools")
CACHE = Path(__file__).parents[2] / ".cache" / "manifests"
PACKAGES = {
    "kustomize": "sigs.k8s.io/kustomize/kustomize/v5",
    "helm": "helm.sh/helm/v3/cmd/helm",
}
BUILD_SECONDS = 1200
RUN_SECONDS = 60


class ProgramError(Exception):
    """A program can't be built or failed; the message ends with what it said."""


def missing() -> str | None:
    """Why nothing can be built here, None where it can."""
    if shutil.which("go") is None:
        return "kustomize and helm are built with the command go, which is not installed"
    if _go("list", "-m", seconds=60).returncode != 0:
        return "kustomize and helm need a newer Go than is installed (tests/manifests/tools)"
    return None


def build(name: str) -> Path:
    """The program of that name, after building it where it isn't there yet."""
    state = b"".join((TOOLS / file).read_bytes() for file in ("go.mod", "go.sum"))
    folder = CACHE / hashlib.sha256(state).hexdigest()[:8]
    program = folder / name
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    # Under another name and renamed, so that a half-made one is never run.
    unfinished = program.with_name(f".{name}.{os.getpid()}")
    flags = ("-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w")
    try:
        done = _go("build", *flags, "-o", str(unfinished), PACKAGES[name], seconds=BUILD_SECONDS)
        if done.returncode != 0:
            raise ProgramError(f"go build {PACKAGES[name]} failed:\n{done.stderr[-3000:]}")
        unfinished.rename(program)
    finally:
        unfinished.unlink(missing_ok=True)
    return program


def run(program: Path, *arguments: str, fails: bool = False) -> str:
    """What the program prints, on stderr where it is meant to fail. Raises ProgramError."""
    # A home of its own: nobody's settings, plugins or repositories.
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    done = subprocess.run(
        [str(program), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=RUN_SECONDS,
    )
    if (done.returncode != 0) is not fails:
        shown = " ".join([program.name, *arguments])
        raise ProgramError(f"{shown}: status {done.returncode}: {done.stderr[-3000:]}")
    return done.stderr if fails else done.stdout


def _go(*arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}
    return subprocess.run(
        ["go", *arguments],
        cwd=TOOLS,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
