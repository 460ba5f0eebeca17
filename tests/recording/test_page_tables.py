"""Page tables are recorded where memory can't be told without them, as a look at it reads them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.cgroups.memory import MAPS_LIMIT, MAX_PROCESSES
from tests.opens import counted_opens
from tests.recording.machines import GROUPS, copied, put
from tests.recording.replay import record

V1 = "total=3 N0=2 N1=1\nfile=1 N0=0 N1=1\nanon=2 N0=2 N1=0\n"
V2 = "anon N0=8192 N1=0\nfile N0=4096 N1=4096\nshmem N0=0 N1=4096\n"
MAPS = "7f20 default heap anon=16 dirty=16 N1=16 kernelpagesize_kB=4\n"
OWN, INSIDE = 4_000_001, 4_000_002


class Machine:
    """A recorded machine with one container that has a process inside and one further inside."""

    def __init__(self, root: Path, version: str) -> None:
        name, at = ("cgroup-v1-systemd", "/cpuset") if version == "v1" else ("mig-mixed", "")
        self.root = copied(name, root)
        self.base = self.root / f"{GROUPS}{at}"
        self.container = min(self.base.glob("kubepods.slice/**/*.scope"))
        self.path = str(self.container.relative_to(self.base))
        for group in self.base.rglob("cgroup.procs"):
            group.write_text("")
        for account in [*self.container.rglob("memory.numa_stat")]:
            account.unlink()
        shutil.copytree(self.container, self.container / "inside")
        self.processes(self.container, OWN)
        self.processes(self.container / "inside", INSIDE)
        put(self.root / "proc/self/status", "NSpid:\t77\n")

    def processes(self, group: Path, *numbers: int, maps: str = MAPS) -> None:
        put(group / "cgroup.procs", "".join(f"{number}\n" for number in numbers))
        for number in numbers:
            put(self.root / f"proc/{number}/status", "Name:\tx\nCpus_allowed_list:\t0-3\n")
            put(self.root / f"proc/{number}/numa_maps", maps)

    def memory(self, *names: str) -> Path:
        """The container's cgroup in v1's hierarchy of accounts, with every other container's."""
        for group in self.base.rglob("*.scope"):
            beside = self.root / GROUPS / "memory" / group.relative_to(self.base)
            beside.mkdir(parents=True, exist_ok=True)
            for name in names:
                put(beside / name, V1)
        return self.root / GROUPS / "memory" / self.path


def v1_with_an_account(machine: Machine) -> None:
    machine.memory("memory.numa_stat")


def v1_without_one(machine: Machine) -> None:
    (machine.memory() / "memory.numa_stat").unlink(missing_ok=True)


def v1_without_the_hierarchy(machine: Machine) -> None:
    shutil.rmtree(machine.root / GROUPS / "memory", ignore_errors=True)


def v1_where_the_cgroup_has_gone(machine: Machine) -> None:
    shutil.rmtree(machine.memory())


def v2_with_one_for_all_inside(machine: Machine) -> None:
    put(machine.container / "memory.numa_stat", V2)


def v2_without_one(_: Machine) -> None:
    pass


def v2_with_too_many_processes(machine: Machine) -> None:
    machine.processes(machine.container / "inside", *range(5_000_000, 5_000_001 + MAX_PROCESSES))


def v2_with_long_page_tables(machine: Machine) -> None:
    machine.processes(machine.container / "inside", INSIDE, maps=MAPS * ((3 << 20) // len(MAPS)))


SCENES: dict[Callable[[Machine], None], int] = {
    v1_with_an_account: 0,
    v1_without_one: 2,
    v1_without_the_hierarchy: 2,
    v1_where_the_cgroup_has_gone: 0,
    v2_with_one_for_all_inside: 0,
    v2_without_one: 2,
    v2_with_too_many_processes: 0,
    v2_with_long_page_tables: 2,
}
"""How many processes' page tables are read."""


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_the_page_tables_that_a_look_reads_are_recorded_no_others_and_tell_the_same(
    scene: Callable[[Machine], None], tmp_path: Path
) -> None:
    machine = Machine(tmp_path / "machine", scene.__name__[:2])
    scene(machine)
    made = record(machine.root, tmp_path, keep_names=True)
    leaves = [machine.path, f"{machine.path}/inside"]
    with counted_opens(machine.root) as opens:
        live = CpusetTree(machine.root).memory(machine.path, leaves)
    read = {path for path in opens if path.endswith("numa_maps")}
    assert {path for path in made.paths if path.endswith("numa_maps")} == read
    assert len(read) == SCENES[scene]
    assert CpusetTree(made.folder).memory(machine.path, leaves) == live
    assert made.left_out == {}


def test_page_tables_past_what_is_read_are_left_out_and_the_replay_knows_as_little(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path / "machine", "v2")
    machine.processes(machine.container, OWN, maps=MAPS * (MAPS_LIMIT // len(MAPS) + 1))
    made = record(machine.root, tmp_path, keep_names=True)
    assert made.left_out[f"proc/{OWN}/numa_maps"].startswith("larger than")
    for root in (machine.root, made.folder):
        assert CpusetTree(root).memory(machine.path, [machine.path]) is None
