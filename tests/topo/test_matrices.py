"""The 30 published matrices, cell by cell, from trees generated from the same facts.

Ours is compared as it is printed, so that the printed form is compared too.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from numa_agent.cli import matrix
from numa_agent.core import cpulist
from numa_agent.core.assembly import assemble
from numa_agent.core.topology import Topology
from numa_agent.host.nvml import read_recorded
from numa_agent.host.sysfs import read_facts
from tests.topo.conftest import Tally
from tests.topo.machines import (
    Machine,
    functions,
    is_gpu,
    machines,
    names_by_address,
    silence,
    sources,
    write,
    write_nvml,
)
from tests.topo.published import ITSELF, Row, parse, published

MACHINES = machines()


@dataclass(frozen=True, slots=True)
class Surprise:
    """Published cells that no layout of the machine gives, with what ours says there."""

    published: str
    ours: str
    cells: int
    why: str


SURPRISES = {
    "13": Surprise("SYS", "NODE", 52, "between two devices of one socket, GPU or NIC"),
    "18": Surprise("NODE", "SYS", 40, "between devices whose NUMA Affinity differs"),
    "21": Surprise("SYS", "NODE", 36, "between GPUs, and with NICs, of one NUMA Affinity"),
    "30": Surprise("SYS", "NODE", 42, "between GPUs, and with NICs, of one NUMA Affinity"),
}
"""The level isn't a statement about NUMA there, and a firmware's numa_node is."""

FAULTY_CPUS = {
    "06": "every GPU names the first socket, also those that are SYS to its NICs",
    "18": "cut to the cpuset of the caller",
    "20": "cut to the width of the column",
}
"""Matrices whose CPU Affinity isn't the node's set of CPUs, and how."""

BY_LEVEL = {"06": {"GPU4": 1, "GPU5": 1, "GPU6": 1, "GPU7": 1}}
"""Places that no column gives right: these GPUs are SYS to all that is near to node 0."""


@dataclass(frozen=True, slots=True)
class Case:
    """One published matrix, the machine behind it, its folder, its map and our matrix of that."""

    number: str
    rows: dict[str, Row]
    machine: Machine
    root: Path
    topology: Topology
    ours: dict[str, Row]

    @property
    def gpus(self) -> dict[str, Row]:
        """The published rows of GPUs."""
        return {name: row for name, row in self.rows.items() if is_gpu(name)}


def look_at(root: Path, machine: Machine, affinity: dict[str, str | None]) -> Topology:
    """The map of a machine, with what its NVML answers."""
    write_nvml(root, machine, affinity)
    return assemble(read_facts(root), nvml=read_recorded(root, expected=True))


def printed(topology: Topology, machine: Machine) -> dict[str, Row]:
    """Our matrix of it, with the NICs' published names for ours, which are in address order."""
    names = names_by_address(machine)
    nics = [name for _, name in sorted(names.items()) if not is_gpu(name)]
    renamed = {f"NIC{position}": name for position, name in enumerate(nics)}
    rows = parse("\n".join(matrix.lines(topology)))
    return {
        renamed.get(name, name): Row(
            cells={renamed.get(other, other): cell for other, cell in row.cells.items()},
            cpus=row.cpus,
            nodes=row.nodes,
            memory_node=row.memory_node,
            source=row.source,
        )
        for name, row in rows.items()
    }


