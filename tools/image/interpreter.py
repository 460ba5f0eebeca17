"""The Python of the base image: where it is and which of its modules go into the image."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tools.image.tree import Tree

# Modules for developers, for screens or for databases. The last two kinds would each bring
# libraries in C that nothing here ever calls.
_LEFT_OUT = (
    *("__pycache__", "__phello__", "config-3.*", "dist-packages", "site-packages"),
    *("EXTERNALLY-MANAGED", "test", "tests", "idlelib", "turtledemo", "turtle.py"),
    *("ensurepip", "venv", "lib2to3", "pydoc_data", "distutils"),
    *("tkinter", "curses", "dbm", "sqlite3", "xxlimited*", "_test*", "_xx*", "_ctypes_test*"),
    *("_tkinter*", "_curses*", "_dbm*", "_gdbm*", "_sqlite3*", "readline*", "nis.*", "ossaudio*"),
    *("sitecustomize.py", "*.exe"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python: `/usr/bin/python3.13`, its version "3.13", its modules' folder."""

    program: PurePosixPath
    version: str
    modules: PurePosixPath


def find_interpreter(source: Tree) -> Interpreter:
    """Return the base image's Python. Raises SystemExit where there is none."""
    for prefix in (PurePosixPath("/usr/local"), PurePosixPath("/usr")):
        real = source.find(prefix / "bin/python3")
        if real is not None:
            version = real.name.removeprefix("python")
            modules = prefix / "lib" / f"python{version}"
            return Interpreter(program="/" / real, version=version, modules=modules)
    raise SystemExit("BASE has no python3 in /usr/local/bin or /usr/bin: give one that has")


def copy_interpreter(source: Tree, image: Tree, python: Interpreter) -> None:
    """Copy the program and its modules."""
    source.copy_to(image, python.program)
    start = source.root / source.real(python.modules)
    for folder, folders, files in os.walk(start):
        # Names are left out at the top and among the extension modules only.
        top = Path(folder) in {start, start / "lib-dynload"}
        left_out = shutil.ignore_patterns(*(_LEFT_OUT if top else ("__pycache__", "test*")))
        folders[:] = sorted(set(folders) - left_out(folder, folders))
        for name in sorted(set(files) - left_out(folder, files)):
            source.copy_to(image, str("/" / Path(folder, name).relative_to(source.root)))


def full_version(source: Tree, python: Interpreter) -> str:
    """Return "3.13.1", as Python's own header says, or "3.13" without one."""
    header = python.modules.parents[1] / "include" / python.modules.name / "patchlevel.h"
    real = source.find(header)
    text = (source.root / real).read_text() if real else ""
    found = re.search(r'^#define PY_VERSION\s+"([^"]+)"', text, re.MULTILINE)
    return found[1] if found else python.version
