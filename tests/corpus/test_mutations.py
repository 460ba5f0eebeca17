"""What stays true of the map when a recorded machine's files are damaged, in any way we know.

Each example damages some of what a machine has, reads the map and puts all back. The sequence of
examples is fixed, so a run that fails here fails everywhere.
"""

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numa_agent.config import CPU_DIR, NODE_DIR, NVIDIA_GPUS_DIR, PCI_DIR
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.devices import NodeSource
from numa_agent.core.topology import NodeKind, Topology, TopologyWarning
from numa_agent.core.topology_json import to_json
from numa_agent.host.sysfs import read_topology
from tests.corpus.machines import expected
from tests.corpus.mutations import (
    LOST,
    Becomes,
    Damage,
    Machine,
    contents,
    copy_machine,
    damaged,
    damages,
    facts,
    note_reads,
    obvious_damages,
    one_of_kind,
)

ALL = sorted(expected())

CHOSEN = (
    "cadvisor-graviton2",
    "chcpu-x86_64-i7-11th",
    "derived-nvidiaDGX2",
    "hwloc-16amd64-8n2c",
    "hwloc-2i386-2t-hugepagesizecount",
    "hwloc-32intel64-2p8co2t_8ve",
    "hwloc-8ia64-2n2s2c",
    "hwloc-fakeheterocpunuma",
    "hwloc-fakeheteromemtiers",
    "hwloc-fakepcilocalities",
    "hwloc-nvidiagpunumanodes",
    "libvirt-caps-basic",
    "libvirt-hostcpu-subcores3",
    "libvirt-hostcpu-test6",
    "libvirt-hostcpu-with-die",
    "lscpu-arm-A510-A710-A715-X3",
    "lscpu-x86_64-64cpu",
    "nri-sample1",
)
"""Small machines that are unlike each other: old and new kernels, no node directory, memory-only
nodes, GPU memory, sparse ids, dies, clusters, hybrid CPUs, PCI, overlapping nodes."""

WITH_PCI = (
    "derived-nvidiaDGX2",
    "ghw-amd64-8581cf3a529e5d8b97ea876eade2f60d",
    "ghw-amd64-accel",
    "hwloc-2pa-pcidomain32bits",
    "hwloc-32intel64-2p8co2t_8ve",
    "hwloc-40intel64-4n10c_pci-conflicts",
    "hwloc-fakepcilocalities",
    "hwloc-nvidiagpunumanodes",
    "nto-bare-metal-worker2",
)

MachineOf = Callable[[str], Machine]


