"""Measured distances: a file whose content takes the place of the firmware's in what is published.

The file is JSON. It holds the firmware's distances of the machine it was measured on too, so that
it is known not to belong to another machine, or to this one with another NUMA setting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.conditions import Condition
from numa_agent.core.measuring.matrix import Matrix
from numa_agent.core.measuring.planning import nodes_in_use
from numa_agent.core.quoting import shown
from numa_agent.core.strict_json import JsonError, Value, parse
from numa_agent.core.topology import Topology
from numa_agent.core.view import Json

FORMAT = "numa-agent.distances/v1"
LOCAL = 10
MOST = 254
_MOST_NODES = 1024
_UNKNOWN = "-"

Rows = Mapping[int, Mapping[int, int]]
"""Distances by the node they are from, then by the node they are to."""


class DistancesError(ValueError):
    """Why distances can't be made, read or used here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances:
    """Measured distances of one machine.

    `by` is `latency` or `bandwidth`. `firmware` are the firmware's rows of the same nodes, None
    where it gave none; with `cpu_model`, None on Arm, they tell the machine.
    """

    by: str
    cpu_model: str | None
    firmware: Mapping[int, Mapping[int, int] | None]
    rows: Rows

    def here(self, topology: Topology, cpu_model: str | None) -> Rows:
        """The rows, if they are of this machine as it is now. Raises DistancesError."""
        nodes = _nodes(topology)
        if nodes != self.rows.keys():
            raise DistancesError(
                f"it is of NUMA nodes {cpulist.render(self.rows)}, and this machine has"
                f" {cpulist.render(nodes)}"
            )
        if None not in (cpu_model, self.cpu_model) and cpu_model != self.cpu_model:
            raise DistancesError(f"it is of a machine with {self.cpu_model}, this has {cpu_model}")
        for node, row in _firmware(topology).items():
            if row != self.firmware[node]:
                raise DistancesError(
                    f"the firmware's distances of node {node} were {_told(self.firmware[node])}"
                    f" when it was measured and are {_told(row)}"
                )
        for node in (each.id for each in topology.cpu_nodes):
            missing = nodes - self.rows[node].keys()
            if missing:
                raise DistancesError(f"it has none from node {node} to {cpulist.render(missing)}")
        return self.rows

    def to_json(self, measured_at: str) -> Json:
        """The file's document, rows as the kernel's; `measured_at` is for people."""
        ids = sorted(self.rows)
        return {
            "format": FORMAT,
            "measured_at": measured_at,
            "by": self.by,
            "cpu_model": self.cpu_model,
            "nodes": {
                str(node): {
                    "firmware": None if (row := self.firmware[node]) is None else _row(row, ids),
                    "distances": _row(self.rows[node], ids),
                }
                for node in ids
            },
        }


def of_matrix(matrix: Matrix, topology: Topology, cpu_model: str | None) -> Distances:
    """The distances that a matrix gives; those from memory-only nodes are those to them.

    Raises DistancesError where a distance from a node with CPUs is missing, or where caches may
    have held what was read.
    """
    if matrix.plan.cached:
        raise DistancesError(
            "there is too little memory to read past the caches; see `numa-agent measure`"
        )
    nodes = _nodes(topology)
    rows: dict[int, dict[int, int]] = {node: {node: LOCAL} for node in nodes}
    measured = {
        pair: distance for pair in matrix.pairs if (distance := matrix.distance(*pair)) is not None
    }
    for (reader, target), distance in measured.items():
        rows[reader].setdefault(target, distance)
    for (reader, target), distance in measured.items():
        rows[target].setdefault(reader, distance)
    made = Distances(by=matrix.by, cpu_model=cpu_model, firmware=_firmware(topology), rows=rows)
    made.here(topology, cpu_model)
    return made


def unusable(path: str, error: DistancesError) -> Condition:
    """That a file isn't used, and what to do."""
    message = (
        f"measuredDistances: {path}: {error}; the firmware's distances are published. Measure anew"
        " on this node: numa-agent measure -o distances"
    )
    return Condition(code="measured-distances-unusable", subject=path, message=message)


def of_text(text: str) -> Distances:
    """The distances in a file's text. Raises DistancesError."""
    try:
        return _distances(parse(text))
    except JsonError as error:
        raise DistancesError(str(error)) from error


def _distances(document: Value) -> Distances:
    document.only(("format", "measured_at", "by", "cpu_model", "nodes"))
    form = _required(document, "format")
    if form.text() != FORMAT:
        raise form.fault(f"only {FORMAT} is read")
    by = _required(document, "by")
    if by.text() not in ("latency", "bandwidth"):
        raise by.fault("it must be latency or bandwidth")
    model = document.member("cpu_model")
    firmware: dict[int, Mapping[int, int] | None] = {}
    rows: dict[int, Mapping[int, int]] = {}
    nodes = {_node(name, entry): entry for name, entry in _required(document, "nodes").entries()}
    ids = sorted(nodes)
    for node, entry in nodes.items():
        entry.only(("firmware", "distances"))
        given = entry.member("firmware")
        known = given is not None and given.content is not None
        firmware[node] = _read_row(given, ids, 0, 255) if known and given is not None else None
        row = _required(entry, "distances")
        rows[node] = _read_row(row, ids, LOCAL, MOST)
        if rows[node].get(node) != LOCAL:
            raise row.fault(f"the distance from node {node} to itself must be {LOCAL}")
    if not rows:
        raise document.fault("it has no node")
    return Distances(
        by=by.text(),
        cpu_model=None if model is None or model.content is None else model.text(),
        firmware=firmware,
        rows=rows,
    )


def _read_row(row: Value, ids: Sequence[int], least: int, most: int) -> Mapping[int, int]:
    """A row as the kernel writes it, a column for each of the file's nodes; `-` for unknown."""
    words = row.text().split(" ")
    if len(words) != len(ids):
        raise row.fault(f"it has {len(words)} columns for {len(ids)} nodes")
    found: dict[int, int] = {}
    for node, word in zip(ids, words, strict=True):
        if word == _UNKNOWN:
            continue
        if not (word.isascii() and word.isdigit()) or len(word) > 3:
            raise row.fault(f"{shown(word)} isn't a distance")
        if not least <= int(word) <= most:
            raise row.fault(f"{word} isn't a whole number from {least} to {most}")
        found[node] = int(word)
    return found


def _node(name: str, value: Value) -> int:
    plain = name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")
    if not plain or len(name) > 4 or int(name) >= _MOST_NODES:
        raise value.fault("its name must be the number of a NUMA node")
    return int(name)


def _required(value: Value, name: str) -> Value:
    found = value.member(name)
    if found is None:
        raise value.fault(f"the member {name} is missing")
    return found


def _nodes(topology: Topology) -> frozenset[int]:
    return frozenset(nodes_in_use(topology))


def _firmware(topology: Topology) -> dict[int, Mapping[int, int] | None]:
    nodes = _nodes(topology)
    return {
        node.id: None
        if node.distances is None
        else {to: value for to, value in node.distances.items() if to in nodes}
        for node in topology.nodes
        if node.id in nodes
    }


def _row(row: Mapping[int, int], ids: Sequence[int]) -> str:
    return " ".join(str(row.get(node, _UNKNOWN)) for node in ids)


def _told(row: Mapping[int, int] | None) -> str:
    return "unknown" if row is None else _row(row, sorted(row))
