"""A Linux kernel for the guests: Debian's own, downloaded and unpacked but never installed.

`ready` gives the kernel in a cache folder, built there first if it must be, which takes some
seconds and a download of about 70 MB. It is an uncompressed image, which QEMU enters directly
(https://www.qemu.org/docs/master/system/i386/pvh.html), so that no boot spends two seconds on
emulated decompression; and an initramfs of busybox, the modules of `MODULES` and `init.sh`.
"""

import gzip
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

COMMANDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "busybox": "busybox-static",
    "depmod": "kmod",
    "modprobe": "kmod",
    "cpio": "cpio",
    "zstd": "zstd",
    "apt-get": "apt",
    "apt-cache": "apt",
    "dpkg": "dpkg",
}
"""Each command that a guest needs on the host, and the Debian package that has it."""

PACKAGE = "linux-image-amd64"
"""The Debian package that depends on the current kernel's; that one has 9p, the cloud one not."""

MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")
"""The kernel modules that `init.sh` needs, besides those that they depend on."""

APPLETS = ("sh", "insmod", "mkdir", "mount", "switch_root")
"""The busybox commands that `init.sh` uses."""

SEARCH_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
"""PATH and the folders of administration commands, which a plain user's PATH lacks on Debian."""

INIT = Path(__file__).with_name("init.sh")

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

SANDBOX = ("-o", "APT::Sandbox::User=root")
"""The user that apt downloads as can't write to our folders, and apt would only warn of it."""

DOWNLOAD_SECONDS = 180
"""How long fetching the package lists may take, and the package; the other commands get 60 s."""


class KernelError(Exception):
    """No kernel could be made; the message names the command that failed and what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A bootable kernel in the folder that `ready` built."""

    folder: Path

    @property
    def image(self) -> Path:
        """The kernel itself, an ELF file with a PVH entry point."""
        return self.folder / "vmlinux"

    @property
    def initramfs(self) -> Path:
        """The first root file system, a gzipped cpio archive."""
        return self.folder / "initramfs.gz"

    @property
    def has_cpuset_v1(self) -> bool:
        """Whether cpuset can be mounted as cgroup v1; from 6.12 on kernels may be without it."""
        return "# CONFIG_CPUSETS_V1 is not set" not in (self.folder / "config").read_text()


def missing_packages() -> list[str]:
    """The Debian packages, sorted, whose commands this host lacks and guests need."""
    missing = (COMMANDS[name] for name in COMMANDS if not shutil.which(name, path=SEARCH_PATH))
    return sorted(set(missing))


def ready(cache: Path, suite: str = "") -> Kernel:
    """The kernel in `cache`, built there first if none is; raises KernelError when that fails.

    A kernel that is there is used as it is, without a look at the network. Its folder appears
    whole or not at all, so that two test runs may build at once. `suite` asks for the kernel of
    another Debian, such as `bullseye`, which has a folder of its own in `cache`.
    """
    home = cache / suite
    built = sorted(home.glob(f"*-{_recipe()}"))
    return Kernel(folder=built[-1] if built else _build(home, suite))


def _recipe() -> str:
    """A short digest of this file and init.sh: when either changes, a kernel is built anew."""
    return hashlib.sha256(INIT.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:8]


def _build(cache: Path, suite: str) -> Path:
    """Download, unpack and build in a temporary folder, then give the result its name."""
    cache.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache, prefix="building-") as name:
        work = Path(name)
        package = work / "package"
        _run("dpkg", "-x", _downloaded(work, suite), package)
        # Debian 13 moved lib below usr.
        base = package / "usr" if (package / "usr/lib/modules").is_dir() else package
        [release] = (folder.name for folder in base.glob("lib/modules/*"))
        _run("depmod", "-b", base, release)
        product = work / "product"
        product.mkdir()
        image = (package / f"boot/vmlinuz-{release}").read_bytes()
        (product / "vmlinux").write_bytes(_decompressed(_payload(image)))
        shutil.copy(package / f"boot/config-{release}", product / "config")
        tree = work / "initramfs"
        _fill(tree, list(_module_files(base, release)))
        (product / "initramfs.gz").write_bytes(_archive(tree))
        return _named(product, cache / f"{release}-{_recipe()}")


def _named(product: Path, target: Path) -> Path:
    """`target`, which is now `product`, or what another test run made of the same meanwhile."""
    try:
        product.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    return target


