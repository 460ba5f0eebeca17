"""`numa-agent run`: the pass that the node needs."""

import argparse
import json
import sys

from numa_agent import config
from numa_agent.cli import options, report_text
from numa_agent.core.report import to_json
from numa_agent.wiring.passes import run_once

DESCRIPTION = """\
Take one pass over this node: read its map, publish its NodeResourceTopology, write the CPU sets
that the scheduler assigned to running pods into their containers' cgroups, read back what the
kernel has in force, and say for each container whether it got its CPUs."""

EPILOG = """\
examples:
  numa-agent run --once --node-name gpu-7
  numa-agent run --once --host-root /host --config /etc/numa-agent/config.yaml
  numa-agent run --once --host-root COPY -o json    a copy of a recorded machine: it is written to

A configuration file holds the same settings: hostRoot, liveRoot, nodeName,
kubeconfig, nvml, localityOverrides.
Exit code 1 when something that was wanted isn't so: a source failed, an assignment was refused,
a write failed, a container doesn't run where it should."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the pass's options."""
    parser.add_argument("--once", action="store_true", required=True, help="take one pass and end")
    options.add_host_root(parser)
    parser.set_defaults(host_root=None)
    parser.add_argument("--config", type=options.path, metavar="FILE", help="settings in YAML")
    parser.add_argument("--node-name", metavar="NAME", help="this machine's Node ($NODE_NAME)")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="how to reach the API server (default: the pod's service account, else ~/.kube)",
    )
    options.add_devices(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Take the pass and print its report."""
    settings = config.load(
        arguments.config,
        {
            "hostRoot": None if arguments.host_root is None else str(arguments.host_root),
            "nodeName": arguments.node_name,
            "kubeconfig": arguments.kubeconfig,
            "nvml": arguments.nvml,
            "localityOverrides": arguments.locality_overrides,
        },
    )
    report = run_once(settings)
    if arguments.output == "json":
        json.dump(to_json(report), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(report_text.lines(report)))
    return 0 if report.good else 1
