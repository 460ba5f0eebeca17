"""`numa-agent demo`: the whole loop on a copy of a recorded machine, each step shown."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from numa_agent.cli import report_text
from numa_agent.cli.drawing import Style
from numa_agent.cli.tree import lines
from numa_agent.config import Config, ConfigError
from numa_agent.host.recorded import is_recorded
from numa_agent.wiring.passes import run_once

DESCRIPTION = """\
Take one whole pass over a copy of a recorded machine, so that nothing of this computer is read or
changed: no root, no cluster, no GPU. It shows the map, the object that would be published, the
files that were written and what the machine has in force afterwards."""

EPILOG = """\
examples:
  numa-agent demo
  numa-agent demo fixtures/sysfs/cgroup-v1-systemd"""

_MACHINE = Path(__file__).parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the machine shown."""
    parser.add_argument(
        "machine",
        nargs="?",
        metavar="DIR",
        help="a recorded machine (default: fixtures/sysfs/two-socket-8gpu)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Copy the machine, take the pass, show each step."""
    machine = _machine(arguments.machine)
    with tempfile.TemporaryDirectory(prefix="numa-agent-demo-") as folder:
        copy = Path(folder) / "machine"
        try:
            shutil.copytree(machine, copy, symlinks=True)
        except OSError as error:
            raise ConfigError(f"{machine} can't be copied: {error}") from error
        report = run_once(
            Config(host_root=copy, live_root=Path("/"), node_name=None, kubeconfig=None)
        )
    import yaml

    style = Style(colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    _title(style, f"1. map: {machine.name}")
    print("\n".join(lines(report.topology, width=80, style=style)))
    _title(style, "2. publish: the object for the cluster's scheduler")
    manifests = [publication.manifest for publication in report.publications]
    print(yaml.safe_dump_all(manifests, sort_keys=False), end="")
    _title(style, "3. bind: the files written")
    print("\n".join(report_text.written(report)))
    _title(style, "4. prove: what is in force now")
    print("\n".join([*report_text.found(report), *report_text.troubles(report)]))
    print("\n".join(report_text.notes(report)))
    return 0 if report.good else 1


def _machine(given: str | None) -> Path:
    """The folder of the recorded machine to show. Raises ConfigError where there is none."""
    if given is None and is_recorded(_MACHINE):
        return _MACHINE
    where = "fixtures/sysfs/ of numa-agent's source has some (docs/recorded-machines.md)"
    if given is None:
        raise ConfigError(
            f"no recorded machine is installed with numa-agent: give a recorded machine's folder,"
            f" `numa-agent demo DIR`; {where}"
        )
    if not given or "\0" in given or not is_recorded(Path(given)):
        raise ConfigError(f"{given!r} has no recorded.yaml: give a recorded machine; {where}")
    return Path(given).resolve()


def _title(style: Style, text: str) -> None:
    print(f"\n{style.strong(f'== {text} ==')}")
