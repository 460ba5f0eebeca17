"""The images of a guest: a shell for pods, kubelet's pause, and the agent as users get it."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from tests.vm.guest import CHECKOUT
from tests.vm.kernel import SEARCH_PATH

SHELL = "local/shell:1"
PAUSE = "local/pause:1"
AGENT = "localhost/numa-agent"

INPUTS = ("Containerfile", "LICENSE", "README.md", "pyproject.toml", "requirements.txt")
FOLDERS = ("numa_agent", "tools/image")
BUILD_SECONDS = 600


class ImageError(Exception):
    """An image could not be made; the message is what its maker said."""


def write_local(archive: Path) -> None:
    """Write SHELL and PAUSE, both nothing but a static busybox, as `docker save` would.

    https://github.com/moby/docker-image-spec/blob/main/spec.md
    """
    layer = _layer()
    digest = hashlib.sha256(layer).hexdigest()
    with tarfile.open(archive, "w") as out:
        _add(out, f"{digest}.tar", layer)
        manifest = []
        for name, entry in ((SHELL, ["/bin/sh"]), (PAUSE, ["/bin/sleep", "2147483647"])):
            config = json.dumps(
                {
                    "architecture": "amd64",
                    "os": "linux",
                    "config": {"Entrypoint": entry, "Env": ["PATH=/bin"]},
                    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
                }
            ).encode()
            file = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(out, file, config)
            manifest.append(
                {"Config": file, "RepoTags": [f"docker.io/{name}"], "Layers": [f"{digest}.tar"]}
            )
        _add(out, "manifest.json", json.dumps(manifest).encode())


def _layer() -> bytes:
    busybox = Path(shutil.which("busybox", path=SEARCH_PATH) or "busybox")
    listed = subprocess.run([busybox, "--list"], capture_output=True, check=True, text=True)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as layer:
        for folder in ("bin", "dev", "proc", "sys", "tmp"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(info)
        _add(layer, "bin/busybox", busybox.read_bytes(), mode=0o755)
        for applet in sorted({*listed.stdout.split()} - {"busybox"}):
            info = tarfile.TarInfo(f"bin/{applet}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(info)
    return data.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    archive.addfile(info, io.BytesIO(data))


def missing() -> list[str]:
    """What the agent's image can't be built without and isn't here."""
    names = ("buildah", "mmdebstrap")
    found = [f"Debian's {name}" for name in names if not shutil.which(name, path=SEARCH_PATH)]
    return found if os.geteuid() == 0 else ["root", *found]


class Build:
    """The agent's image, being built by tools/image/make.sh unless `cache` has the same already.

    Its inputs' digest is the cache's key; buildah keeps its layers in `cache` too. `source` may be
    another version's tree, which then has a `tag` of its own.
    """

    def __init__(self, cache: Path, source: Path = CHECKOUT, tag: str | None = None) -> None:
        self._source, self._tag = source, tag
        self._folder = cache / (tag or "image") / _digest(source)
        self._store = cache / "store"
        run = f"{self._store}-run"
        self._buildah = ("buildah", "--root", str(self._store), "--runroot", run)
        self._log = cache / f"{tag or 'image'}.log"
        self._making: subprocess.Popen[bytes] | None = None
        if not self._archives():
            self._start()

    def _archives(self) -> list[Path]:
        return sorted(self._folder.glob("*.tar"))

    def _start(self) -> None:
        shutil.rmtree(self._folder.parent, ignore_errors=True)
        self._folder.parent.mkdir(parents=True)
        environment = {
            **os.environ,
            "PATH": SEARCH_PATH,
            "BUILDAH": " ".join(self._buildah),
            "OUT": f"{self._folder}.part",
            "CACHE": str(CHECKOUT / ".cache/image"),
            "PYTHON": sys.executable,
            **({"TAG": f"{AGENT}:{self._tag}"} if self._tag else {}),
        }
        script = self._source / "tools/image/make.sh"
        guard = ("setpriv", "--pdeathsig", "TERM")
        with self._log.open("wb") as log:
            self._making = subprocess.Popen(
                [*guard, script],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def archive(self) -> Path:
        """The image's OCI archive, waited for; ImageError if it can't be built."""
        if self._making is not None:
            try:
                code = self._making.wait(BUILD_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise ImageError(f"not built in {BUILD_SECONDS} s: {self._log}") from error
            finally:
                self.stop()
            if code:
                raise ImageError(self._log.read_text(errors="replace"))
            Path(f"{self._folder}.part").rename(self._folder)
        [archive] = self._archives()
        return archive

    def stop(self) -> None:
        """End the build, and unmount what buildah leaves mounted; a second time does nothing."""
        making, self._making = self._making, None
        if making is None:
            return
        if making.poll() is None:
            # The script and what it started.
            os.killpg(making.pid, signal.SIGTERM)
            try:
                making.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(making.pid, signal.SIGKILL)
                making.wait(10)
        for command in (
            (*self._buildah, "rm", "--all"),
            # Those without a name: what earlier builds made of each stage.
            (*self._buildah, "rmi", "--prune", "--force"),
            ("umount", str(self._store / "overlay")),
        ):
            subprocess.run(command, capture_output=True, check=False, timeout=180)


def _digest(source: Path) -> str:
    """A short digest of everything that is copied into the image."""
    found = hashlib.sha256()
    for path in sorted(_inputs(source)):
        data = path.read_bytes()
        found.update(f"{path.relative_to(source)} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()[:12]


def _inputs(source: Path) -> Iterator[Path]:
    for name in INPUTS:
        yield source / name
    for folder in FOLDERS:
        for path in (source / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
