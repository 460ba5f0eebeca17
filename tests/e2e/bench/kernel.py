"""The kernel of tests/vm with the modules that a node's network takes."""

import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.vm import kernel as bare
from tests.vm.kernel import SEARCH_PATH, KernelError

MODULES = (*bare.MODULES, "virtio_net", "veth")
SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel and the initramfs that loads MODULES."""

    image: Path
    initramfs: Path


def ready(cache: Path) -> Kernel:
    """The kernel of `cache`/vm, its initramfs in `cache`/e2e; KernelError if it can't be made."""
    kernel = bare.ready(cache / "vm")
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    initramfs = cache / "e2e" / f"{kernel.folder.name}-{recipe}.gz"
    if not initramfs.exists():
        initramfs.parent.mkdir(parents=True, exist_ok=True)
        release = kernel.folder.name.rpartition("-")[0]
        with TemporaryDirectory(dir=initramfs.parent, prefix="building-") as name:
            whole = Path(name, "initramfs.gz")
            # The kernel unpacks archives one after the other; a later file replaces an earlier.
            whole.write_bytes(kernel.initramfs.read_bytes() + _modules(release, Path(name)))
            whole.rename(initramfs)
    return Kernel(image=kernel.image, initramfs=initramfs)


def _modules(release: str, work: Path) -> bytes:
    """An archive of the modules and of the order to load them in, for init.sh of tests/vm."""
    sandbox = ("-o", "APT::Sandbox::User=root")
    download = ("apt-get", "-q", *sandbox, "download", f"linux-image-{release}")
    try:
        _run(*download, folder=work)
    except KernelError:
        _run("apt-get", "-q", "update")
        _run(*download, folder=work)
    [package] = work.glob("*.deb")
    _run("dpkg", "-x", package, work / "package")
    tree = work / "package"
    base = tree / "usr" if (tree / "usr/lib/modules").is_dir() else tree
    _run("depmod", "-b", base, release)
    folder = work / "root" / "modules"
    folder.mkdir(parents=True)
    names = []
    for path in _files(base, release):
        names.append(path.name.removesuffix(".xz"))
        data = path.read_bytes()
        (folder / names[-1]).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
    (folder / "order").write_text("".join(f"{name}\n" for name in names))
    listed = "\n".join(["modules", *(f"modules/{name}" for name in [*names, "order"])])
    cpio = ("cpio", "--quiet", "-o", "-H", "newc")
    return gzip.compress(_run(*cpio, data=listed.encode(), folder=folder.parent), compresslevel=1)


def _files(base: Path, release: str) -> Iterator[Path]:
    """MODULES and what they need, each once, in the order to load them in."""
    seen = set()
    for module in MODULES:
        show = ("modprobe", "-d", base, "-S", release, "--show-depends", module)
        for line in _run(*show).decode().splitlines():
            verb, name = line.split()[:2]
            if verb == "insmod" and name not in seen:
                seen.add(name)
                yield Path(name)


def _run(*command: str | Path, data: bytes = b"", folder: Path | None = None) -> bytes:
    environment = {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}
    program = shutil.which(command[0], path=SEARCH_PATH) or command[0]
    done = subprocess.run(
        [program, *command[1:]],
        input=data,
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=SECONDS,
    )
    if done.returncode:
        text = " ".join(str(word) for word in command)
        raise KernelError(f"`{text}`: {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout
