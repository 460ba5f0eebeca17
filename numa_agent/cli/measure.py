"""`numa-agent measure`: what locality is worth, on this machine and to a command."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from numa_agent import config
from numa_agent.cli.measure_options import check, declare
from numa_agent.cli.measure_text import matrix_lines, one_node
from numa_agent.cli.trial_text import trial_lines
from numa_agent.config import ConfigError
from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import DistancesError
from numa_agent.core.measuring.answers import matrix_json, none_json, trial_json
from numa_agent.core.measuring.distances import of_matrix
from numa_agent.core.measuring.planning import only_node
from numa_agent.host.measuring import Runner, StoppedError
from numa_agent.wiring import measures

DESCRIPTION = """\
Measure whether locality matters here. Without a command: the latency and the bandwidth of reading
each NUMA node's memory from each node's CPUs, real memory of which each page is looked up. With a
command: its wall time near (a node's CPUs and memory), far (another node's CPUs, the same memory)
and unbound, in turn and several times, and whether the difference is more than chance."""

EPILOG = """\
examples:
  numa-agent measure
  numa-agent measure -o distances >/etc/numa-agent/distances.json     for measuredDistances
  numa-agent measure -- ./train --steps 100
  numa-agent measure --near 1 --runs 9 --log train.log -- ./train --steps 100

It takes memory bandwidth from whatever else runs here: measure a node that is drained. In a
container it needs the capability SYS_NICE, and CPUs and memory of more than one node.
docs/measure.md says what is measured and how. Exit code 1 when nothing can be said: the command
failed, or a node couldn't be measured."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is measured and how often."""
    declare(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print what was found."""
    settings = config.load(arguments.config, {"hostRoot": arguments.host_root})
    check(arguments)
    machine = measures.machine(settings)
    try:
        if arguments.words:
            return _command(arguments, machine)
        return _matrix(arguments, machine)
    except StoppedError as stopped:
        _say(str(stopped))
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _matrix(arguments: argparse.Namespace, machine: measures.Machine) -> int:
    try:
        found = measures.measured(machine, arguments.runs, arguments.seconds or 60, arguments.gpus)
    except SourceError:
        if (node := only_node(machine.topology)) is not None:
            _say(one_node(node))
        raise
    if arguments.output == "distances":
        try:
            made = of_matrix(found, machine.topology, machine.cpu_model)
        except DistancesError as error:
            _say(f"no distances: {'; '.join([str(error), *found.left_out])}")
            return 1
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        _print_json(made.to_json(now))
        return 0
    if arguments.output == "json":
        _print_json(matrix_json(found, machine.topology, machine.cpu_model))
    else:
        print("\n".join(matrix_lines(found, machine.topology, machine.cpu_model)))
    return 0 if found.whole else 1


def _command(arguments: argparse.Namespace, machine: measures.Machine) -> int:
    if (node := only_node(machine.topology)) is not None:
        if arguments.output == "json":
            _print_json(none_json(arguments.words))
        else:
            print(one_node(node))
        return 0
    chosen = measures.places(machine, arguments.near, arguments.far)
    with _log(arguments.log) as output:
        runner = Runner(arguments.words, output, arguments.timeout or 3600)
        trial = measures.tried(arguments.words, chosen, arguments.runs, runner, _progress)
    if arguments.output == "json":
        _print_json(trial_json(trial))
    else:
        print("\n".join(trial_lines(trial)))
    return 0 if trial.failure is None else 1


@contextmanager
def _log(path: str | None) -> Iterator[int]:
    """The descriptor that the command's output goes to. Raises ConfigError for a bad file."""
    if path is None:
        try:
            os.fstat(2)
        except OSError:
            path = os.devnull
        else:
            sys.stderr.flush()
            yield 2
            return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"--log {path!r}: {why}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _print_json(document: object) -> None:
    json.dump(document, sys.stdout, indent=2)
    print()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        _say(text)


def _say(text: str) -> None:
    print(f"numa-agent measure: {text}", file=sys.stderr, flush=True)
