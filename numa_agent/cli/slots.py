"""`numa-agent slots`: how many more pods fit on one NUMA node each."""

import argparse
import json
import sys
from collections.abc import Iterator

from numa_agent.cli import options
from numa_agent.cli.report_text import table
from numa_agent.config import ConfigError
from numa_agent.core.cpulist import render
from numa_agent.core.slots import MOST_SHAPES, Shape, ShapeSlots, SlotsNow, parse_shape, slots_json
from numa_agent.wiring.slots import slots_once

DESCRIPTION = """\
Show how many more pods of a shape would still get all that they ask for of one NUMA node each:
whole CPUs of their own, GPUs and memory. A slot is a pod that the agent's assigner would place
now. Nothing is written."""

EPILOG = """\
examples:
  numa-agent slots --node-name gpu-7
  numa-agent slots --host-root fixtures/sysfs/two-socket-8gpu --shape 24c4g
  numa-agent slots --host-root fixtures/sysfs/two-socket-8gpu --shape 12c2g256Gi --shape 8c -o json

Without --shape: the shapes of the pods that run here, else a NUMA node's GPUs, half of them and so
on, each with its part of the CPUs. LOST is the share of pods that don't fit only because what is
free is on several nodes: docs/slots.md. Exit code 1 when a source failed."""

_ORIGINS = {
    "named": "as named",
    "seen": "as the pods here have them",
    "fractions": "fractions of a NUMA node",
}


def _shape(text: str) -> Shape:
    try:
        return parse_shape(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which shapes, of which machine."""
    add_shapes(parser)
    parser.add_argument(
        "--exclusive",
        choices=("Required", "Preferred"),
        default="Required",
        help="the pods' singleNUMANodeExclusive: whether they keep off nodes with pods that may"
        " span nodes (default: Required, as the annotation's)",
    )
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """Declare which shapes are counted."""
    parser.add_argument(
        "--shape",
        metavar="SHAPE",
        type=_shape,
        action="append",
        help="what one pod takes: CPUs, GPUs and memory, such as 24c4g256Gi or 8c; may be given"
        f" up to {MOST_SHAPES} times",
    )


def shapes_given(arguments: argparse.Namespace) -> tuple[Shape, ...]:
    """The shapes that the options name. Raises ConfigError where there are too many."""
    shapes = tuple(arguments.shape or ())
    if len(shapes) > MOST_SHAPES:
        raise ConfigError(f"--shape: at most {MOST_SHAPES} shapes are counted")
    return shapes


def run(arguments: argparse.Namespace) -> int:
    """Print the slots."""
    seen = slots_once(
        options.settings(arguments),
        shapes_given(arguments),
        exclusive=arguments.exclusive == "Required",
    )
    for failure in seen.failures:
        print(f"numa-agent slots: failed: {failure}", file=sys.stderr)
    if arguments.output == "json":
        answer = {"format": "numa-agent.slots/v1", **slots_json(seen.now)}
        json.dump({**answer, "failures": list(seen.failures)}, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(lines(seen.now)))
    return 1 if seen.failures else 0


def lines(now: SlotsNow) -> Iterator[str]:
    """The slots as a table, and what there is to say of them."""
    if now.shapes:
        ids = [str(node.node_id) for node in now.shapes[0].nodes]
        rows = [("SHAPE", *(f"NODE {each}" for each in ids), "SLOTS", "LOST", "NEXT ONE LACKS")]
        rows += [_row(each) for each in now.shapes]
        yield from table(rows)
        gpus = f"; a GPU is one {now.gpus}" if now.gpus else ""
        yield ""
        yield f"shapes: {_ORIGINS[now.origin.value]}{gpus}"
    else:
        yield "no shape to count: name one with --shape, such as 8c"
    for note in now.notes:
        yield f"note: {note}"


def lost(found: ShapeSlots) -> str:
    """The fragmentation, for people."""
    share = found.fragmentation
    return "never fits" if share is None else f"{share:.0%}"


def _row(found: ShapeSlots) -> tuple[str, ...]:
    by_node = [str(each.slots) for each in found.nodes]
    return (str(found.shape), *by_node, str(found.total), lost(found), _lacks(found))


def _lacks(found: ShapeSlots) -> str:
    """What the next pod would lack, where that isn't the same everywhere with the nodes."""
    by_lack: dict[str, list[int]] = {}
    for node in found.nodes:
        by_lack.setdefault(_WORDS[node.short], []).append(node.node_id)
    if len(by_lack) == 1:
        return next(iter(by_lack))
    return "; ".join(f"{lack} on {render(ids)}" for lack, ids in by_lack.items())


_WORDS = {
    "cpus": "CPUs",
    "gpus": "GPUs",
    "memory": "memory",
    "in-use": "pods of several nodes",
}