@pytest.fixture(scope="module", params=sorted(MACHINES))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Each matrix in turn; a firmware that places every device, and a driver without affinity."""
    number: str = request.param
    rows, machine = published(number), MACHINES[number]
    root = tmp_path_factory.mktemp("machine")
    write(root, machine)
    topology = look_at(root, machine, {})
    return Case(number, rows, machine, root, topology, printed(topology, machine))


def cpu_node(machine: Machine, row: Row) -> int | None:
    """The node that a published row names: the one with CPUs in the list, else that of its CPUs.

    None where it says N/A. Case 18: N/A isn't a number, and a list is a set.
    """
    if row.nodes == "N/A":
        return None
    if row.nodes:
        (node,) = [n for n in cpulist.parse(row.nodes) if machine.nodes[n]]
        return node
    cpus = cpulist.parse(row.cpus or "")
    (node,) = [n for n, own in machine.nodes.items() if cpulist.parse(own) & cpus]
    return node


def expected_nodes(case: Case) -> dict[str, int | None]:
    """The right node of each published GPU."""
    found = {name: cpu_node(case.machine, row) for name, row in case.gpus.items()}
    return {name: BY_LEVEL.get(case.number, {}).get(name, node) for name, node in found.items()}


def test_every_published_gpu_is_at_its_published_node(case: Case, tally: Tally) -> None:
    found = sources(case.topology, case.machine)
    for name, node in expected_nodes(case).items():
        if node is None:
            # Case 17: -1 on a machine with one node is that node.
            assert (case.ours[name].nodes, found[name]) == ("0", "single-node")
        else:
            assert (case.ours[name].nodes, found[name]) == (str(node), "sysfs"), name
        assert case.ours[name].source == found[name]
    assert [w.code for w in case.topology.warnings if w.code.startswith(("dev", "pci"))] == []
    tally.places[case.number] = len(case.gpus)


def test_every_published_gpu_is_beside_its_published_cpus(case: Case, tally: Tally) -> None:
    for name, row in case.gpus.items():
        theirs = cpulist.parse(row.cpus or "")
        own = cpulist.parse(case.ours[name].cpus or "")
        if case.number not in FAULTY_CPUS:
            assert own == theirs, name
            tally.cpus[case.number] = tally.cpus.get(case.number, 0) + 1
        elif name in BY_LEVEL.get(case.number, {}):
            assert not own & theirs, name
        else:
            assert own >= theirs, name


def test_every_published_cell_that_the_layout_decides_is_ours(case: Case, tally: Tally) -> None:
    pairs = [
        (cell, case.ours[name].cells[other])
        for name, row in case.rows.items()
        for other, cell in row.cells.items()
        if cell != ITSELF
    ]
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    surprise = SURPRISES.get(case.number)
    known = [] if surprise is None else [(surprise.published, surprise.ours)] * surprise.cells
    assert differing == known
    tally.cells[case.number] = len(pairs) - len(differing)
    if surprise is not None:
        tally.undecidable[case.number] = len(differing)


def test_the_gpu_s_own_memory_node_is_the_published_one(case: Case) -> None:
    for name, row in case.gpus.items():
        if row.memory_node is not None:
            assert case.ours[name].memory_node == row.memory_node, name
    # Case 15: such a node has no CPUs. It isn't the GPU's place, and is near to that place's CPUs.
    for node in case.topology.nodes:
        owners = [gpu for gpu in case.topology.gpus if gpu.memory_node == node.id]
        assert [(gpu.device.node,) for gpu in owners] == [node.nearest_cpu_nodes] * len(owners)


def test_where_firmware_is_silent_the_published_numa_affinity_places_the_gpus(
    case: Case,
) -> None:
    """What the driver answers is what nvidia-smi printed, `0,3-9,11-17` and N/A included."""
    silence(case.root, case.machine)
    said = {name: None if row.nodes == "N/A" else row.nodes for name, row in case.gpus.items()}
    topology = look_at(case.root, case.machine, said)
    ours = printed(topology, case.machine)
    single = sum(1 for cpus in case.machine.nodes.values() if cpus) == 1
    for name, node in expected_nodes(case).items():
        # An old driver has no such column, and a firmware that is silent then no other word.
        unsaid = ("0", "single-node") if single else ("?", "unknown")
        right = unsaid if said[name] is None else (str(node), "nvml")
        assert (ours[name].nodes, ours[name].source) == right, name


def test_every_published_device_is_in_the_machine_and_named_once(case: Case) -> None:
    described = [f.name for f in functions(case.machine) if f.name is not None]
    assert len(described) == len(set(described))
    wanted = {other for row in case.rows.values() for other in row.cells}
    assert set(case.rows) <= wanted <= set(described)


def test_a_pair_has_one_published_level_whichever_row_it_is_read_from(case: Case) -> None:
    for name, row in case.rows.items():
        for other, cell in row.cells.items():
            assert other not in case.rows or case.rows[other].cells[name] == cell, (name, other)


@pytest.mark.parametrize("line", ["GPU0\t X ", "GPU0\t"])
def test_case_18_a_short_row_is_refused_and_gives_no_level(line: str) -> None:
    with pytest.raises(ValueError, match="row GPU0"):
        parse(f"\tGPU0\tGPU1\tCPU Affinity\n{line}")
