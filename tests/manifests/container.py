"""The agent's container without a runtime: its mounts, its user, none of root's capabilities.

A shell script in a mount namespace of its own binds what the pod's spec says into a new root,
makes read-only what is so there, and starts the command as runc would: uid 0, no capability, no
new privileges. What is missing of a runtime: seccomp, cgroup and PID namespaces.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.manifests.objects import Json
from tests.recorded import ROOT

COMMANDS = ("unshare", "setpriv", "mount", "chroot")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount"
_PRIVATE = ("host", "proc", "sys", "dev", "etc", "run", "var", "tmp", "mnt", "media", "boot")
"""Folders of this machine's root that the container has not, or has its own of."""


def missing() -> str | None:
    """Why there can be no such container here, None where it can."""
    for command in COMMANDS:
        if shutil.which(command) is None:
            return f"a container's mounts need the command {command}, which is not installed"
    done = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        text=True,
    )
    return None if done.returncode == 0 else f"no mounts may be made here: {done.stderr.strip()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The one container of a pod's spec.

    `sources` replaces paths of the host, so that no test needs kubelet's real folder. `files` are
    those of ConfigMaps, Secrets and the ServiceAccount's token, by volume or mount path.
    """

    spec: Json
    folder: Path
    files: Mapping[str, Mapping[str, str]]
    sources: Mapping[str, Path] = field(default_factory=dict)

    @contextmanager
    def running(
        self, command: list[str], environment: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[str]]:
        """The command in the container, killed at the end if it still runs."""
        script = "\n".join(self._script(command))
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),
                *("unshare", "--mount", "--propagation", "private", "bash", "-euc", script),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": PATH, **environment},
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate(timeout=60)

    def run(self, command: list[str], environment: Mapping[str, str] | None = None) -> str:
        """What the command prints. Raises AssertionError where it fails."""
        with self.running(command, environment or {}) as process:
            printed, said = process.communicate(timeout=150)
        assert process.returncode == 0, said
        return printed

    def _script(self, command: list[str]) -> Iterator[str]:
        root = self.folder / "root"
        root.mkdir(exist_ok=True)
        yield f"R={shlex.quote(str(root))}"
        yield "mount -t tmpfs root $R"
        for entry in sorted(Path("/").iterdir()):
            if entry.name in _PRIVATE:
                continue
            place = f"$R/{entry.name}"
            if entry.is_symlink():
                yield f"cp -P {entry} {place}"
            elif entry.is_dir():
                yield f"mkdir {place}; mount --rbind {entry} {place}"
        yield "mkdir -p $R/proc $R/dev $R/etc $R/tmp; mount --rbind /proc $R/proc"
        yield "mount --rbind /dev $R/dev"
        for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix)):
            if path.parts[1] in _PRIVATE:  # a checkout below /tmp, for instance
                yield f"mkdir -p $R{path}; mount --rbind {path} $R{path}"
        yield "for f in passwd group ld.so.cache; do cp /etc/$f $R/etc/ || true; done"
        for mount in sorted(self._mounts(), key=lambda mount: mount[0].count("/")):
            yield from _bound(*mount)
        yield "mount -o remount,ro $R"
        free = "setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs"
        yield f"cd /; exec chroot $R {free} {shlex.join(command)}"

    def _mounts(self) -> Iterator[tuple[str, Path | None, bool]]:
        """Where, what (None for an empty folder) and whether read-only."""
        (container,) = self.spec["containers"]
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            source = None
            if "hostPath" in volume:
                path = volume["hostPath"]["path"]
                source = self.sources.get(path, Path(path))
            elif "emptyDir" not in volume:
                source = self._written(mount["name"])
            yield mount["mountPath"], source, mount.get("readOnly", False)
        if ACCOUNT_DIR in self.files:
            yield ACCOUNT_DIR, self._written(ACCOUNT_DIR), True

    def _written(self, name: str) -> Path:
        folder = self.folder / name.strip("/").replace("/", "_")
        folder.mkdir(exist_ok=True)
        for file, text in self.files[name].items():
            (folder / file).write_text(text)
        return folder


def _bound(place: str, source: Path | None, read_only: bool) -> Iterator[str]:
    where = f"$R{shlex.quote(place)}"
    if source is None:
        yield f"mkdir -p {where}; mount -t tmpfs -o ro,size=1m empty {where}"
        return
    made = f"mkdir -p {where}"
    if source.is_file():
        made = f"mkdir -p $(dirname {where}); touch {where}"
    yield f"{made}; mount --rbind {shlex.quote(str(source))} {where}"
    if read_only:
        yield f"mount -o remount,bind,ro {where}"
