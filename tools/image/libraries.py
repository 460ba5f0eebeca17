"""The shared libraries that the copied programs and modules need, and theirs in turn."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tools.image.elf import MACHINES, Elf, read_elf
from tools.image.tree import Tree


def copy_libraries(source: Tree, image: Tree, arch: str) -> None:
    """Copy what the ELF files in the image need. Raises SystemExit naming what isn't there."""
    todo = [path for path in sorted(image.root.rglob("*")) if path.is_file()]
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in seen or path.is_symlink():
            continue
        seen.add(path)
        elf = read_elf(path)
        if elf is not None:
            _same_processor(elf, path, arch)
            todo.extend(_needs(elf, path, source, image))


def _same_processor(elf: Elf, path: Path, arch: str) -> None:
    found = MACHINES.get(elf.machine, (f"ELF machine {elf.machine}", ""))[0]
    if found != arch:
        raise SystemExit(f"{path} is for {found}, the image for {arch}: is BASE for {arch}?")


def _needs(elf: Elf, path: Path, source: Tree, image: Tree) -> Iterator[Path]:
    if elf.loader is not None:
        yield source.copy_to(image, elf.loader)
    triplet = MACHINES[elf.machine][1]
    own = PurePosixPath("/", path.parent.relative_to(image.root))
    for name in elf.needed:
        if name.startswith("ld-linux"):
            continue  # the loader, which the interpreter brought
        folders = [
            *(PurePosixPath(folder.replace("$ORIGIN", str(own))) for folder in elf.folders),
            *(PurePosixPath("/usr/lib", triplet), PurePosixPath("/lib", triplet)),
            *(PurePosixPath("/usr/lib"), PurePosixPath("/lib"), PurePosixPath("/lib64")),
        ]
        if any(image.find(folder / name) for folder in folders):
            continue
        found = next((folder / name for folder in folders if source.find(folder / name)), None)
        if found is None:
            raise SystemExit(f"{path} needs {name}, which BASE has in none of {folders}")
        yield source.copy_to(image, found)