@pytest.fixture(scope="session")
def machine_of(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> MachineOf:
    """The copy of a machine that may be damaged, made once."""
    folder = tmp_path_factory.mktemp("damaged")
    made: dict[str, Machine] = {}

    def machine(name: str) -> Machine:
        if name not in made:
            made[name] = copy_machine(corpus / name, folder / name)
        return made[name]

    return machine


def examples(count: int) -> settings:
    """A fixed sequence of this many examples, whatever time each takes."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# --- Any damage ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHOSEN)
@examples(80)
@given(data=st.data())
def test_whatever_is_damaged_the_map_claims_nothing_impossible(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    with damaged(machine.root, data.draw(damages(machine), label="damages")):
        check(machine.root)


@pytest.mark.parametrize("name", ALL)
@examples(5)
@given(data=st.data())
def test_one_damage_to_any_recorded_machine_leaves_a_map_that_claims_nothing_impossible(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    check(machine.root)
    if machine.read:
        with damaged(machine.root, data.draw(damages(machine, most=1), label="damages")):
            check(machine.root)


def check(root: Path) -> None:
    """Read a machine twice and hold the map against everything that must be true of any map."""
    topology = read_topology(root)
    document = to_json(topology)
    text = json.dumps(document)
    assert json.dumps(to_json(read_topology(root))) == text, "the same machine, another map"
    assert json.loads(text) == document
    check_plain(document)
    check_cpus(topology, cpu_directories(root))
    check_groups(topology)
    check_nodes(topology)
    check_overlaps(topology, root)
    check_unknown_places(topology, root)
    check_devices(topology)
    check_warnings(topology)


def check_plain(value: object) -> None:
    """JSON values only, with neither float nor bool, which the format has none of."""
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        for item in value.values():
            check_plain(item)
    elif isinstance(value, list):
        for item in value:
            check_plain(item)
    else:
        assert value is None or type(value) in {int, bool, str}, value


def cpu_directories(root: Path) -> CpuSet:
    """The ids of the CPUs that have an entry in the tree."""
    directory = root / CPU_DIR
    names = os.listdir(directory) if directory.is_dir() else []
    return frozenset(int(name[3:]) for name in names if re.fullmatch(r"cpu[0-9]+", name))


def check_cpus(topology: Topology, directories: CpuSet) -> None:
    """No CPU from nowhere, and none both on and off."""
    if directories:
        assert topology.online <= directories
        assert topology.present <= directories
    assert topology.online <= topology.present
    assert topology.isolated is None or topology.isolated <= topology.present
    assert topology.offline <= topology.present
    assert not topology.offline & topology.online


def check_groups(topology: Topology) -> None:
    """Cores, packages, dies, clusters, kinds and caches have online CPUs, and no CPU is in two."""
    for name, sets in (
        ("cores", topology.cores or ()),
        ("packages", [group.cpus for group in topology.packages or ()]),
        ("dies", [group.cpus for group in topology.dies]),
        ("clusters", [group.cpus for group in topology.clusters]),
        ("kinds", [kind.cpus for kind in topology.cpu_kinds]),
        ("caches", [cache.cpus for cache in topology.caches]),
    ):
        assert all(sets), f"{name}: one without CPUs"
        assert all(cpus <= topology.online for cpus in sets), f"{name}: CPUs that aren't online"
        assert not in_several(sets), f"{name}: CPUs in two: {in_several(sets)}"


def in_several(sets: Iterable[CpuSet]) -> CpuSet:
    """The CPUs that are in more than one of these sets."""
    counts = Counter(chain.from_iterable(sets))
    return frozenset(cpu for cpu, count in counts.items() if count > 1)


def check_nodes(topology: Topology) -> None:
    """Nodes name only online CPUs and each other, and count nothing below zero."""
    ids = [node.id for node in topology.nodes]
    with_cpus = {node.id for node in topology.nodes if node.cpus}
    assert ids == sorted(set(ids))
    for node in topology.nodes:
        assert node.cpus is None or node.cpus <= topology.online
        assert (node.kind is NodeKind.CPU) == bool(node.cpus)
        assert node.memory_bytes is None or node.memory_bytes >= 0
        assert set(node.nearest_cpu_nodes) <= with_cpus
        assert not node.cpus or node.nearest_cpu_nodes == (node.id,)
        for other, distance in (node.distances or {}).items():
            assert other in ids
            assert type(distance) is int
            assert 0 <= distance <= 255
        for pool in node.hugepages:
            assert pool.size_kib >= 0
            assert pool.total is None or pool.total >= 0
            assert pool.free is None or pool.free >= 0


def check_overlaps(topology: Topology, root: Path) -> None:
    """No CPU is in two nodes, but where a kernel too old for cpulist says so, and then warned."""
    overlap = in_several(node.cpus for node in topology.nodes if node.cpus)
    if overlap:
        assert "nodes-overlap" in {warning.code for warning in topology.warnings}
        assert not list((root / NODE_DIR).glob("node*/cpulist")), f"CPUs {overlap} in two nodes"


def check_unknown_places(topology: Topology, root: Path) -> None:
    """A node whose CPUs are unknown isn't near others, unless a GPU's driver says that it is."""
    if not (root / NVIDIA_GPUS_DIR).exists():
        for node in topology.nodes:
            assert node.cpus is not None or not node.nearest_cpu_nodes


def check_devices(topology: Topology) -> None:
    """A device is in a node with CPUs, or unknown and said to be so."""
    with_cpus = {node.id for node in topology.nodes if node.cpus}
    addresses = [device.address for device in topology.pci_devices]
    assert addresses == sorted(set(addresses))
    for device in topology.pci_devices:
        assert device.node is None or device.node in with_cpus
        assert (not device.nodes) == (device.node_source is NodeSource.UNKNOWN)
        assert device.node is None or device.nodes == (device.node,)


def check_warnings(topology: Topology) -> None:
    """Warnings are in a fixed order and name something."""
    keys = [(warning.code, warning.subject, warning.message) for warning in topology.warnings]
    assert keys == sorted(keys)
    assert all(all(key) for key in keys)


# --- Damage to one file --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHOSEN)
@examples(60)
@given(data=st.data())
def test_a_file_that_is_read_and_obviously_damaged_is_named_by_a_warning(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    path = data.draw(one_of_kind(machine.read), label="path")
    damage = data.draw(obvious_damages(path, machine.content(path)), label="damage")
    with damaged(machine.root, [damage]):
        topology = read_topology(machine.root)
    assert any(names(warning, f"/{path}") for warning in topology.warnings), topology.warnings


def names(warning: TopologyWarning, path: str) -> bool:
    """Whether a warning is about this file."""
    return warning.subject == path or path in warning.message


CPU_N = rf"{CPU_DIR}/cpu\d+"
NODE_N = rf"{NODE_DIR}/node(\d+)"
PCI_N = rf"{PCI_DIR}/([^/]+)"
SURROUNDINGS = "driver|interfaces|rdma|physical_function"
PLACES = "pci_devices/.*/(node|nodes|node_source)"
NEAREST = "nodes/.*/nearest_cpu_nodes"

OWN_FACTS = (
    (rf"{CPU_DIR}/(online|present|cpu\d+/online)", ".*"),
    (f"{CPU_DIR}/offline", "only warns"),
    (f"{CPU_DIR}/isolated", "cpus/isolated"),
    (f"{CPU_N}/topology/(core_cpus|thread_siblings)(_list)?", "(cores|clusters)/.*"),
    (f"{CPU_N}/topology/(package_cpus|core_siblings)(_list)?", "packages/.*"),
    (f"{CPU_N}/topology/physical_package_id", "packages/.*"),
    (f"{CPU_N}/topology/(die|cluster)_.*", r"\1s/.*"),
    (f"{CPU_N}/cache/.*", "caches/.*"),
    (f"{CPU_N}/cpu_capacity", "kinds/.*"),
    ("sys/devices/cpu_[a-z]+/cpus", "kinds/.*"),
    (f"{NODE_DIR}/online", f"nodes/.*|{PLACES}"),
    (f"{NODE_N}/(cpulist|cpumap)", f"nodes/.*/(cpus|kind)|{NEAREST}|{PLACES}"),
    (f"{NODE_N}/meminfo", r"nodes/\1/(memory_bytes|kind)"),
    (f"{NODE_N}/distance", rf"nodes/\1/(distances|nearest_cpu_nodes)|{PLACES}"),
    (rf"{NODE_N}/hugepages/hugepages-(\d+)kB/nr_.*", r"nodes/\1/hugepages/\2/total"),
    (rf"{NODE_N}/hugepages/hugepages-(\d+)kB/free_.*", r"nodes/\1/hugepages/\2/free"),
    (f"{PCI_N}/device", r"pci_devices/\1/device"),
    # What a device is decides what else is read of it.
    (f"{PCI_N}/(class|vendor)", rf"pci_devices/\1/(\2|kind|{SURROUNDINGS})"),
    # A GPU's place is also that of the node of its memory.
    (f"{PCI_N}/local_cpu.*", rf"pci_devices/\1/(node|nodes|node_source)|{NEAREST}"),
    (f"{PCI_N}/numa_node", rf"pci_devices/\1/raw_numa_node|{PLACES}|{NEAREST}"),
    (r"sys/kernel/mm/hugepages/hugepages-(\d+)kB/.*", r"nodes/0/hugepages/\1/.*"),
    ("proc/meminfo", "nodes/0/(memory_bytes|kind)"),
    ("proc/cpuinfo", "cores/.*"),
    ("proc/driver/nvidia/.*", NEAREST),
)
"""Which facts each file may change; the groups of its path's pattern are \\1 and \\2."""


def own_facts(path: str) -> str:
    """The pattern of the facts that this file may change."""
    for file, own in OWN_FACTS:
        match = re.fullmatch(file, path)
        if match:
            return match.expand(own)
    raise AssertionError(f"{path} is read, but not in the table of files")


@pytest.mark.parametrize("name", CHOSEN)
@examples(60)
@given(data=st.data())
def test_a_damaged_file_changes_only_facts_of_its_own(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    path = data.draw(one_of_kind(machine.read), label="path")
    content = data.draw(st.none() | contents(machine.content(path)), label="content")
    damage = Damage(path, Becomes.NOTHING if content is None else Becomes.CONTENT, content or b"")
    before = facts_of(machine.map)
    with damaged(machine.root, [damage]):
        after = facts_of(read_topology(machine.root))
    changed = dict(before.items() ^ after.items())
    assert not {fact for fact in changed if not re.fullmatch(own_facts(path), fact)}


def facts_of(topology: Topology) -> Mapping[str, str]:
    """The facts of a map, with values that compare and hash."""
    return {fact: json.dumps(value) for fact, value in facts(to_json(topology)).items()}


@pytest.mark.parametrize("name", ALL)
def test_every_file_that_is_read_has_its_row_in_the_table_of_own_facts(
    name: str, machine_of: MachineOf
) -> None:
    for paths in machine_of(name).read.values():
        assert all(own_facts(path) for path in paths)


# --- Less files, less facts ----------------------------------------------------------------------

FALLBACKS = (
    # The CPUs' own online files and topologies, with the warning online-list-missing.
    (rf"{CPU_DIR}/(online|cpu\d+/online)", ".*"),
    # The CPU directories.
    (f"{CPU_DIR}/present", "cpus/(present|offline)"),
    # Another CPU of the same package or cache, in its copy of the file.
    (f"{CPU_N}/topology/(package|core)_.*", "packages/.*/id"),
    (f"{CPU_N}/cache/.*", "caches/.*/size_bytes"),
    # Where only ids tell packages and only capacities kinds: the other CPUs, without this one.
    (f"{CPU_N}/topology/physical_package_id", "packages/.*"),
    (f"{CPU_N}/cpu_capacity", "kinds/.*/cpus"),
    # The node directories.
    (f"{NODE_DIR}/online", f"nodes/.*|{PLACES}"),
    # Firmware's distances, which may be a tie, where a GPU's place was nearest to its memory.
    (f"{PCI_DIR}/.*|proc/driver/nvidia/.*", NEAREST),
    # What else is read of a device whose kind isn't known.
    (f"{PCI_N}/(class|vendor)", f"pci_devices/.*/({SURROUNDINGS})"),
)
"""What may be said anew when a file is gone: the file, the facts, and above them who says it."""


@pytest.mark.parametrize("name", CHOSEN)
@examples(60)
@given(data=st.data())
def test_deleting_a_file_makes_no_unknown_fact_known_and_no_known_fact_another(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    earlier = data.draw(st.lists(one_of_kind(machine.read), max_size=4), label="deleted before")
    path = data.draw(one_of_kind(machine.read), label="deleted")
    with damaged(machine.root, [Damage(other, Becomes.NOTHING) for other in earlier]):
        before = facts_of(read_topology(machine.root))
        with damaged(machine.root, [Damage(path, Becomes.NOTHING)]):
            after = facts_of(read_topology(machine.root))
    new = {fact for fact, value in after.items() - before.items() if value not in UNKNOWN}
    assert not {fact for fact in new if not may_be_new(fact, path)}


UNKNOWN = {"null", "[]"}


def may_be_new(fact: str, path: str) -> bool:
    """Whether a fact may be another when this file is gone.

    A device's node_source may always: it says how sure we are, and the test below holds that.
    """
    return fact.endswith("/node_source") or any(
        re.fullmatch(file, path) and re.fullmatch(known, fact) for file, known in FALLBACKS
    )


CERTAINTY = tuple(NodeSource)
"""The sources of a device's node, the surest first."""


@pytest.mark.parametrize("name", WITH_PCI)
@examples(60)
@given(data=st.data())
def test_deleting_pci_files_never_moves_a_device_to_another_node_nor_makes_it_surer(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    files = {kind: paths for kind, paths in machine.read.items() if kind.startswith(PCI_DIR)}
    paths = data.draw(st.lists(one_of_kind(files), min_size=1, max_size=3), label="deleted")
    before = machine.map.pci_devices
    with damaged(machine.root, [Damage(path, Becomes.NOTHING) for path in paths]):
        after = read_topology(machine.root).pci_devices
    assert [device.address for device in after] == [device.address for device in before]
    for old, new in zip(before, after, strict=True):
        assert new.node in (None, old.node), (old, new)
        assert CERTAINTY.index(new.node_source) >= CERTAINTY.index(old.node_source), (old, new)


# An online list that says less CPUs is believed, and then other nodes are the nearest; without
# the node directory, which a kernel may well not have, all CPUs are in node 0.
MOVES_DEVICES = rf"{CPU_DIR}/(cpu\d+/)?online|{NODE_DIR}"


@pytest.mark.parametrize("name", WITH_PCI)
@examples(60)
@given(data=st.data())
def test_no_damage_outside_of_pci_moves_a_device_to_another_node(
    name: str, machine_of: MachineOf, data: st.DataObject
) -> None:
    machine = machine_of(name)
    drawn = data.draw(damages(machine, most=1), label="damages")
    not_here = f"{PCI_DIR}(/.*)?|{MOVES_DEVICES}"
    found = [damage for damage in drawn if not re.fullmatch(not_here, damage.path)]
    before = {device.address: device.node for device in machine.map.pci_devices}
    with damaged(machine.root, found):
        after = read_topology(machine.root).pci_devices
    for device in after:
        assert device.node in (None, before[device.address]), device


# --- The means -----------------------------------------------------------------------------------


OF_PLACING = {"pci-node-unknown", "device-node-contradicted"}
"""Warnings that come after reading, when devices are placed."""


@pytest.mark.parametrize("name", ALL)
def test_the_files_noted_as_read_are_those_of_the_map(name: str, machine_of: MachineOf) -> None:
    root = machine_of(name).root
    noted = sorted(note_reads(root).warnings, key=lambda w: (w.code, w.subject, w.message))
    of_files = [w for w in machine_of(name).map.warnings if w.code not in OF_PLACING]
    assert noted == of_files


@pytest.mark.parametrize("becomes", [*LOST, Becomes.CONTENT, Becomes.TWIN])
def test_a_damaged_machine_comes_back_whole_even_from_a_failing_test(
    becomes: Becomes, machine_of: MachineOf
) -> None:
    machine = machine_of("hwloc-fakepcilocalities")
    places = [f"{NODE_DIR}/node0/cpulist", f"{NODE_DIR}/node0", f"{NODE_DIR}/node1", NODE_DIR]
    before = listing(machine.root)
    found = [Damage(place, becomes, f"{NODE_DIR}/node2".encode()) for place in places]
    with suppress(RuntimeError), damaged(machine.root, found):
        assert listing(machine.root) != before
        raise RuntimeError
    assert listing(machine.root) == before


def listing(root: Path) -> Mapping[str, object]:
    """What lies where below a directory: the same file, and the same bytes in it."""
    found: dict[str, object] = {}
    for folder, directories, files in os.walk(root):
        for path in (Path(folder) / name for name in (*directories, *files)):
            state = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(state.st_mode) else b""
            found[str(path.relative_to(root))] = (state.st_ino, state.st_mode, content)
    return found
