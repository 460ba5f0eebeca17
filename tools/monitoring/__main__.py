"""Writes manifests/monitoring/ anew, or the same with other settings into another folder."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from tools.monitoring import dashboard, rules
from tools.monitoring.settings import Settings

FOLDER = Path(__file__).resolve().parents[2] / "manifests" / "monitoring"


def files(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each file by its name, with its text."""
    yield "rules.yml", rules.written(rules.groups(settings))
    yield "prometheusrule.yaml", rules.written(rules.prometheus_rule(settings))
    yield "dashboard.json", dashboard.written(settings)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files; the arguments are the command's where none are given."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.monitoring",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="DIR")
    for each in fields(Settings):
        option = f"--{each.name.replace('_', '-')}"
        parser.add_argument(option, type=type(each.default), default=each.default)
    given = vars(parser.parse_args(arguments))
    folder: Path = given.pop("into")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files(Settings(**given)):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
