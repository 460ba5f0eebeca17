"""`numa-agent simulate`: what would become of pods here."""

import argparse
import json
import sys
from collections.abc import Iterator

from numa_agent.cli import options
from numa_agent.cli.report_text import table
from numa_agent.cli.slots import add_shapes, lost, shapes_given
from numa_agent.core.cpulist import render
from numa_agent.core.simulating import Compared, Fate, Placed, Simulation, simulation_json
from numa_agent.wiring.simulate import simulate_once

DESCRIPTION = """\
Show what would become of pods on this node or a recorded machine as it is now: which GPUs kubelet
would give them, which CPUs and NUMA nodes the agent's assigner, which would be refused and why,
and how many slots are left. Nothing is written, and no cluster sees the pods."""

EPILOG = """\
examples:
  numa-agent simulate pods.yaml --node-name gpu-7
  numa-agent simulate pods.yaml --host-root fixtures/sysfs/two-socket-8gpu --compare
  kubectl create deployment web --image web --replicas 3 --dry-run=client -o yaml |
    numa-agent simulate - --host-root fixtures/sysfs/two-socket-8gpu

The file has Pods, Lists, Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs,
which come in its order. A pod that the node hasn't room for waits, and the next ones go on. What
is simulated and what isn't: docs/simulate.md.

Exit code 1 when a pod doesn't get what it asks for, or a source failed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which pods, on which machine."""
    parser.add_argument("pods", metavar="PODS.yaml", help="the pods; - is standard input")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="choose the CPUs in other ways as well: first fit by CPU id, as kubelet's static CPU"
        " manager does, and had all pods asked by one policy",
    )
    parser.add_argument(
        "--gpus-as",
        metavar="RESOURCE",
        help="offer the machine's GPUs as this resource, such as aliyun.com/gpu, in place of what"
        " they are offered as now",
    )
    add_shapes(parser)
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Print what would become of the pods."""
    done = simulate_once(
        options.settings(arguments),
        arguments.pods,
        shapes=shapes_given(arguments),
        gpus_as=arguments.gpus_as,
        compare=arguments.compare,
    )
    for failure in done.failures:
        print(f"numa-agent simulate: failed: {failure}", file=sys.stderr)
    found = done.simulation
    if arguments.output == "json":
        answer = {"format": "numa-agent.simulation/v1", **simulation_json(found)}
        json.dump({**answer, "failures": list(done.failures)}, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(lines(found)))
    bad = any(each.fate in (Fate.WAITING, Fate.UNPLACED) for each in found.pods)
    return 1 if bad or done.failures else 0


def lines(found: Simulation) -> Iterator[str]:
    """The pods, then the slots, then the comparison."""
    rows = [("POD", "BECOMES", "CPUS", "NODES", "DEVICES", "ON", "ALIGNED", "WHY")]
    yield from table([*rows, *map(_pod, found.pods)])
    yield from _slots(found)
    if found.compared:
        yield ""
        yield from _compared(found.compared)
    for note in dict.fromkeys((*found.before.notes, *found.notes)):
        yield f"note: {note}"


def _pod(placed: Placed) -> tuple[str, ...]:
    aligned = {None: "-", True: "yes", False: "no"}[placed.beside]
    why = f"{placed.code}: {placed.why}" if placed.code else placed.why
    return (
        placed.pod.full_name,
        placed.fate.value,
        render(placed.cpus) or "-",
        render(placed.nodes) or "-",
        str(len(placed.devices)) if placed.devices else "-",
        render(placed.device_nodes) or "-",
        aligned,
        why,
    )


def _slots(found: Simulation) -> Iterator[str]:
    if not found.after:
        return
    yield ""
    rows = [("SHAPE", "SLOTS BEFORE", "AFTER", "LOST BEFORE", "AFTER")]
    rows += [
        (str(old.shape), str(old.total), str(new.total), lost(old), lost(new))
        for old, new in zip(found.before.shapes, found.after, strict=True)
    ]
    yield from table(rows)


def _compared(each: tuple[Compared, ...]) -> Iterator[str]:
    shapes = [str(found.shape) for found in each[0].slots]
    rows = [("CPUS CHOSEN BY", "PLACED", "ALIGNED", *(f"{shape} LEFT" for shape in shapes))]
    rows += [
        (
            one.name,
            str(one.placed),
            str(one.aligned),
            *(str(found.total) for found in one.slots),
        )
        for one in each
    ]
    return iter(table(rows))