def _downloaded(folder: Path, suite: str) -> Path:
    """The kernel's package file, downloaded to `folder`."""
    if suite:
        return _fetched(folder, _lists_of(suite, folder / "apt"))
    try:
        return _fetched(folder)
    except KernelError:
        if os.geteuid() != 0:
            raise
    # The package lists are missing, or name a version that the mirror no longer has.
    _run("apt-get", "-q", "update", seconds=DOWNLOAD_SECONDS)
    return _fetched(folder)


def _lists_of(suite: str, folder: Path) -> tuple[str, ...]:
    """Options that make apt see nothing but `suite`, from the mirror that this host takes its own
    Debian from. The lists are in `folder`; this host's stay as they are.
    """
    targets = ("indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian")
    mirrors = _text("apt-get", *targets).split()
    if not mirrors:
        raise KernelError(f"apt knows no mirror of Debian to take {suite} from")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "list").write_text(f"deb [signed-by={KEYRING}] {mirrors[0]} {suite} main\n")
    settings = {
        "Dir::Etc::SourceList": folder / "list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
    }
    options = tuple(word for name in settings for word in ("-o", f"{name}={settings[name]}"))
    _run("apt-get", "-q", *SANDBOX, *options, "update", seconds=DOWNLOAD_SECONDS)
    return options


def _fetched(folder: Path, options: tuple[str, ...] = ()) -> Path:
    depends = _text("apt-cache", *options, "depends", PACKAGE)
    names = [line.split()[-1] for line in depends.splitlines() if "Depends:" in line]
    if not names:
        raise KernelError(f"apt-cache knows no dependency of {PACKAGE}: {depends!r}")
    download = ("apt-get", "-q", *SANDBOX, *options, "download", names[0])
    _run(*download, folder=folder, seconds=DOWNLOAD_SECONDS)
    [package] = folder.glob("linux-image-*.deb")
    return package


def _module_files(tree: Path, release: str) -> Iterator[Path]:
    """The files of MODULES and what they need, each once, in the order to load them in."""
    seen = set()
    for module in MODULES:
        shown = _text("modprobe", "-d", tree, "-S", release, "--show-depends", module)
        for line in shown.splitlines():
            verb, name = line.split()[:2]
            if verb == "insmod" and name not in seen:
                seen.add(name)
                yield Path(name)


def _fill(root: Path, modules: list[Path]) -> None:
    """Make the tree that becomes the initramfs."""
    for folder in ("bin", "host", "modules", "new", "upper"):
        (root / folder).mkdir(parents=True)
    busybox = Path(shutil.which("busybox", path=SEARCH_PATH) or "busybox")
    if b"/lib64/ld-linux" in busybox.read_bytes():
        raise KernelError(f"{busybox} needs shared libraries: install busybox-static instead")
    shutil.copy(busybox, root / "bin/busybox")
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(0o755)
    names = [module.name.removesuffix(".xz").removesuffix(".zst") for module in modules]
    for module, name in zip(modules, names, strict=True):
        (root / "modules" / name).write_bytes(_decompressed(module.read_bytes()))
    (root / "modules/order").write_text("".join(f"{name}\n" for name in names))


def _archive(root: Path) -> bytes:
    """The tree below `root` as a gzipped cpio archive in the format that the kernel takes.

    https://docs.kernel.org/driver-api/early-userspace/buffer-format.html
    """
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    archive = _run(
        "cpio", "--quiet", "-o", "-H", "newc", data="\n".join(names).encode(), folder=root
    )
    return gzip.compress(archive, compresslevel=1)


def _payload(image: bytes) -> bytes:
    """The compressed kernel inside a bzImage, without the four bytes of length at its end.

    setup_sects, payload_offset and payload_length lie where the boot protocol says:
    https://docs.kernel.org/arch/x86/boot.html
    """
    sectors = image[0x1F1]
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    return image[start : start + length - 4]


def _decompressed(data: bytes) -> bytes:
    """What `data` holds, whether xz or zstd compressed it or nothing did."""
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return _run("zstd", "-dc", data=data)
    return data


def _text(*command: str | Path, folder: Path | None = None, seconds: float = 60) -> str:
    """What a command writes to its standard output."""
    return _run(*command, folder=folder, seconds=seconds).decode()


def _run(
    *command: str | Path, data: bytes = b"", folder: Path | None = None, seconds: float = 60
) -> bytes:
    """What a command makes of `data`; KernelError with its complaint if it fails."""
    text = " ".join(str(word) for word in command)
    environment = {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, input=data, cwd=folder, env=environment, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise KernelError(f"`{text}` took longer than {seconds} s") from error
    if done.returncode:
        complaint = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise KernelError(f"`{text}` failed with {done.returncode}: {complaint}")
    return done.stdout
