"""The matrix as it is printed: tabs, names, unknowns, legend."""

import pytest

from numa_agent.cli import main
from numa_agent.cli.matrix import cell, gpu_names, lines
from numa_agent.core.assembly import assemble
from numa_agent.core.devices import Link
from numa_agent.core.facts import PciFacts
from numa_agent.core.links import Level
from numa_agent.core.nvml import NvmlAnswers
from numa_agent.core.topology import NumaNode, Topology
from tests.recorded import MACHINES, machine
from tests.topo.published import parse
from tests.topo.values import (
    AMD,
    MELLANOX,
    NIC_CLASS,
    TWO_NODES,
    address,
    answers,
    facts,
    function,
    nic,
    node,
    nvml_gpu,
    to_switch,
)

A, B, C, D = "0000:1b:00.0", "0000:43:00.0", "0000:9c:00.0", "0000:c4:00.0"
GAUDI = (0x120000, 0x1DA3)


def text(
    *pci: PciFacts, nvml: NvmlAnswers | None = None, nodes: tuple[NumaNode, ...] = TWO_NODES
) -> str:
    return "\n".join(lines(assemble(facts(*pci, nodes=nodes), nvml=nvml)))


def names(*pci: PciFacts, nvml: NvmlAnswers | None = None) -> list[str]:
    topology: Topology = assemble(facts(*pci), nvml=nvml)
    return gpu_names(topology.gpus)


def link(level: Level | None, nvlinks: int | None) -> Link:
    return Link(
        a=address(A),
        b=address(B),
        level=level,
        nvml_level=None,
        nvlinks=nvlinks,
        switched=False,
        bytes_per_second=None,
        p2p={},
    )


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (link(Level.SYS, 18), "NV18"),
        (link(None, 4), "NV4"),
        (link(Level.NODE, 0), "NODE"),
        (link(Level.PIX, None), "PIX"),
        (link(None, None), "?"),
        (link(None, 0), "?"),
        (None, "?"),
    ],
)
def test_a_cell_is_nvlinks_else_the_level_else_a_question_mark(
    one: Link | None, shown: str
) -> None:
    assert cell(one) == shown


def test_rows_and_columns_are_laid_with_tabs_as_nvidia_smi_lays_them() -> None:
    printed = text(
        function(A, numa=0),
        function(B, numa=1),
        nic(C, numa=1),
        nvml=answers(nvml_gpu(0, A, nvlinks=to_switch(4)), nvml_gpu(1, B, nvlinks=to_switch(4))),
    )
    head = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\tNUMA source"
    assert printed.splitlines()[:4] == [
        head,
        "GPU0\t X \tNV4\tSYS\t0-3\t0\tN/A\tsysfs",
        "GPU1\tNV4\t X \tNODE\t4-7\t1\tN/A\tsysfs",
        "NIC0\tSYS\tNODE\t X \t\t1\t\tsysfs",
    ]


def test_what_is_unknown_is_a_question_mark_and_never_sys_or_node_0() -> None:
    printed = text(function(A), function(B, numa=0))
    rows = parse(printed)
    assert rows["GPU0"].cells == {"GPU0": "X", "GPU1": "?"}
    assert (rows["GPU0"].cpus, rows["GPU0"].nodes, rows["GPU0"].source) == ("?", "?", "unknown")


def test_several_nodes_between_which_nothing_decides_are_all_named() -> None:
    four = tuple(node(n, f"{2 * n}-{2 * n + 1}") for n in range(4))
    rows = parse(text(function(A, local="2-5"), nodes=four))
    assert (rows["GPU0"].cpus, rows["GPU0"].nodes) == ("?", "1-2")
    assert rows["GPU0"].source == "local-cpulist"


def test_the_gpu_s_own_memory_node_has_its_column() -> None:
    nvml = answers(nvml_gpu(0, A, memory_node=2))
    nodes = (*TWO_NODES, node(2, "", near=(0, 1)))
    rows = parse(text(function(A, numa=0), nvml=nvml, nodes=nodes))
    assert (rows["GPU0"].nodes, rows["GPU0"].memory_node) == ("0", "2")


def test_gpus_have_nvml_s_index_whatever_their_address() -> None:
    nvml = answers(nvml_gpu(0, B), nvml_gpu(1, A))
    assert names(function(A), function(B), nvml=nvml) == ["GPU1", "GPU0"]


def test_without_nvml_gpus_are_numbered_in_the_order_of_their_addresses() -> None:
    assert names(function(A, vendor=AMD), function(B, vendor=AMD)) == ["GPU0", "GPU1"]


