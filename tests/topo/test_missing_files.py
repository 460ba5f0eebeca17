"""A file that is gone makes a device's place less certain and never another one."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numa_agent.core.assembly import assemble
from numa_agent.core.devices import NodeSource, PciDevice
from numa_agent.core.pci import PciAddress
from numa_agent.host.sysfs import read_facts
from tests.recorded import MACHINES

_DEVICES, _BUS = "sys/devices", "sys/bus/pci"
_NODES, _CPUS = "sys/devices/system/node", "sys/devices/system/cpu"

_CERTAINTY = list(NodeSource)
_MOST_ALONE = 60
"""On a machine with more files than this, only every so-manieth is deleted alone."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The part of a recorded machine that tells where devices are, and the answer from all of it.

    `doubted` are devices of which its own files say different things.
    """

    root: Path
    files: list[Path]
    places: Mapping[PciAddress, PciDevice]
    doubted: frozenset[str]

    @contextmanager
    def without(self, files: Iterable[Path]) -> Iterator[None]:
        """Take files away for a while."""
        aside = self.root / "aside"
        aside.mkdir()
        moved = [(path, aside / str(number)) for number, path in enumerate(files)]
        for path, kept in moved:
            path.rename(kept)
        try:
            yield
        finally:
            for path, kept in reversed(moved):
                kept.rename(path)
            aside.rmdir()

    def changed(self) -> list[str]:
        """The devices whose place is another or more certain than with all files."""
        found = assemble(read_facts(self.root)).pci_devices
        return [str(device.address) for device in found if self._is_changed(device)]

    def elsewhere(self) -> list[str]:
        """The devices that are on another node than with all files."""
        found = assemble(read_facts(self.root)).pci_devices
        return [
            str(device.address)
            for device in found
            if device.node not in {self.places[device.address].node, None}
        ]

    def _is_changed(self, device: PciDevice) -> bool:
        before = self.places[device.address]
        elsewhere = device.node not in {before.node, None}
        more = _CERTAINTY.index(device.node_source) < _CERTAINTY.index(before.node_source)
        return elsewhere or more


def copy(machine: Path, root: Path) -> Copy:
    """That part of a recorded machine; of its CPUs only the lists."""
    folders = [*(machine / _DEVICES).glob("pci*"), machine / _BUS, machine / _NODES]
    for folder in folders:
        if folder.is_dir():
            shutil.copytree(folder, root / folder.relative_to(machine), symlinks=True)
    (root / _CPUS).mkdir(parents=True)
    for path in (machine / _CPUS).iterdir():
        if path.is_file():
            shutil.copy(path, root / _CPUS)
    pci = [*(root / _DEVICES).glob("pci*"), root / _BUS]
    files = [path for top in pci for path in top.rglob("*") if path.is_symlink() or path.is_file()]
    topology = assemble(read_facts(root))
    return Copy(
        root,
        sorted(files),
        {device.address: device for device in topology.pci_devices},
        frozenset(w.subject for w in topology.warnings if w.code == "device-node-contradicted"),
    )


@pytest.fixture(scope="module", params=MACHINES, ids=lambda path: path.name)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Each recorded machine in turn, copied once."""
    return copy(request.param, tmp_path_factory.mktemp("machine"))


def test_one_file_of_a_numa_node_less_never_yields_another_node(machine: Copy) -> None:
    files = [path for path in (machine.root / _NODES).rglob("*") if path.is_file()]
    for path in files:
        with machine.without([path]):
            assert machine.elsewhere() == [], path.relative_to(machine.root)


def test_a_whole_numa_node_less_never_puts_its_devices_on_another(machine: Copy) -> None:
    # Not even where only one is left, which then looks like a machine with a single node.
    for path in sorted((machine.root / _NODES).glob("node[0-9]*")):
        with machine.without([path]):
            assert machine.elsewhere() == [], path.name


def test_one_file_less_never_yields_another_node(machine: Copy) -> None:
    assert machine.files
    for path in machine.files[:: len(machine.files) // _MOST_ALONE + 1]:
        with machine.without([path]):
            assert machine.changed() == [], path.relative_to(machine.root)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_many_files_less_never_yield_another_node(machine: Copy, data: st.DataObject) -> None:
    """A firmware that contradicts itself is left out: its next word is another one."""
    gone = data.draw(st.sets(st.sampled_from(machine.files), min_size=2, max_size=60))
    with machine.without(gone):
        assert set(machine.changed()) <= machine.doubted


def test_without_any_numa_node_file_no_device_is_elsewhere(machine: Copy) -> None:
    with machine.without(path for path in machine.files if path.name == "numa_node"):
        found = assemble(read_facts(machine.root)).pci_devices
        assert {device.node_source for device in found} <= set(_CERTAINTY[3:])
        assert set(machine.changed()) <= machine.doubted
