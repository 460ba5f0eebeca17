"""A folder as a value: what it holds, how it differs from the disk, and making the disk equal."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

EXPECTED = "expected"
"""The folder of a recorded machine that is not generated from its description."""


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to a target relative to the folder the link lies in."""

    target: str


Tree = dict[str, str | Link]
"""Path below the folder, with `/`, to a file's text or a link."""


def link(path: str, target: str) -> Tree:
    """A relative link at `path` to `target`, both given from the folder's root."""
    return {path: Link(os.path.relpath(target, os.path.dirname(path)))}


def lines(folder: str, values: Mapping[str, object]) -> Tree:
    """One file per entry in `folder`, each holding the value and one newline."""
    return {f"{folder}/{name}": f"{value}\n" for name, value in values.items()}


def merged(*trees: Tree) -> Tree:
    """All trees as one; a path in two of them is a mistake of this program."""
    whole: Tree = {}
    for tree in trees:
        twice = whole.keys() & tree.keys()
        if twice:
            raise AssertionError(f"generated twice: {min(twice)}")
        whole.update(tree)
    return whole


def read_tree(root: Path) -> Tree:
    """What is on disk below `root`, its `expected/` left out; empty where there is no folder."""
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        if here == root and EXPECTED in folders:
            folders.remove(EXPECTED)
        for name in files + [name for name in folders if (here / name).is_symlink()]:
            path = here / name
            key = path.relative_to(root).as_posix()
            tree[key] = Link(str(path.readlink())) if path.is_symlink() else _text(path)
    return tree


def difference(root: Path, tree: Tree) -> str | None:
    """The first path that differs between the disk and the tree, with how, or None."""
    found = read_tree(root)
    for path in sorted(found.keys() | tree.keys()):
        if path not in found:
            return f"{path}: missing"
        if path not in tree:
            return f"{path}: not generated"
        if found[path] != tree[path]:
            return f"{path}: differs"
    return None


def write_tree(root: Path, tree: Tree) -> int:
    """Makes the disk below `root` equal to the tree and returns how many paths that changed."""
    found = read_tree(root)
    stale = sorted(found.keys() - tree.keys(), reverse=True)
    for path in stale:
        (root / path).unlink()
    _remove_empty_folders(root)
    changed = [path for path in sorted(tree) if found.get(path) != tree[path]]
    for path in changed:
        _write(root / path, tree[path])
    return len(stale) + len(changed)


def _write(path: Path, entry: str | Link) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    if isinstance(entry, Link):
        path.symlink_to(entry.target)
    else:
        path.write_text(entry, encoding="utf-8", newline="\n")


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _remove_empty_folders(root: Path) -> None:
    for folder, _, _ in os.walk(root, topdown=False):
        if folder != str(root) and not any(Path(folder).iterdir()):
            Path(folder).rmdir()
