"""`python -m tools.machines` writes the generated machines anew, `--check` only compares."""

import argparse
import sys
from pathlib import Path

from .build import build
from .reading import read_machine
from .section import SpecError
from .tree import Tree, difference, write_tree

SPECS = Path(__file__).parent / "specs"
FIXTURES = Path("fixtures/sysfs")


def main(arguments: list[str]) -> int:
    """0 when the disk is, or now is, as described; 1 when it is not; 2 for a bad description."""
    parser = argparse.ArgumentParser(prog="python -m tools.machines", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 naming the first difference"
    )
    check = parser.parse_args(arguments).check
    try:
        return check_all(SPECS, FIXTURES) if check else write_all(SPECS, FIXTURES)
    except SpecError as error:
        print(f"{SPECS}: {error}", file=sys.stderr)
        return 2


def generate(specs: Path) -> dict[str, Tree]:
    """Every machine that a file in `specs` describes, by name."""
    return {path.stem: build(read_machine(path)) for path in sorted(specs.glob("*.yaml"))}


def write_all(specs: Path, fixtures: Path) -> int:
    """Writes every described machine below `fixtures` and says how much changed; always 0."""
    for name, tree in generate(specs).items():
        changed = write_tree(fixtures / name, tree)
        print(f"{fixtures / name}: {len(tree)} files, {changed} written or removed")
    return 0


def check_all(specs: Path, fixtures: Path) -> int:
    """Compares every described machine with the disk: 0, or 1 at the first difference."""
    for name, tree in generate(specs).items():
        found = difference(fixtures / name, tree)
        if found is not None:
            print(f"{fixtures / name}/{found}; run `make fixtures`", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
