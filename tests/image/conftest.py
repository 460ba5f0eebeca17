"""One image, built for all tests here, and how to run a command in it."""

import io
import json
import os
import resource
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.image.archive import layers, unpacked
from tools.image.tree import Tree

HERE = Path(__file__).parents[2]
_BUILD_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class Builder:
    """Runs tools/image/make.sh with a store of images of its own."""

    buildah: tuple[str, ...]
    folder: Path

    def build(self, name: str) -> tuple[Path, str]:
        """Return the archive of a new image, and what the script printed."""
        out = self.folder / name
        environment = {
            **os.environ,
            "BUILDAH": " ".join(self.buildah),
            "OUT": str(out),
            "TAG": f"localhost/{name}:1",
            "SOURCE_DATE_EPOCH": "1700000000",
        }
        done = subprocess.run(
            [str(HERE / "tools/image/make.sh")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (archive,) = out.glob("*.tar")
        return archive, done.stdout


@dataclass(frozen=True, slots=True)
class Image:
    """The built image: its archive, its unpacked root, what the build printed, and the CPU's
    seconds that it took."""

    archive: Path
    root: Path
    printed: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs commands in the image as kubelet would: read-only root, no capability, by runc."""

    bundle: Path

    def run(self, uid: int, *command: str) -> subprocess.CompletedProcess[str]:
        """Run the command as this user; the recorded machines are in /host."""
        config = _runtime_config(uid, command)
        (self.bundle / "config.json").write_text(json.dumps(config))
        name = f"numa-agent-test-{os.getpid()}-{time.monotonic_ns()}"
        return subprocess.run(
            ["runc", "run", "--bundle", str(self.bundle), name],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"building the image here needs root and Debian's {missing or 'packages'}")
    folder = tmp_path_factory.mktemp("image")
    store = ("--root", str(folder / "store"), "--runroot", str(folder / "run"))
    buildah = ("buildah", *store)
    probe = subprocess.run([*buildah, "from", "scratch"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"buildah doesn't work here: {probe.stderr.strip()}")
    yield Builder(buildah, folder)
    subprocess.run([*buildah, "rm", "--all"], capture_output=True, check=False)
    subprocess.run(["umount", str(folder / "store/overlay")], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def image(builder: Builder) -> Image:
    began = _children()
    archive, printed = builder.build("first")
    seconds = _children() - began
    root = builder.folder / "bundle" / "rootfs"
    for layer in layers(archive):
        with tarfile.open(fileobj=io.BytesIO(unpacked(layer))) as tar:
            tar.extractall(root, filter="fully_trusted")
    return Image(archive, root, printed, seconds)


def _children() -> float:
    """The seconds that processes took which were begun here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="session")
def sandbox(image: Image) -> Sandbox:
    if shutil.which("runc") is None:
        pytest.skip("running the image needs Debian's runc")
    sandbox = Sandbox(image.root.parent)
    probe = sandbox.run(0, "/opt/numa-agent/bin/python3", "-IBc", "")
    if "container" in probe.stderr and probe.returncode:
        pytest.skip(f"runc doesn't work here: {probe.stderr.strip()}")
    return sandbox


@pytest.fixture
def base(tmp_path: Path) -> Tree:
    root = tmp_path / "base"
    (root / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    return Tree(root)


@pytest.fixture
def image_tree(tmp_path: Path) -> Tree:
    root = tmp_path / "image"
    root.mkdir()
    return Tree(root)


def _runtime_config(uid: int, command: tuple[str, ...]) -> dict[str, object]:
    """https://github.com/opencontainers/runtime-spec/blob/main/config.md"""
    sets = ("bounding", "effective", "permitted", "inheritable", "ambient")
    mounts = {
        "/proc": ("proc", "proc", []),
        "/dev": ("tmpfs", "tmpfs", ["nosuid", "mode=755", "size=1024k"]),
        "/tmp": ("tmpfs", "tmpfs", ["nosuid", "nodev", "mode=1777", "size=65536k"]),
        "/host": ("bind", str(HERE / "fixtures/sysfs"), ["rbind", "ro"]),
    }
    return {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "user": {"uid": uid, "gid": uid},
            "args": list(command),
            "env": ["PATH=/opt/numa-agent/bin", "LANG=C.UTF-8"],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {name: [] for name in sets},
        },
        "mounts": [
            {"destination": place, "type": kind, "source": source, "options": options}
            for place, (kind, source, options) in mounts.items()
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "network")]
        },
    }
