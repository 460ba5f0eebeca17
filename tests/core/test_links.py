"""How close two devices are by their paths: PIX, PXB, PHB, NODE, SYS or unknown."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.assembly import assemble
from numa_agent.core.links import NVML_LEVELS, Level, PciPath, level, parse_path
from tests.topo.values import answers, facts, function, nic, nvml_gpu

NAMES = st.sampled_from(["0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"])
CHAINS = st.lists(NAMES, max_size=5).map(tuple)
ROOTS = st.lists(
    st.sampled_from(["pci0000:00", "pci0000:80", "pci10000:00"]), min_size=1, max_size=2
).map(tuple)
PATHS = st.none() | st.builds(PciPath, ROOTS, CHAINS)
NODES = st.none() | st.integers(0, 3)


def path(text: str) -> PciPath:
    found = parse_path(f"../../../devices/{text}")
    assert found is not None
    return found


SWITCH = "pci0000:15/0000:15:01.0/0000:16:00.0"
FIRST_PORT, SECOND_PORT = f"{SWITCH}/0000:17:00.0", f"{SWITCH}/0000:17:01.0"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # Both behind one switch, a downstream port each.
        (f"{FIRST_PORT}/0000:18:00.0", f"{SECOND_PORT}/0000:19:00.0", Level.PIX),
        # Two functions of one card, or a bridge of its own for one of them.
        (f"{FIRST_PORT}/0000:18:00.0", f"{FIRST_PORT}/0000:18:00.1", Level.PIX),
        ("pci0000:15/0000:15:01.0/0000:16:00.0", f"{SWITCH}/0000:17:00.0", Level.PIX),
        # One bridge more, or a switch behind a switch: on one side, or on both.
        (f"{FIRST_PORT}/0000:18:00.0", f"{SECOND_PORT}/0000:19:00.0/0000:1a:00.0", Level.PXB),
        (
            f"{FIRST_PORT}/0000:18:00.0",
            f"{SECOND_PORT}/0000:19:00.0/0000:1a:00.0/0000:1b:00.0",
            Level.PXB,
        ),
        (
            f"{FIRST_PORT}/0000:18:00.0/0000:1a:00.0/0000:1b:00.0",
            f"{SECOND_PORT}/0000:19:00.0/0000:1c:00.0/0000:1d:00.0",
            Level.PXB,
        ),
        # Two root ports of one host bridge, a device on it itself, and two such.
        (f"{FIRST_PORT}/0000:18:00.0", "pci0000:15/0000:15:02.0/0000:30:00.0", Level.PHB),
        (f"{FIRST_PORT}/0000:18:00.0", "pci0000:15/0000:15:03.0", Level.PHB),
        ("pci0000:00/0000:00:05.0", "pci0000:00/0000:00:06.0", Level.PHB),
    ],
)
def test_below_one_host_bridge_the_bridges_decide_whatever_the_nodes(
    a: str, b: str, expected: Level
) -> None:
    for nodes in ((0, 0), (0, 1), (None, 0), (None, None)):
        assert level(path(a), path(b), *nodes) is expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ((0, 0), Level.NODE),
        ((3, 3), Level.NODE),
        ((0, 1), Level.SYS),
        # Never SYS by default, and never NODE because both are unknown.
        ((None, 0), None),
        ((0, None), None),
        ((None, None), None),
    ],
)
def test_between_host_bridges_the_nodes_decide_and_an_unknown_one_leaves_it_unknown(
    nodes: tuple[int | None, int | None], expected: Level | None
) -> None:
    a, b = path("pci0000:15/0000:15:01.0"), path("pci0000:80/0000:80:01.0")
    assert level(a, b, *nodes) is expected


def test_without_a_path_a_level_is_unknown() -> None:
    there = path(FIRST_PORT)
    assert level(None, there, 0, 0) is None
    assert level(there, None, 0, 0) is None


VMD = "pci0000:97/0000:97:00.5/pci10000:00"


@pytest.mark.parametrize(
    ("a", "b", "nodes", "expected"),
    [
        # Behind one VMD, the bridges below it count.
        (f"{VMD}/10000:00:02.0/x", f"{VMD}/10000:00:03.0/y", (0, 0), Level.PHB),
        (f"{VMD}/10000:00:02.0/x", f"{VMD}/10000:00:02.0/y", (0, 0), Level.PIX),
        # Behind a VMD and beside it, below the same host bridge.
        (f"{VMD}/10000:00:02.0/x", "pci0000:97/0000:97:01.0/y", (None, None), Level.PHB),
        # Two VMDs of two host bridges.
        (
            f"{VMD}/10000:00:02.0/x",
            "pci0000:20/0000:20:00.5/pci10001:00/10001:00:02.0/y",
            (0, 0),
            Level.NODE,
        ),
    ],
)
def test_a_vmd_s_second_host_bridge_is_below_the_first(
    a: str, b: str, nodes: tuple[int | None, int | None], expected: Level
) -> None:
    assert level(path(a), path(b), *nodes) is expected


@pytest.mark.parametrize(
    ("link", "roots", "bridges"),
    [
        ("../../../devices/pci0000:15/0000:15:01.0", ("pci0000:15",), ()),
        ("../../../devices/pci0000:15/0000:15:01.0/x", ("pci0000:15",), ("0000:15:01.0",)),
        # Arm: the host bridge is a platform device.
        (
            "../../../devices/platform/40000000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0",
            ("pci0000:00",),
            ("0000:00:00.0",),
        ),
        # POWER and Grace: a domain for each host bridge.
        ("../../../devices/pci0035:00/0035:00:00.0/x", ("pci0035:00",), ("0035:00:00.0",)),
        (
            "../../../devices/pci0000:97/0000:97:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
            ("pci0000:97", "pci10000:00"),
            ("10000:00:02.0",),
        ),
    ],
)
def test_a_link_names_the_host_bridges_and_the_bridges_below_the_last(
    link: str, roots: tuple[str, ...], bridges: tuple[str, ...]
) -> None:
    path = parse_path(link)
    assert path == PciPath(roots, bridges, ("0000:97:00.5",) if len(roots) > 1 else ())


@pytest.mark.parametrize(
    "link",
    ["", "0000:15:01.0", "../../../devices/virtual/x", "../../../devices/pci/x", "pci0000:15"],
)
def test_a_link_without_a_host_bridge_is_no_path(link: str) -> None:
    assert parse_path(link) is None


@settings(derandomize=True, deadline=None)
@given(PATHS, PATHS, NODES, NODES)
def test_a_level_is_the_same_seen_from_either_end(
    a: PciPath | None, b: PciPath | None, node_a: int | None, node_b: int | None
) -> None:
    assert level(a, b, node_a, node_b) is level(b, a, node_b, node_a)


@settings(derandomize=True, deadline=None)
@given(PATHS, PATHS, NODES, NODES)
def test_node_and_sys_are_said_of_known_nodes_only(
    a: PciPath | None, b: PciPath | None, node_a: int | None, node_b: int | None
) -> None:
    found = level(a, b, node_a, node_b)
    if found in {Level.NODE, Level.SYS}:
        assert node_a is not None
        assert node_b is not None
        assert (node_a == node_b) is (found is Level.NODE)


@settings(derandomize=True, deadline=None)
@given(PATHS.filter(bool), st.lists(NAMES, min_size=1, max_size=3).map(tuple))
def test_going_deeper_below_the_same_bridges_never_brings_devices_closer(
    a: PciPath, more: tuple[str, ...]
) -> None:
    deeper = PciPath(a.roots, a.bridges + more)
    ranks = [list(Level).index(found) for b in (a, deeper) if (found := level(a, b, 0, 0))]
    assert ranks == sorted(ranks)


def test_nvml_s_numbers_are_the_same_levels_in_the_same_order() -> None:
    assert list(NVML_LEVELS.values()) == list(Level)
    assert sorted(NVML_LEVELS) == list(NVML_LEVELS) == [10, 20, 30, 40, 50]


A, B, C, D = "0000:1b:00.0", "0000:43:00.0", "0000:9c:00.0", "0000:c4:00.0"
FOUR_GPUS = facts(*(function(name, numa=at) for name, at in ((A, 0), (B, 0), (C, 1), (D, -1))))


def test_levels_that_differ_are_a_warning_and_sysfs_s_is_kept() -> None:
    nvml = answers(
        nvml_gpu(0, A, common_ancestors={1: 50, 2: 50}),
        nvml_gpu(1, B, common_ancestors={0: 50, 2: 50}),
        nvml_gpu(2, C),
    )
    topology = assemble(FOUR_GPUS, nvml=nvml)
    (link, *_) = topology.links
    assert (link.level, link.nvml_level) == ("NODE", "SYS")
    differ = [w.message for w in topology.warnings if w.code == "link-levels-differ"]
    assert differ == [f"{A} - {B}: NODE by sysfs, SYS by NVML; the first is kept"]


@pytest.mark.parametrize("number", [0, 99, None])
def test_a_level_that_nvml_does_not_name_differs_from_nothing(number: int | None) -> None:
    ancestors = {} if number is None else {1: number}
    nvml = answers(nvml_gpu(0, A, common_ancestors=ancestors), nvml_gpu(1, B))
    topology = assemble(FOUR_GPUS, nvml=nvml)
    assert topology.links[0].nvml_level is None
    assert "link-levels-differ" not in [warning.code for warning in topology.warnings]


def test_a_level_that_sysfs_does_not_tell_is_not_taken_from_nvml() -> None:
    nvml = answers(nvml_gpu(0, A, common_ancestors={1: 50}), nvml_gpu(1, D))
    link = next(one for one in assemble(FOUR_GPUS, nvml=nvml).links if str(one.b) == D)
    assert (link.level, link.nvml_level) == (None, "SYS")


def test_every_pair_of_gpus_and_nics_has_one_link_in_the_order_of_addresses() -> None:
    machine = facts(*FOUR_GPUS.pci, nic("0000:1c:00.0", numa=0), nic("10000:01:00.0", numa=1))
    topology = assemble(machine)
    ends = [gpu.device.address for gpu in topology.gpus] + [n.address for n in topology.nics]
    assert [(link.a, link.b) for link in topology.links] == list(
        itertools.combinations(sorted(ends), 2)
    )
