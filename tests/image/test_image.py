"""The image, built for real from Debian's packages and run as kubelet would run it."""

import json
import re
import stat
from pathlib import Path

import pytest

from tests.image.conftest import HERE, Builder, Image, Sandbox
from tools.image.archive import layers
from tools.image.elf import MACHINES, read_elf

PROGRAM = "/opt/numa-agent/bin/numa-agent"
PYTHON = "/opt/numa-agent/bin/python3"
_COMPRESSED_MIB = 32
_BUILD_SECONDS = 240

# Imports every module of the agent; a module of Kubernetes' client that was trimmed too far fails.
_IMPORT_ALL = """
import importlib, pkgutil, numa_agent
names = [one.name for one in pkgutil.walk_packages(numa_agent.__path__, "numa_agent.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
_SELF = """
import ctypes, os, ssl
print(open("/proc/self/status").read())
try:
    open("/written", "w")
except OSError as error:
    print("root:", error.strerror)
print(ssl.OPENSSL_VERSION, ctypes.CDLL(None).getpid() == os.getpid())
"""


def _files(image: Image) -> list[Path]:
    return [path for path in image.root.rglob("*") if not path.is_symlink()]


def test_its_size_is_printed_and_small_and_it_is_built_in_time(image: Image) -> None:
    print(image.printed)
    packed = sum(map(len, layers(image.archive)))
    assert f"{packed / (1 << 20):.1f} MiB compressed" in image.printed
    assert packed < _COMPRESSED_MIB << 20
    assert image.seconds < _BUILD_SECONDS


def test_the_only_programs_are_python_and_the_agent(image: Image) -> None:
    programs = {
        str(path.relative_to(image.root))
        for path in _files(image)
        if path.is_file()
        and path.stat().st_mode & 0o111
        and ".so" not in path.name
        and (path.parent.name in {"bin", "sbin"} or read_elf(path) is not None)
    }
    (python,) = (name for name in programs if name.startswith("usr/"))
    assert programs == {python, PROGRAM.lstrip("/")}
    assert python.startswith("usr/bin/python3.")


@pytest.mark.parametrize("module", ["pip", "ensurepip", "setuptools", "idlelib", "tkinter"])
def test_it_has_no_package_manager_and_no_module_for_developers(image: Image, module: str) -> None:
    assert not [path for path in image.root.rglob(module) if path.is_dir()]


def test_nothing_is_setuid_or_writable_but_tmp(image: Image) -> None:
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in _files(image)}
    assert {p.name for p, mode in modes.items() if mode & (stat.S_ISUID | stat.S_ISGID)} == set()
    assert {p.name: oct(mode) for p, mode in modes.items() if mode & 0o022} == {"tmp": "0o1777"}
    assert {path.stat().st_uid for path in modes} == {0}


def test_every_library_is_for_its_processor(image: Image) -> None:
    elves = [elf for path in _files(image) if path.is_file() and (elf := read_elf(path))]
    assert len(elves) > 20
    assert {MACHINES[elf.machine][0] for elf in elves} == {image.archive.stem.split("-")[-1]}


@pytest.mark.parametrize("uid", [0, 65532])
def test_the_demo_runs_on_a_read_only_root_without_capabilities(
    sandbox: Sandbox, uid: int
) -> None:
    done = sandbox.run(uid, PROGRAM, "demo", "/host/two-socket-8gpu")
    assert done.returncode == 0, done.stderr
    assert "aligned" in done.stdout


@pytest.mark.parametrize("uid", [0, 65532])
def test_a_process_in_it_has_nothing_that_it_does_not_need(sandbox: Sandbox, uid: int) -> None:
    done = sandbox.run(uid, PYTHON, "-IBc", _SELF)
    assert done.returncode == 0, done.stderr
    assert "CapEff:\t0000000000000000" in done.stdout
    assert "root: Read-only file system" in done.stdout
    assert "True" in done.stdout


def test_every_module_of_the_agent_can_be_imported(sandbox: Sandbox) -> None:
    done = sandbox.run(65532, PYTHON, "-IBc", _IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


@pytest.mark.parametrize("machine", ["amd-8gpu", "lost-gpu", "cgroup-v1-systemd"])
def test_it_maps_recorded_machines_as_the_checkout_does(sandbox: Sandbox, machine: str) -> None:
    done = sandbox.run(65532, PROGRAM, "topology", "--host-root", f"/host/{machine}", "-o", "json")
    expected = HERE / "fixtures/sysfs" / machine / "expected/topology.json"
    assert json.loads(done.stdout) == json.loads(expected.read_text())


def test_it_packs_by_zstd(sandbox: Sandbox) -> None:
    words = ("record", "/tmp/node.tar.zst", "--host-root", "/host/amd-8gpu")
    done = sandbox.run(65532, PROGRAM, *words)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_module_is_compiled_and_taken_without_a_look_at_its_time(image: Image) -> None:
    sources = [path for path in image.root.rglob("*.py") if path.is_file()]
    assert len(sources) > 500
    for source in sources:
        (compiled,) = source.parent.glob(f"__pycache__/{source.stem}.cpython-3*.pyc")
        flags = compiled.read_bytes()[4:8]
        assert flags == b"\x01\x00\x00\x00", compiled  # PEP 552: hash-based, not checked


def test_two_builds_are_the_same_bytes(builder: Builder, image: Image) -> None:
    again, _printed = builder.build("second")
    assert layers(again) == layers(image.archive)


def test_its_bill_of_materials_lists_what_is_in_it(image: Image) -> None:
    text = (image.root / "opt/numa-agent/sbom.cdx.json").read_text()
    assert image.archive.with_suffix(".cdx.json").read_text() == text
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {one["name"] for one in bill["components"]}
    site = next(image.root.glob("opt/numa-agent/lib/python3*/site-packages"))
    installed = {path.name.split("-")[0].lower() for path in site.glob("*.dist-info")}
    # "backports.zstd" is the folder's "backports_zstd".
    assert installed <= {re.sub(r"[-.]", "_", name.lower()) for name in listed}
    assert {"numa-agent", "kubernetes", "libc6", "libssl3t64"} <= listed
    assert "aiohttp" not in listed


def test_each_debian_package_in_it_comes_with_its_entry(image: Image) -> None:
    entries = sorted((image.root / "var/lib/dpkg/status.d").iterdir())
    assert len(entries) > 8
    for entry in entries:
        assert f"Package: {entry.name}\n" in entry.read_text()
    assert [*image.root.glob("usr/share/doc/libc6/copyright")]
