"""What was measured, for people."""

from collections.abc import Callable, Iterator

from numa_agent.cli.report_text import table
from numa_agent.core.measuring import (
    Copies,
    Gain,
    Matrix,
    Ratio,
    gain,
    spread,
)
from numa_agent.core.measuring.planning import only_node
from numa_agent.core.topology import NodeKind, Topology

_MOST_COLUMNS = 8
"""Columns of a block; a wider matrix has several, below each other."""


def matrix_lines(matrix: Matrix, topology: Topology, cpu_model: str | None) -> Iterator[str]:
    """The matrix in blocks, what follows from it, and what is missing."""
    if (node := only_node(topology)) is not None:
        yield one_node(node)
        yield ""
    yield f"{cpu_model or 'unknown CPU'}: median of {matrix.rounds} rounds (lowest-highest)"
    if matrix.by == "latency":
        yield ""
        yield "latency of a read that waits for the one before it, in ns"
        yield from _block(matrix, topology, lambda *pair: _latency(matrix, *pair))
    yield ""
    yield "bandwidth of reading in order, all cores of the node, in GB/s"
    yield from _block(matrix, topology, lambda *pair: _bandwidth(matrix, *pair))
    yield ""
    if matrix.copies:
        yield "copies of pinned memory to a GPU / from it, in GB/s (its node by the map)"
        yield from _copies(matrix, topology)
        yield ""
    yield f"distance by {matrix.by}, 10 is local (the firmware's)"
    yield from _block(matrix, topology, lambda *pair: _distance(matrix, topology, *pair))
    yield ""
    yield from _found(matrix)
    if matrix.plan.cached:
        yield (
            "note: there is too little memory to read past the caches, which may have held a part"
            " of what was read"
        )
    for sentence in matrix.left_out:
        yield f"note: {sentence}"


def one_node(node: int) -> str:
    """That there is nothing far here."""
    return f"this machine has one NUMA node ({node}): near and far are the same, no gain here"


def _block(matrix: Matrix, topology: Topology, cell: Callable[[int, int], str]) -> Iterator[str]:
    readers = sorted({reader for reader, _ in matrix.pairs})
    targets = sorted({target for _, target in matrix.pairs})
    for start in range(0, len(targets), _MOST_COLUMNS):
        some = targets[start : start + _MOST_COLUMNS]
        rows = [("from CPUs of", *(f"memory of {_name(topology, node)}" for node in some))]
        rows += [(f"  node {own}", *(cell(own, node) for node in some)) for own in readers]
        yield from table(rows)


def _name(topology: Topology, node: int) -> str:
    found = topology.node(node)
    memory_only = found is not None and found.kind is NodeKind.MEMORY
    return f"{node} (no CPUs)" if memory_only else str(node)


def _latency(matrix: Matrix, reader: int, target: int) -> str:
    pair = matrix.pairs.get((reader, target))
    if pair is None or not pair.nanoseconds:
        return "?"
    found = spread(pair.nanoseconds)
    return f"{found.median:.0f} ({found.low:.0f}-{found.high:.0f})"


def _bandwidth(matrix: Matrix, reader: int, target: int) -> str:
    pair = matrix.pairs.get((reader, target))
    if pair is None:
        return "?"
    found = spread([each / 1e9 for each in pair.bytes_per_second])
    return f"{found.median:.1f} ({found.low:.1f}-{found.high:.1f})"


def _distance(matrix: Matrix, topology: Topology, reader: int, target: int) -> str:
    distance, node = matrix.distance(reader, target), topology.node(reader)
    firmware = None if node is None or node.distances is None else node.distances.get(target)
    return f"{_known(distance)} ({_known(firmware)})"


def _found(matrix: Matrix) -> Iterator[str]:
    """For each node, what its farthest memory costs."""
    for reader in sorted({reader for reader, _ in matrix.pairs}):
        local = matrix.local(reader)
        others = {
            target: found
            for own, target in matrix.pairs
            if own == reader and target != local and (found := matrix.ratio(own, target))
        }
        if not others:
            continue
        slowest = max(others, key=lambda target: (others[target].value, -target))
        found = others[slowest]
        what = f"node {reader}: a read of node {slowest}'s memory"
        match gain(found):
            case Gain.FASTER:
                yield f"{what} takes {times(found)} times as long as one of node {local}'s"
            case Gain.SLOWER:
                yield f"{what} is quicker than one of node {local}'s: {times(found)} times"
            case Gain.TOO_FEW:
                yield f"{what}: {found.value:.2f} times, of too few rounds to tell from chance"
            case Gain.NONE:
                yield (
                    f"no gain here: {what} takes {times(found)} times as long as one of node"
                    f" {local}'s, which chance or less than 1 % explains"
                )


def times(found: Ratio) -> str:
    """A ratio and its interval."""
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _copies(matrix: Matrix, topology: Topology) -> Iterator[str]:
    nodes = {gpu.device.address: gpu.device.node for gpu in topology.gpus}
    targets = sorted({node for _, node in matrix.copies})
    rows = [("GPU", *(f"memory of {_name(topology, node)}" for node in targets))]
    for address in sorted({address for address, _ in matrix.copies}):
        cells = (_copy(matrix.copies.get((address, node))) for node in targets)
        rows.append((f"  {address} ({_known(nodes.get(address))})", *cells))
    yield from table(rows)


def _copy(copies: Copies | None) -> str:
    if copies is None:
        return "?"
    to, back = spread(copies.to_gpu).median, spread(copies.from_gpu).median
    return f"{to / 1e9:.1f} / {back / 1e9:.1f}"


def _known(value: int | None) -> str:
    return "?" if value is None else str(value)
