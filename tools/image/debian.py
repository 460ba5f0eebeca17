"""Which Debian packages the copied files come from, and what must go along with them.

Each package leaves its entry in /var/lib/dpkg/status.d, where scanners of images look for it when
there is no package manager, and its copyright file, which its licence asks for.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath

from tools.image.tree import Tree

_STATUS = "/var/lib/dpkg/status"
_INFO = "/var/lib/dpkg/info"
_STATUS_FOLDER = "var/lib/dpkg/status.d"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianPackage:
    """One installed package and its entry in dpkg's status file."""

    name: str
    version: str
    architecture: str
    entry: str


def packages_of(source: Tree) -> list[DebianPackage]:
    """Return the packages that own a file taken from the tree, by name; [] where dpkg isn't."""
    status = source.root / source.real(_STATUS)
    if not status.is_file():
        return []
    return [
        package
        for package in sorted(_parse(status.read_text()), key=lambda one: one.name)
        if _files(source, package) & source.taken
    ]


def copy_papers(source: Tree, image: Tree, packages: list[DebianPackage]) -> None:
    """Copy each package's copyright file and write its entry."""
    for package in packages:
        text = f"/usr/share/doc/{package.name}/copyright"
        if source.find(text):
            source.copy_to(image, text)
        place = image.root / _STATUS_FOLDER / package.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(package.entry + "\n")


def _parse(status: str) -> list[DebianPackage]:
    packages = []
    for entry in status.split("\n\n"):
        lines = [line for line in entry.splitlines() if line[:1].strip() and ": " in line]
        fields = dict(line.split(": ", 1) for line in lines)
        if "Package" in fields:
            package = DebianPackage(
                name=fields["Package"],
                version=fields["Version"],
                architecture=fields["Architecture"],
                entry=entry.strip("\n"),
            )
            packages.append(package)
    return packages


def _files(source: Tree, package: DebianPackage) -> set[PurePosixPath]:
    """The package's files as real paths below the root."""
    for name in (package.name, f"{package.name}:{package.architecture}"):
        files = source.root / source.real(f"{_INFO}/{name}.list")
        if files.is_file():
            return {source.real(line) for line in files.read_text().splitlines()}
    return set()
