"""The agent and the packages that it needs, without what nothing of it can reach."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HOME = "/opt/numa-agent"

# Which wheels fit: those for glibc up to Debian 12's, the oldest base that is tried.
_GLIBC = ("2_36", "2_35", "2_34", "2_31", "2_28", "2_26", "2_24", "2_17", "2_12", "2_5")
_WHEEL_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}

# Files that the agent never imports: it speaks to the API server by plain HTTP, without the
# client's 1,500 models, its API classes and its second, asynchronous edition; and it packs by zstd
# alone. tests/image/ holds this against what the agent imports.
UNREACHED = (
    *("kubernetes/aio", "kubernetes/client/api/[!_]*.py", "kubernetes/client/models/[!_]*.py"),
    "kubernetes/**/*_test.py",
    # Python 3.14's tarfile and zipfile, and what PyPy has in place of the extension module.
    *("backports/zstd/tarfile.py", "backports/zstd/zipfile", "backports/zstd/_cffi"),
)
# Only kubernetes/aio imports these.
UNREACHED_PACKAGES = (
    *("aiohappyeyeballs", "aiohttp", "aiohttp-retry", "aiosignal", "attrs", "frozenlist"),
    *("multidict", "propcache", "yarl"),
)
# What only compilers and type checkers read.
_UNREAD = ("*.pyi", "*.pyx", "*.pxd", "*.c", "*.h", "*.proto", "py.typed")


def pip_target_options(arch: str, version: str) -> list[str]:
    """Return what tells pip to take wheels for this architecture and Python, not for its own."""
    machine = _WHEEL_MACHINES[arch]
    platforms = [f"manylinux_{glibc}_{machine}" for glibc in _GLIBC]
    platforms += [f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"linux_{machine}"]
    return [
        *("--only-binary=:all:", "--implementation=cp", f"--python-version={version}"),
        *(f"--platform={platform}" for platform in platforms),
    ]


def install(source: Path, site: Path, arch: str, version: str) -> None:
    """Install the locked packages and the agent into the folder."""
    options = [*pip_target_options(arch, version), "--no-deps", "--no-compile"]
    packages = ["--require-hashes", "-r", str(source / "requirements.txt")]
    pip("install", *options, f"--target={site}", *packages)
    shutil.rmtree(site / "bin", ignore_errors=True)  # programs that nobody runs
    wheels = site.parent / "wheels"
    pip("wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", str(source))
    # By name and not by path, which would be noted down and differ between builds.
    where = ["--no-index", f"--find-links={wheels}", f"--target={site}"]
    pip("install", "--no-deps", "--no-compile", *where, "numa-agent")
    shutil.rmtree(site / "bin", ignore_errors=True)


def pip(*arguments: str) -> None:
    """Run pip. Raises SystemExit where it fails, after it said why."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    # It runs as root, in a stage that is thrown away.
    quiet = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    done = subprocess.run(command, check=False, env=quiet)
    if done.returncode:
        raise SystemExit(f"pip {arguments[0]} failed: see above")


def trim(site: Path) -> None:
    """Remove what is not reached."""
    for pattern in (*UNREACHED, *(f"**/{pattern}" for pattern in _UNREAD)):
        for path in [*site.glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in UNREACHED_PACKAGES:
        _remove_package(site, name)


def write_program(image: Path, interpreter: str, version: str) -> Path:
    """Make HOME a virtual environment around the interpreter and return its folder of modules.

    https://docs.python.org/3/library/site.html tells how Python knows it by pyvenv.cfg.
    """
    home = image / HOME.lstrip("/")
    (home / "bin").mkdir(parents=True)
    (home / "bin/python3").symlink_to(interpreter)
    (home / "pyvenv.cfg").write_text(f"home = {Path(interpreter).parent}\nversion = {version}\n")
    program = home / "bin/numa-agent"
    # -I: neither the environment nor the working folder adds modules. -B: nothing is written.
    start = "import sys\n\nfrom numa_agent.cli import main\n\nsys.exit(main())\n"
    program.write_text(f"#!{HOME}/bin/python3 -IB\n{start}")
    program.chmod(0o755)
    return home / "lib" / f"python{version}" / "site-packages"


def _remove_package(site: Path, name: str) -> None:
    """Remove a package by its own record of files."""
    folder = name.replace("-", "_")
    for record in site.glob(f"{folder}-*.dist-info/RECORD"):
        for line in record.read_text().splitlines():
            (site / line.split(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(record.parent, ignore_errors=True)
    for left in sorted(site.rglob("*"), reverse=True):
        if left.is_dir() and not any(left.iterdir()):
            left.rmdir()
