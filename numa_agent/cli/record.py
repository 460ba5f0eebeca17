"""`numa-agent record`: the node as a recorded machine, for a bug report."""

import argparse
import sys
from pathlib import Path

from numa_agent.cli import options
from numa_agent.config import ConfigError
from numa_agent.core import quantity
from numa_agent.host.recording.output import new_file
from numa_agent.host.recording.packing import ENDS, Packing, packing_of
from numa_agent.wiring.recording import Recording, record_once

DESCRIPTION = """\
Write all that a pass reads of this node, and nothing else, into one file: a bug report that others
can replay. It is a recorded machine: `topology`, `render` and `plan` answer from it as they do
here. Names of nodes, pods, namespaces and containers, uids, container ids, GPU serials, and
whatever else isn't a number or a word of Kubernetes, have pseudonyms in it, one for each name.
Environment, commands, arguments, volumes, images, secrets, network addresses and the annotations
that the agent doesn't read aren't in it at all. Nothing is changed here, and nothing is sent."""

EPILOG = """\
examples:
  numa-agent record node.tar.zst --node-name gpu-7
  kubectl exec -n numa-agent POD -- numa-agent record - \\
      --config /etc/numa-agent/config.yaml > node.tar.gz
  numa-agent record copy.tar.zst --host-root fixtures/sysfs/two-socket-8gpu

Look at it before you send it:
  tar xf node.tar.zst && less recorded-machine/MANIFEST
  less recorded-machine/answers/pods.json
  numa-agent topology --host-root recorded-machine
  numa-agent plan --host-root recorded-machine
Where it has a settings.yaml, this agent's own settings change the answer:
  cd recorded-machine && numa-agent plan --host-root . --config settings.yaml

What is in it, file by file, and what is replaced by what: docs/record.md. How it is packed goes by
its name: .tar.zst has half the size of .tar.gz, which opens where there is no zstd; .tar leaves it
to you. Exit code 1 when something that a pass reads is missing in it: the rest is there."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where it goes, how large it may be and whether names stay."""
    parser.add_argument(
        "out",
        metavar="OUT",
        help="a new file, .tar.zst, .tar.gz or .tar; `-` is standard output, as .tar.gz",
    )
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument(
        "--limit",
        metavar="SIZE",
        default="64Mi",
        help="the most that it may take when unpacked (default: 64Mi); what is over is left out",
    )
    parser.add_argument(
        "--keep-names",
        action="store_true",
        help="keep names, uids and serials as they are; what isn't read stays out all the same",
    )


def run(arguments: argparse.Namespace) -> int:
    """Record, and say what came of it."""
    settings = options.settings(
        arguments, nodeName=arguments.node_name, kubeconfig=arguments.kubeconfig
    )
    limit = _limit(arguments.limit)
    if arguments.out == "-":
        if sys.stdout.isatty():
            raise ConfigError("a recording is no text for a terminal: send it into a file with >")
        stream, packing = sys.stdout.buffer, Packing.GZIP
        made = record_once(
            settings, stream, packing=packing, limit=limit, keep_names=arguments.keep_names
        )
        return _tell(made, "standard output")
    packing = _packing(arguments.out)
    try:
        with new_file(Path(arguments.out)) as stream:
            made = record_once(
                settings, stream, packing=packing, limit=limit, keep_names=arguments.keep_names
            )
    except FileExistsError as error:
        raise ConfigError(
            f"{arguments.out} is there already: name a new file, or remove that one"
        ) from error
    return _tell(made, arguments.out)


def _limit(text: str) -> int:
    try:
        return quantity.whole(text)
    except ValueError as error:
        raise ConfigError(f"--limit: {error}; write a size such as 64Mi") from error


def _packing(name: str) -> Packing:
    packing = packing_of(name)
    if packing is None:
        known = ", ".join(ENDS)
        raise ConfigError(f"{name}: how to pack it isn't known by this name; end it in {known}")
    return packing


def _tell(made: Recording, where: str) -> int:
    """Say what is in it, on standard error since it may itself be on standard output."""
    size = sum(each.size for each in made.recorded)
    names = "names as they are" if made.names.keep else f"{len(made.names.originals)} pseudonyms"
    print(
        f"numa-agent record: {where}: {len(made.recorded)} files, links and directories,"
        f" {size} bytes unpacked, {names}, {len(made.left_out)} left out (MANIFEST says which)",
        file=sys.stderr,
    )
    for failure in made.failures:
        print(f"numa-agent record: failed: {failure}", file=sys.stderr)
    return 1 if made.failures else 0
