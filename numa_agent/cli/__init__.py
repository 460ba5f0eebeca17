"""The command line: one module a command, and the only place that prints.

Exit codes: 0 fine, 1 the answer is bad (a write failed, a container isn't where it belongs),
2 usage or configuration.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from numa_agent import __version__
from numa_agent.config import ConfigError
from numa_agent.core.errors import SourceError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

COMMANDS = {
    "topology": "show the machine's map: packages, NUMA nodes, CPUs, memory, caches, devices",
    "render": "print what the cluster's scheduler would be told of this node",
    "plan": "print every write that a pass would make in cgroups, with its reason",
    "verify": "show from the kernel what every container got: CPUs, memory, devices",
    "explain": "tell the story of one pod: asked, decided, written, in force, measured, to do",
    "slots": "show how many more pods fit on one NUMA node each, and what is lost to fragments",
    "simulate": "show what would become of these pods here: CPUs, GPUs, NUMA nodes, refusals",
    "restore": "take back what was bound",
    "doctor": "look for what hurts locality or the agent here, and say what to do",
    "run": "take passes: map, publish, bind, prove",
    "config": "show each setting with where it comes from, or check a configuration file",
    "measure": "measure what locality is worth, on this machine and to a command",
    "record": "write all that a pass reads here into one file, for a bug report",
    "gpu-plugin": "offer the node's whole NVIDIA cards to kubelet, beside their NUMA nodes",
    "demo": "take one pass on a copy of a recorded machine and show each step",
}
"""Each command's name, which is its module's too (- is _ there), and its line in the help."""

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
    if sys.stderr is None:
        # print() would send what is meant for a closed stderr to stdout.
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        print("numa-agent: error: standard output is closed", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The tree's lines don't exist in ASCII, nor a name of undecodable bytes in UTF-8.
        sys.stdout.reconfigure(errors="replace")
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _discard_output()
        return 0
    except OSError as error:
        what = "" if error.filename else "can't write the answer to standard output: "
        print(f"numa-agent: error: {what}{error}", file=sys.stderr)
        _discard_output()
        return 2


def _run(words: list[str]) -> int:
    """Run the chosen command and flush what it printed, --help too."""
    try:
        chosen = _parser().parse_args(words[:1]).command
        # Only the command that was asked for is imported, so that each starts fast.
        command: Command = importlib.import_module(f"numa_agent.cli.{chosen.replace('-', '_')}")
        arguments = _command_parser(chosen, command).parse_args(words[1:])
        try:
            return command.run(arguments)
        except (ConfigError, SourceError) as error:
            print(f"numa-agent {chosen}: error: {error}", file=sys.stderr)
            return 2
    finally:
        sys.stdout.flush()


def _discard_output() -> None:
    """Send what is still to be flushed nowhere: Python would complain again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """argparse, whose errors also say where help is, and whose help isn't lost in silence."""

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        print(self.format_help(), end="", file=file or sys.stdout)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\nTry `{self.prog} --help`.\n")


def _command_parser(name: str, command: Command) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"numa-agent {name}",
        description=command.DESCRIPTION,
        epilog=command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


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
