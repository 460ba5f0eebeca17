"""The steps that make the image's root, each on small trees."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

import pytest

from tests.image.trees import write
from tools.image import archive, debian, interpreter, modules, sbom, wheels
from tools.image.tree import Tree, settle


@pytest.mark.parametrize("prefix", ["usr", "usr/local"])
def test_python_is_found_where_debian_and_others_have_it(base: Tree, prefix: str) -> None:
    write(base.root / prefix / "bin/python3.13")
    (base.root / prefix / "bin/python3").symlink_to("python3.13")
    write(
        base.root / prefix / "include/python3.13/patchlevel.h",
        '#define PY_MAJOR_VERSION 3\n#define PY_VERSION   \t    "3.13.9"\n',
    )
    python = interpreter.find_interpreter(base)
    assert (str(python.program), python.version) == (f"/{prefix}/bin/python3.13", "3.13")
    assert interpreter.full_version(base, python) == "3.13.9"


def test_a_base_without_python_is_refused(base: Tree) -> None:
    with pytest.raises(SystemExit, match="BASE has no python3"):
        interpreter.find_interpreter(base)


def test_modules_for_developers_stay_behind_at_the_top_only(base: Tree, image_tree: Tree) -> None:
    modules_folder = base.root / "usr/lib/python3.13"
    for name in (
        "os.py",
        "tkinter/a.py",
        "json/test/a.py",
        "json/tkinter/a.py",
        "a/__pycache__/b",
    ):
        write(modules_folder / name)
    write(base.root / "usr/bin/python3.13")
    (base.root / "usr/bin/python3").symlink_to("python3.13")
    interpreter.copy_interpreter(base, image_tree, interpreter.find_interpreter(base))
    found = image_tree.root / "usr/lib/python3.13"
    kept = {str(path.relative_to(found)) for path in found.rglob("*") if path.is_file()}
    assert kept == {"os.py", "json/tkinter/a.py"}


_STATUS = """\
Package: libb1
Status: install ok installed
Architecture: amd64
Version: 1:1.2+dfsg-3~deb13u1
Description: b
 more of it: here

Package: other
Architecture: all
Version: 2
"""


def test_the_packages_of_what_was_copied_are_known(base: Tree, image_tree: Tree) -> None:
    write(base.root / "var/lib/dpkg/status", _STATUS)
    write(base.root / "var/lib/dpkg/info/libb1:amd64.list", "/lib\n/lib/libb.so.1\n")
    write(base.root / "var/lib/dpkg/info/other.list", "/usr/share/other\n")
    write(base.root / "usr/share/doc/libb1/copyright", "free")
    write(base.root / "usr/lib/libb.so.1")
    base.copy_to(image_tree, "/usr/lib/libb.so.1")
    (package,) = debian.packages_of(base)
    assert (package.name, package.version) == ("libb1", "1:1.2+dfsg-3~deb13u1")
    debian.copy_papers(base, image_tree, [package])
    assert (image_tree.root / "usr/share/doc/libb1/copyright").read_text() == "free"
    assert "more of it" in (image_tree.root / "var/lib/dpkg/status.d/libb1").read_text()
    bill = sbom.completed({"components": [{"bom-ref": "z"}]}, [package], "3.13.9", "1.0")
    assert [one["bom-ref"] for one in bill["components"]] == [
        "pkg:deb/debian/libb1@1:1.2%2Bdfsg-3~deb13u1?arch=amd64",
        "pkg:generic/python@3.13.9",
        "z",
    ]
    assert bill["metadata"]["component"]["name"] == "numa-agent"


def test_a_base_without_dpkg_has_no_debian_packages(base: Tree) -> None:
    assert debian.packages_of(base) == []


def test_owners_times_and_permissions_are_settled(tmp_path: Path) -> None:
    program, text = write(tmp_path / "r/bin/a"), write(tmp_path / "r/etc/b")
    program.chmod(0o6777)
    text.chmod(0o666)
    (tmp_path / "r/link").symlink_to("nowhere")
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    settle(tmp_path / "r", 1_700_000_000)
    assert [oct(path.stat().st_mode & 0o7777) for path in (program, text)] == ["0o755", "0o644"]
    assert (tmp_path / "r/link").lstat().st_mtime == 1_700_000_000


def test_a_package_is_removed_by_its_record(tmp_path: Path) -> None:
    write(tmp_path / "aiohttp_retry/client.py")
    write(tmp_path / "other/a.py")
    write(tmp_path / "other/a.pyi")
    write(
        tmp_path / "aiohttp_retry-2.9.1.dist-info/RECORD", "aiohttp_retry/client.py,sha256=x,1\n"
    )
    write(tmp_path / "kubernetes/client/api/__init__.py")
    write(tmp_path / "kubernetes/client/api/core_v1_api.py")
    modules.trim(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"other/a.py", "kubernetes/client/api/__init__.py"}


_IMPORTED = """
import importlib, json, pkgutil, sys, numa_agent
for one in pkgutil.walk_packages(numa_agent.__path__, "numa_agent."):
    if not one.name.endswith("__main__"):
        importlib.import_module(one.name)
