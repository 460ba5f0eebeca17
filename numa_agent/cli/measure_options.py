"""The options of `numa-agent measure`."""

import argparse
from collections.abc import Callable

from numa_agent.config import ConfigError

MOST_RUNS = 30
MOST_SECONDS = 86_400


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare what is measured and how often."""
    parser.add_argument(
        "--host-root", metavar="DIR", help="where the live machine's root is mounted (default: /)"
    )
    parser.add_argument("--config", metavar="FILE", help="settings in YAML; options come first")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "distances"),
        default="table",
        help="distances: the file for measuredDistances, which are published in place of the"
        " firmware's",
    )
    parser.add_argument(
        "--runs",
        type=_from_one_to(MOST_RUNS),
        default=5,
        metavar="N",
        help="how often each is measured (default: 5; with fewer than 4 nothing can be told from"
        " chance)",
    )
    parser.add_argument(
        "--seconds",
        type=_from_one_to(MOST_SECONDS),
        metavar="N",
        help="what the matrix may take, about (default: 60)",
    )
    parser.add_argument(
        "--gpus",
        nargs="?",
        const="libcuda.so.1",
        metavar="PATH",
        help="measure copies to and from each GPU too, by CUDA's driver library (default:"
        " libcuda.so.1); it takes a context and 64 MiB of each GPU",
    )
    parser.add_argument(
        "--timeout",
        type=_from_one_to(MOST_SECONDS),
        metavar="N",
        help="the seconds after which a run of the command is ended (default: 3600)",
    )
    parser.add_argument(
        "--near", type=_node, metavar="NODE", help="the near node (default: the first)"
    )
    parser.add_argument(
        "--far", type=_node, metavar="NODE", help="the far node (default: the farthest)"
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="where the command's output goes (default: standard error); its input is empty",
    )
    parser.add_argument("words", nargs="*", metavar="-- CMD", help="the command to run")


def check(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for options that don't go together."""
    if arguments.words:
        if arguments.output == "distances":
            raise ConfigError("-o distances belongs to the matrix: leave the command out")
        for name in ("seconds", "gpus"):
            if getattr(arguments, name) is not None:
                raise ConfigError(f"--{name} belongs to the matrix: leave the command out")
        return
    for name in ("near", "far", "log", "timeout"):
        if getattr(arguments, name) is not None:
            raise ConfigError(f"--{name} belongs to a command: put `-- CMD` behind it")


def _from_one_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 9 or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number from 1 to {most}")
        return int(text)

    return number


def _node(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 4:
        raise argparse.ArgumentTypeError(f"{text!r} isn't the number of a NUMA node")
    return int(text)
