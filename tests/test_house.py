"""Rules of the house that no type and no import contract can hold."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numa_agent

HOUSE = Path(numa_agent.__file__).parent

MODULES = {
    str(path.relative_to(HOUSE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(HOUSE.rglob("*.py"))
}

# A path, and not a sentence for people that names one.
MACHINE_PATH = re.compile(r"(?=\S*/)(?:\S*/)?(?:sys|proc|var)(?:/\S*)?")

IO_MODULES = {
    *(
        "asyncio",
        "builtins",
        "ctypes",
        "datetime",
        "fcntl",
        "fileinput",
        "glob",
        "http",
        "importlib",
    ),
    *("io", "locale", "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "posix"),
    *("random", "secrets", "select", "shutil", "signal", "socket", "ssl", "subprocess", "sys"),
    *("tempfile", "threading", "time", "urllib", "uuid"),
}


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the constants that are docstrings, those of attributes included."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def literals(tree: ast.Module) -> Iterator[str]:
    """Each string that the code may use, the parts of f-strings too."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in skipped:
            if isinstance(node.value, bytes):
                yield node.value.decode("latin-1")
            elif isinstance(node.value, str):
                yield node.value


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{'.' * node.level}{node.module or ''}"


def spelled(tree: ast.Module) -> list[str]:
    """The machine's paths that a module's literals spell."""
    return [text for text in literals(tree) if MACHINE_PATH.fullmatch(text)]


def printing(tree: ast.Module) -> list[int]:
    """The lines that print or take standard output or error."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == "print")
        or (isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr"})
    ]


def test_only_the_configuration_spells_the_machine_s_paths() -> None:
    spellers = {name for name, tree in MODULES.items() if spelled(tree)}
    assert spellers == {"config/places.py"}


def test_the_core_imports_nothing_that_reads_writes_or_tells_the_time() -> None:
    allowed = set(sys.stdlib_module_names) - IO_MODULES
    for name, tree in MODULES.items():
        if name.startswith("core/"):
            for imported in imports(tree):
                ours = imported.startswith("numa_agent.core")
                assert ours or imported.split(".")[0] in allowed, f"{name} imports {imported}"


def test_the_core_opens_nothing() -> None:
    for name, tree in MODULES.items():
        if name.startswith("core/"):
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert not used & {"open", "input", "__import__", "eval", "exec"}, name


def test_only_the_command_line_prints() -> None:
    printers = {name for name, tree in MODULES.items() if printing(tree)}
    assert printers
    assert {name for name in printers if not name.startswith("cli/")} == set()


def test_these_rules_see_what_they_forbid() -> None:
    assert {"config/places.py", "core/cpulist.py", "cli/run.py"} <= set(MODULES)
    bad = ast.parse(
        '"""/sys is fine here."""\n'
        "import os.path, yaml\n"
        "from time import sleep\n"
        'PATHS = ("sys/devices", f"{root}/sys/x", "/proc", b"proc/meminfo", "sys")\n'
        'HINT = "mount the host\'s /sys/fs/cgroup"\n'
        "print(HINT); sys.stderr.write(HINT)\n"
    )
    assert spelled(bad) == ["sys/devices", "/proc", "proc/meminfo", "/sys/x"]
    assert list(imports(bad)) == ["os.path", "yaml", "time"]
    assert printing(bad) == [6, 6]
