"""The build stage of Containerfile: everything that the image holds, made below one folder."""

import compileall
import os
import platform
import py_compile
import shutil
import sys
import tempfile
from pathlib import Path

from tools.image import debian, interpreter, libraries, modules, sbom
from tools.image.tree import Tree, settle

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_FROM_BASE = ("/etc/debian_version", "/usr/lib/os-release", "/etc/os-release")
_MERGED = ("bin", "sbin", "lib", "lib64")
_EMPTY = ("dev", "etc", "host", "proc", "run", "sys", "tmp")
_ETC = {
    "passwd": "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
    "group": "root:x:0:\nnonroot:x:65532:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def main(source: Path, base: Path, out: Path) -> None:
    """Make the image's root in `out` from the project's folder and the unpacked base image."""
    arch = os.environ.get("TARGETARCH") or _ARCHITECTURES[platform.machine()]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    target, image = Tree(base), Tree(out)
    python = interpreter.find_interpreter(target)
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python.version != own:
        raise SystemExit(f"BUILDER has Python {own}, BASE {python.version}: they must be the same")
    _folders(target, image)
    interpreter.copy_interpreter(target, image, python)
    site = modules.write_program(out, str(python.program), python.version)
    version = _site(source, site, arch, python.version)
    libraries.copy_libraries(target, image, arch)
    packages = debian.packages_of(target)
    debian.copy_papers(target, image, packages)
    sbom.write_sbom(
        site,
        out / modules.HOME.lstrip("/") / "sbom.cdx.json",
        packages=packages,
        python=interpreter.full_version(target, python) if not packages else None,
        version=version,
    )
    _compile(out)
    settle(out, seconds)
    (out / "tmp").chmod(0o1777)


def _folders(target: Tree, image: Tree) -> None:
    for name in _MERGED:
        link = target.root / name
        if link.is_symlink():
            image.root.mkdir(parents=True, exist_ok=True)
            (image.root / name).symlink_to(link.readlink())
    for name in _EMPTY:
        (image.root / name).mkdir(parents=True, exist_ok=True)
    for path in _FROM_BASE:
        if target.find(path):
            target.copy_to(image, path)
    for name, text in _ETC.items():
        (image.root / "etc" / name).write_text(text)


def _site(source: Path, site: Path, arch: str, version: str) -> str:
    """Install into the folder and return the agent's version."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "site"
        modules.install(source, fresh, arch, version)
        modules.trim(fresh)
        shutil.copytree(fresh, site)
    (own,) = site.glob("numa_agent-*.dist-info")
    return own.name.removeprefix("numa_agent-").removesuffix(".dist-info")


def _compile(out: Path) -> None:
    """Compile every module, so that a read-only image starts as fast as a writable one.

    Python takes the result without a look at the source's time, which layers don't keep well:
    https://peps.python.org/pep-0552/
    """
    done = compileall.compile_dir(
        out,
        maxlevels=20,
        quiet=1,
        stripdir=str(out),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not done:
        raise SystemExit("some modules don't compile: see above")


if __name__ == "__main__":
    main(Path("/src"), Path("/base"), Path("/rootfs"))
