"""What was measured, for programs: docs/measure.md."""

from collections.abc import Sequence

from numa_agent.core import cpulist
from numa_agent.core.measuring.matrix import Matrix
from numa_agent.core.measuring.planning import only_node
from numa_agent.core.measuring.spread import Ratio, spread
from numa_agent.core.measuring.trial import Trial, gain
from numa_agent.core.topology import Topology
from numa_agent.core.view import Json

FORMAT = "numa-agent.measure/v1"


def matrix_json(matrix: Matrix, topology: Topology, cpu_model: str | None) -> Json:
    """A matrix and how it was made."""
    return {
        "format": FORMAT,
        "kind": "matrix",
        "cpu_model": cpu_model,
        "rounds": matrix.rounds,
        "one_node": only_node(topology) is not None,
        "cached": matrix.plan.cached,
        "readers": [
            {"node": each.node, "cpus": cpulist.render(each.cpus), "latency_cpu": each.probe}
            for each in matrix.plan.readers
        ],
        "targets": [
            {
                "node": each.node,
                "buffer_bytes": each.size,
                "pages_on_node": matrix.pages.get(each.node, 0),
            }
            for each in matrix.plan.targets
        ],
        "pairs": [_pair(matrix, topology, *pair) for pair in sorted(matrix.pairs)],
        "gpu_copies": [
            {
                "gpu": str(gpu),
                "memory_node": node,
                "to_gpu_bytes_per_second": _series(copies.to_gpu),
                "from_gpu_bytes_per_second": _series(copies.from_gpu),
            }
            for (gpu, node), copies in sorted(matrix.copies.items())
        ],
        "left_out": list(matrix.left_out),
    }


def trial_json(trial: Trial) -> Json:
    """A command's runs and what may be said of them."""
    failed = trial.failure
    return {
        "format": FORMAT,
        "kind": "command",
        "command": list(trial.command),
        "placements": [
            {
                "name": each.name,
                "cpus": cpulist.render(each.cpus),
                "memory_node": each.mem,
                "seconds": _series(trial.seconds.get(each.name, ())),
                "times_near": None if each.name == "near" else _ratio(trial.ratio(each.name)),
                "spilled_allocations": trial.spilled.get(each.name),
            }
            for each in trial.placements
        ],
        "verdict": "failed" if failed is not None else gain(trial.ratio("far")).value,
        "failure": None
        if failed is None
        else {
            "placement": failed.placement,
            "run": failed.run,
            "exit_code": failed.exit_code,
            "signal": failed.signal,
            "timed_out": failed.timed_out,
        },
    }


def none_json(command: Sequence[str]) -> Json:
    """A command that wasn't run, since one node has nothing far."""
    return {
        "format": FORMAT,
        "kind": "command",
        "command": list(command),
        "placements": [],
        "verdict": "one-node",
        "failure": None,
    }


def _pair(matrix: Matrix, topology: Topology, reader: int, target: int) -> Json:
    pair = matrix.pairs[reader, target]
    node = topology.node(reader)
    firmware = None if node is None or node.distances is None else node.distances.get(target)
    return {
        "from": reader,
        "to": target,
        "latency_ns": _series(pair.nanoseconds),
        "read_bytes_per_second": _series(pair.bytes_per_second),
        "times_local": _ratio(matrix.ratio(reader, target)),
        "distance": matrix.distance(reader, target),
        "firmware_distance": firmware,
    }


def _series(values: Sequence[float]) -> Json | None:
    if not values:
        return None
    found = spread(values)
    return {
        "median": found.median,
        "low": found.low,
        "high": found.high,
        "samples": list(values),
    }


def _ratio(found: Ratio | None) -> Json | None:
    return None if found is None else {"value": found.value, "low": found.low, "high": found.high}
