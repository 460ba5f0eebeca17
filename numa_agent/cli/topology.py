"""`numa-agent topology`: the machine's map, for people and for programs."""

import argparse
import json
import os
import shutil
import sys

from numa_agent.cli import options
from numa_agent.core.topology import Topology
from numa_agent.core.topology_json import to_json
from numa_agent.wiring.map import read_map

DESCRIPTION = """\
Show how the machine's CPUs, memory, GPUs, NICs and other PCI devices hang together, as the kernel
tells it; NVIDIA's driver adds what it knows of its GPUs. A fact that nobody gives is shown as `?`
(null in JSON), never guessed; what is missing or contradicted is listed last, with the path."""

EPILOG = """\
examples:
  numa-agent topology
  numa-agent topology --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent topology -o matrix
  numa-agent topology --locality-overrides repairs.yaml --nvml off
  numa-agent topology --config /etc/numa-agent/config.yaml      in the DaemonSet: as `run` sees it
  numa-agent topology -o json | jq '.nodes[] | {id, cpus, memory_bytes}'

The JSON is a stable contract: docs/topology-json.md. Exit code 1 when no CPU was found."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the settings and -o."""
    options.add_settings(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("tree", "matrix", "json", "yaml"),
        default="tree",
        help="tree or matrix (as nvidia-smi topo -m) for people, json or yaml for programs",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the map."""
    settings = options.settings(arguments)
    topology = read_map(settings)
    sys.stdout.write(_rendered(topology, arguments.output))
    if topology.online:
        return 0
    print(
        f"numa-agent topology: no CPU found below {settings.host_root}: give the folder that"
        " holds the machine's sys/ and proc/ with --host-root",
        file=sys.stderr,
    )
    return 1


def _rendered(topology: Topology, output: str) -> str:
    if output == "json":
        return json.dumps(to_json(topology), indent=2) + "\n"
    if output == "matrix":
        from numa_agent.cli import matrix

        return "\n".join(matrix.lines(topology)) + "\n"
    if output == "yaml":
        import yaml

        text: str = yaml.safe_dump(to_json(topology), sort_keys=False, width=1000)
        return text
    from numa_agent.cli.drawing import Style
    from numa_agent.cli.tree import lines

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    return "\n".join(lines(topology, width=max(width, 40), style=Style(colour=colour))) + "\n"
