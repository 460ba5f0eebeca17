"""The command line: one module a command, and the only place that prints.

Exit codes: 0 fine, 1 the answer is bad (a write failed, a container isn't where it belongs),
2 usage or configuration.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol

from numa_agent import __version__
from numa_agent.config import ConfigError
from numa_agent.core.errors import SourceError

COMMANDS = {
    "topology": "show the machine's map: packages, NUMA nodes, CPUs, memory, caches, devices",
    "run": "take one pass: map, publish, bind, prove",
    "demo": "take one pass on a copy of a recorded machine and show each step",
}
"""Each command's name, which is its module's too, and its line in the help."""

_EPILOG = """\
examples:
  numa-agent topology                          the machine this runs on
  numa-agent topology --host-root DIR -o json  a recorded one, for programs
  numa-agent demo                              the whole loop, without root or cluster

`numa-agent COMMAND --help` teaches a command.
"""


class Command(Protocol):
    """What each command's module has."""

    DESCRIPTION: str
    EPILOG: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's options."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it, print the answer, return the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = _parser().parse_args(words[:1])
    # Only the command that was asked for is imported, so that each starts fast.
    command: Command = importlib.import_module(f"numa_agent.cli.{chosen.command}")
    parser = _Parser(
        prog=f"numa-agent {chosen.command}",
        description=command.DESCRIPTION,
        epilog=command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    arguments = parser.parse_args(words[1:])
    try:
        status = command.run(arguments)
        sys.stdout.flush()
    except (ConfigError, SourceError) as error:
        print(f"numa-agent {chosen.command}: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


class _Parser(argparse.ArgumentParser):
    """argparse, whose errors also say where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\nTry `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:<10} {line}" for name, line in COMMANDS.items())
    parser = _Parser(
        prog="numa-agent",
        usage="numa-agent COMMAND [options]",
        description="The node agent that makes NUMA placement on Kubernetes true.\n\n"
        f"commands:\n{listed}",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"numa-agent {__version__}")
    return parser