def test_beside_gpus_that_nvml_knows_one_that_it_does_not_has_a_letter() -> None:
    nvml = answers(nvml_gpu(0, B), nvml_gpu(1, D))
    known = [function(A, driver="vfio-pci"), function(B), function(C, vendor=AMD), function(D)]
    assert names(*known, nvml=nvml) == ["GPUa", "GPU0", "GPUb", "GPU1"]


def test_other_accelerators_have_a_name_and_numbers_of_their_own() -> None:
    pci = [function(A, *GAUDI), function(B, vendor=AMD), function(C, *GAUDI)]
    assert names(*pci) == ["ACC0", "GPU0", "ACC1"]


def test_more_gpus_than_letters_have_two_letters() -> None:
    pci = [function(f"0000:{bus:02x}:00.0") for bus in range(1, 31)]
    found = names(*pci, nvml=answers(nvml_gpu(0, "0000:01:00.0")))
    assert found[:2] == ["GPU0", "GPUa"]
    assert found[-4:] == ["GPUz", "GPUaa", "GPUab", "GPUac"]


def test_rows_and_columns_are_in_the_order_that_people_count() -> None:
    nvml = answers(nvml_gpu(0, D), nvml_gpu(1, B))
    pci = [function(A, vendor=AMD, numa=0), function(B, numa=0), function(D, numa=1)]
    printed = text(*pci, nic(C, numa=1), nvml=nvml)
    rows = parse(printed)
    assert list(rows) == ["GPU0", "GPU1", "GPUa", "NIC0"]
    assert list(rows["NIC0"].cells) == list(rows)
    assert [rows[name].nodes for name in rows] == ["1", "0", "0", "1"]
    start = printed.index("GPU legend:")
    assert f"  GPU0: {D}\n  GPU1: {B}\n  GPUa: {A}\n" in printed[start:]


def test_the_legend_says_that_isolated_cpus_are_left_out() -> None:
    assert "  CPU Affinity: the node's online CPUs without isolated ones" in text(function(A))


def test_nics_are_those_with_rdma_and_all_of_them_only_where_none_has() -> None:
    plain = function(B, NIC_CLASS, MELLANOX, numa=0)
    rdma = PciFacts(
        address=address(C),
        class_code=NIC_CLASS,
        vendor=MELLANOX,
        device=1,
        numa_node=0,
        interfaces=("ib0",),
        rdma=("mlx5_0",),
    )
    printed = text(function(A, numa=0), plain, rdma)
    assert [name for name in parse(printed) if name.startswith("NIC")] == ["NIC0"]
    assert f"  NIC0: {C} mlx5_0, ib0" in printed.splitlines()
    assert list(parse(text(function(A, numa=0), plain))) == ["GPU0", "NIC0"]


def test_below_are_the_legend_and_the_address_of_every_name() -> None:
    printed = text(function(A, numa=0), nic(B, numa=0)).splitlines()
    start = printed.index("Legend:")
    for level in Level:
        assert any(line.startswith(f"  {level.value} ") for line in printed[start:]), level
    for symbol in ("  X  ", "  NV#", "  ?  "):
        assert any(line.startswith(symbol) for line in printed[start:]), symbol
    assert printed[printed.index("GPU legend:") + 2] == f"  GPU0: {A}"
    assert printed[printed.index("NIC legend:") + 2] == f"  NIC0: {B}"


def test_without_gpus_the_nics_are_shown() -> None:
    printed = text(nic(A, numa=0), nic(B, numa=1))
    assert parse(printed)["NIC0"].cells == {"NIC0": "X", "NIC1": "SYS"}
    assert "GPU legend:" not in printed


def test_a_machine_without_either_says_so() -> None:
    assert text() == "no GPU, accelerator or NIC found"


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_the_matrix_of_a_recorded_machine_is_square_and_symmetric(
    folder: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", "--host-root", str(folder), "-o", "matrix"]) == 0
    printed = capsys.readouterr().out
    if "\t" not in printed:
        assert printed == "no GPU, accelerator or NIC found\n"
        return
    rows = parse(printed)
    for name, row in rows.items():
        assert list(row.cells) == list(rows)
        assert row.cells[name] == "X"
        assert all(rows[other].cells[name] == shown for other, shown in row.cells.items())


def test_the_matrix_of_two_sockets_and_eight_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    main(["topology", "--host-root", str(machine("two-socket-8gpu")), "-o", "matrix"])
    rows = parse(capsys.readouterr().out)
    gpus = [name for name in rows if name.startswith("GPU")]
    assert [rows[name].nodes for name in gpus] == ["0"] * 4 + ["1"] * 4
    assert {rows[a].cells[b] for a in gpus for b in gpus if a != b} == {"NV18"}
    beside = [[nic for nic, cell in rows[name].cells.items() if cell == "PIX"] for name in gpus]
    assert all(len(nics) == 1 for nics in beside)
    assert len({nics[0] for nics in beside}) == 8