from numa_agent.host.recording.packing import Packing, packer
packer(Packing.ZSTD)  # loaded where it is used alone
print(json.dumps([getattr(one, "__file__", None) for one in sys.modules.values()]))
"""


def test_nothing_that_the_agent_imports_is_trimmed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED], capture_output=True, text=True, timeout=120, check=True
    )
    paths = [PurePosixPath(path) for path in json.loads(done.stdout) if path]
    inside = [
        PurePosixPath(*path.parts[path.parts.index("site-packages") + 1 :])
        for path in paths
        if "site-packages" in path.parts
    ]
    assert any(path.parts[0] == "kubernetes" for path in inside)
    packages = {name.replace("-", "_") for name in modules.UNREACHED_PACKAGES}
    assert not [path for path in inside if path.parts[0] in packages]
    folders = [pattern for pattern in modules.UNREACHED if "*" not in pattern]
    assert not [path for path in inside if any(path.is_relative_to(one) for one in folders)]
    patterns = [pattern for pattern in modules.UNREACHED if "*" in pattern]
    assert not [path for path in inside if any(path.match(one) for one in patterns)]


def test_pip_is_asked_for_wheels_of_the_target(tmp_path: Path) -> None:
    options = modules.pip_target_options("arm64", "3.13")
    assert "--platform=manylinux_2_28_aarch64" in options
    assert not [option for option in options if "x86_64" in option]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("opt/numa-agent/lib/python3.13/site-packages/yaml/_yaml.so", "yaml"),
        ("opt/numa-agent/lib/python3.13/site-packages/pynvml.py", "pynvml"),
        ("usr/lib/python3.13/lib-dynload/_ssl.so", "Python's extension modules"),
        ("usr/lib/x86_64-linux-gnu/libc.so.6", "libraries in C"),
        ("usr/lib/python3.13/os.py", "Python and its modules"),
        ("etc/passwd", "the rest"),
    ],
)
def test_sizes_are_told_by_part(name: str, part: str) -> None:
    assert archive.part_of(name) == part


def test_the_build_script_says_which_machines_it_works_on(tmp_path: Path) -> None:
    uname = write(tmp_path / "uname", "#!/bin/sh\necho riscv64\n")
    uname.chmod(0o755)
    done = subprocess.run(
        [str(Path(modules.__file__).with_name("make.sh"))],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "this is riscv64" in done.stderr


@pytest.mark.parametrize(
    ("version", "is_wanted"), [("3.11", True), ("3.13", True), ("3.14", False)]
)
def test_what_the_target_s_python_needs_is_fetched_whatever_python_fetches_it(
    version: str, is_wanted: bool
) -> None:
    locked = (Path(modules.__file__).parents[2] / "requirements.txt").read_text()
    wanted = wheels.for_python(locked, version)
    assert ("backports-zstd==" in wanted) is is_wanted
    assert " ; " not in wanted
    unconditional = set(re.findall(r"^\S+==\S+ \\$", locked, re.MULTILINE))
    assert unconditional <= set(wanted.splitlines())
    assert wanted.count("==") <= wanted.count("--hash=sha256:")


def _pins(path: Path) -> dict[str, str]:
    """Version by package; each has at least one hash."""
    blocks = re.split(r"^(?=[a-z])", path.read_text(), flags=re.MULTILINE)
    found = {}
    for block in blocks:
        if pin := re.match(r"([a-z0-9-]+)==(\S+)", block):
            assert "--hash=sha256:" in block, block
            found[pin[1]] = pin[2]
    return found


def test_the_image_holds_the_versions_that_are_tested() -> None:
    here = Path(modules.__file__).parents[2]
    tested = _pins(here / "requirements-dev.txt")
    packed = _pins(here / "requirements.txt")
    assert "kubernetes" in packed
    assert packed.items() <= tested.items(), "make lock writes both anew"


def test_every_dependency_of_the_project_is_locked() -> None:
    here = Path(modules.__file__).parents[2]
    project = tomllib.loads((here / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[<>=!~\[ ]", one)[0].lower() for one in project["dependencies"]}
    assert wanted <= _pins(here / "requirements.txt").keys(), "make lock writes it anew"
    assert _pins(here / "tools/image/requirements-build.txt")
