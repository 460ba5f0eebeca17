"""Deciding in passes: waiting for a scheduler, keeping decisions, and what fails costs itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from numa_agent.agent import Assigning, Kept, NodeSources, run_pass
from numa_agent.core.assigner import Kept as Decision
from numa_agent.core.assigner import Mode, Setting
from numa_agent.core.assigner.values import Policy, Wish
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Mems, Options
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod, PodsRead
from numa_agent.core.report import Report
from tests.assigner.scene import SIXTEEN, SPEC, asks, cpus
from tests.machine_tree import uid
from tests.one_pass import Cluster, Kernel, kernel, ports, static_state

HASH = "0123456789abcdef0123456789abcdef"
"""The cgroup's name of a static pod."""

FALLBACK = Setting(mode=Mode.FALLBACK, grace=5.0)


@dataclass
class Disk:
    """Where decisions are kept, which may be full or broken."""

    kept: Mapping[str, Decision] | None = None
    full: bool = False
    broken: bool = False
    saves: int = 0
    aside: int = 0

    def load(self) -> Mapping[str, Decision] | None:
        if self.broken:
            raise SourceError("decisions: it isn't JSON")
        return self.kept

    def save(self, kept: Mapping[str, Decision]) -> None:
        if self.full:
            raise SourceError("decisions: No space left on device")
        self.saves += 1
        self.kept = dict(kept)

    def set_aside(self) -> str:
        self.aside += 1
        return "it is elsewhere now"


class Marks:
    """Hears what pods are to be told, and tells nobody."""

    unplaced: Mapping[str, tuple[str, str]] = {}

    def hear(
        self,
        pods: Sequence[Pod],
        assigned: Mapping[str, str],
        unplaced: Mapping[str, tuple[str, str]],
    ) -> None:
        self.unplaced = dict(unplaced)

    def troubles(self) -> tuple[str, ...]:
        return ()

    def due(self) -> float | None:
        return None

    def send_due(self) -> int:
        return 0


@dataclass
class Machine:
    """Sixteen CPUs, the pods that the API server tells of, and a clock that is set."""

    disk: Disk = field(default_factory=Disk)
    setting: Setting = FALLBACK
    pods: tuple[Pod, ...] = ()
    left_out: bool = False
    marking: Marks | None = None
    away: str = ""
    clock: float = 1000.0
    at: Kernel = field(default_factory=lambda: kernel(1, 2, 3))
    node_s_pods: Kept[PodsRead] = field(init=False)
    assigning: Assigning = field(init=False)

    def __post_init__(self) -> None:
        self.at.parent = self.at.shrinks_to = SIXTEEN.online
        self.node_s_pods = Kept("pods", lambda: PodsRead(self.pods, (), self.left_out))
        self.start()

    def start(self) -> None:
        """Begin as a new process does."""
        self.assigning = Assigning(
            self.disk, self.setting, clock=lambda: self.clock, now=lambda: 1_800_000_000.0
        )

    def take(self) -> Report:
        state = replace(static_state({}), shared=SIXTEEN.online)
        sources = NodeSources(
            topology=lambda: SIXTEEN,
            node=Kept("node", self._node),
            pods=self.node_s_pods,
            settings=Kept("settings", self._settings),
            cpu_state=Kept("cpu-manager-state", lambda: state),
            memory_state=Kept("memory-manager-state", lambda: None),
            granted=Kept("podresources", self._granted),
            cpu_info=Kept("cpuinfo", lambda: None),
        )
        own = ports(sources, self.at, Cluster().publish)
        own = replace(own, assigning=self.assigning, marking=self.marking)
        return run_pass(replace(own, options=Options(mems=Mems.OFF)))

    def _granted(self) -> None:
        if self.away == "podresources":
            raise SourceError("kubelet is away")

    def _node(self) -> Node:
        if self.away in ("node", "settings"):
            raise SourceError("the API server is away")
        return Node(name="n1", uid="u1")

    def _settings(self) -> tuple[KubeletSettings, tuple[str, ...]]:
        if self.away == "settings":
            raise SourceError("kubelet is away")
        return KubeletSettings(reserved_cpus=cpus("0,8")), ()

    def bound(self, number: int) -> str:
        return render(self.at.configured.get(uid(number), frozenset()))


def codes(report: Report) -> list[str]:
    return [each.code for each in report.conditions if each.code.startswith("assigner")]


def test_a_pod_that_was_there_at_the_start_has_waited_and_a_new_one_waits() -> None:
    machine = Machine(pods=(asks(1),))
    machine.take()
    assert machine.bound(1) == "1-2,9-10"
    assert machine.assigning.due() is None
    machine.pods = (asks(1), asks(2))
    machine.take()
    assert machine.assigning.due() == 5.0
    machine.clock += 3.0
    machine.take()
    assert machine.assigning.due() == 2.0
    machine.clock += 2.0
    machine.take()
    assert machine.bound(2) == "4-5,12-13"
    assert machine.assigning.due() is None


def test_pods_that_come_when_there_were_none_wait_too() -> None:
    machine = Machine()
    machine.take()
    machine.pods = (asks(1),)
    machine.take()
    assert machine.assigning.due() == 5.0


def test_a_decision_is_written_down_once_and_before_it_is_bound() -> None:
    machine = Machine(pods=(asks(1),))
    for _ in range(3):
        machine.take()
    assert machine.disk.saves == 1
    assert machine.disk.kept is not None
    assert machine.disk.kept.keys() == {uid(1)}


def test_a_full_disk_keeps_nobody_from_their_cpus_and_is_tried_again() -> None:
    machine = Machine(disk=Disk(full=True), pods=(asks(1),))
    assert codes(machine.take()) == ["assigner-assigned", "assigner-unsaved"]
    assert machine.bound(1) == "1-2,9-10"
    assert codes(machine.take()) == ["assigner-unsaved"]
    machine.disk.full = False
    assert codes(machine.take()) == []
    assert machine.disk.kept is not None


def test_a_new_process_keeps_what_the_old_one_decided() -> None:
    machine = Machine(pods=(asks(1), asks(2)))
    machine.take()
    writes, machine.pods = len(machine.at.writes), (asks(2),)
    machine.start()
    report = machine.take()
    assert (codes(report), len(machine.at.writes)) == ([], writes)
    assert machine.assigning.kept.keys() == {uid(2)}


def test_a_broken_file_is_set_aside_by_who_binds_and_not_by_who_looks() -> None:
    machine = Machine(disk=Disk(broken=True), pods=(asks(1),))
    machine.assigning.not_saving()
    (told,) = (each for each in machine.take().conditions if each.code == "assigner-forgot")
    assert told.message == "decisions: it isn't JSON"
    assert (machine.disk.aside, machine.disk.saves) == (0, 0)
    machine.start()
    (told,) = (each for each in machine.take().conditions if each.code == "assigner-forgot")
    assert told.message == "decisions: it isn't JSON; it is elsewhere now"
    assert machine.disk.aside == 1


def test_while_the_api_server_is_away_nothing_is_decided_and_nothing_lost() -> None:
    machine = Machine(pods=(asks(1),))
    machine.take()
    held = machine.bound(1)

    def fail() -> PodsRead:
        raise SourceError("the API server is away")

    machine.node_s_pods._read = fail
    report = machine.take()
    assert "the API server is away" in " ".join(report.failures)
    assert machine.bound(1) == held
    assert machine.assigning.kept.keys() == {uid(1)}


def test_a_pod_that_cannot_be_read_for_a_while_has_its_cpus_still() -> None:
    machine = Machine(pods=(asks(1),))
    machine.take()
    machine.pods, machine.left_out = (asks(2),), True
    machine.clock += 10
    machine.take()
    machine.clock += 10
    machine.take()
    assert machine.assigning.kept.keys() == {uid(1), uid(2)}
    assert machine.bound(2) == "4-5,12-13"
    machine.pods, machine.left_out = (asks(2),), False
    del machine.at.pods[uid(1)]
    machine.take()
    assert machine.assigning.kept.keys() == {uid(2)}


def test_a_pod_deleted_by_force_has_its_cpus_until_its_processes_have_gone() -> None:
    machine = Machine(pods=(asks(1, 6), asks(3, None, policy=None)))
    machine.take()
    held = machine.bound(1)
    machine.pods = (asks(2, 6), asks(3, None, policy=None))
    for _ in range(2):
        machine.clock += 10
        machine.take()
        assert machine.bound(1) == held
        assert not cpus(machine.bound(2)) & cpus(held)
        assert not cpus(machine.bound(3)) & cpus(held), "who shares has none of them either"
    del machine.at.pods[uid(1)]
    machine.take()
    assert machine.assigning.kept.keys() == {uid(2)}
    assert cpus(machine.bound(3)) >= cpus(held)


def test_a_static_pod_whose_mirror_is_made_anew_stays_where_it_is() -> None:
    marks = {"kubernetes.io/config.mirror": HASH, "kubernetes.io/config.hash": HASH}
    static = asks(1, annotations=marks)
    machine = Machine(pods=(asks(2, 6), static))
    machine.take()
    held = machine.assigning.kept[uid(1)]
    assert held.cpus
    machine.clock += 10
    for pods in ((static,), (), (replace(static, uid=uid(3)),)):
        machine.pods = (asks(2, 2), *pods)
        machine.take()
    assert machine.assigning.kept[uid(3)] == held
    assert machine.assigning.kept.keys() == {uid(2), uid(3)}


def test_a_pod_that_cannot_be_read_shares_its_cpus_with_nobody() -> None:
    machine = Machine(pods=(asks(1), asks(2, None, policy=None)))
    machine.take()
    machine.pods, machine.left_out = (asks(2, None, policy=None),), True
    machine.take()
    assert not cpus(machine.bound(2)) & cpus(machine.bound(1))


def test_what_an_old_file_does_not_know_is_taken_from_the_kernel() -> None:
    """The disk was full, so that the file tells of the first pod and not of the second."""
    machine = Machine(pods=(asks(1, 6), asks(2, 6)))
    machine.pods = (asks(1, 6),)
    machine.take()
    machine.disk.full, machine.pods = True, (asks(1, 6), asks(2, 6))
    machine.clock += 10
    machine.take()
    machine.clock += 10
    machine.take()
    held = machine.bound(2)
    assert held == "4-6,12-14"
    machine.disk.full, machine.pods = False, (asks(2, 6),)
    del machine.at.pods[uid(1)]
    machine.start()
    writes = len(machine.at.writes)
    assert codes(machine.take()) == ["assigner-adopted"]
    assert (machine.bound(2), len(machine.at.writes)) == (held, writes)


@pytest.mark.parametrize("missing", ["node", "settings"])
def test_without_a_file_nobody_moves_while_a_source_is_away_at_the_start(missing: str) -> None:
    machine = Machine(pods=(asks(1), asks(2)))
    machine.take()
    machine.pods = (asks(2),)
    del machine.at.pods[uid(1)]
    held, machine.disk.kept, machine.away = machine.bound(2), None, missing
    machine.start()
    machine.take()
    assert machine.bound(2) == held
    machine.away = ""
    machine.take()
    assert machine.bound(2) == held
    assert machine.assigning.kept.keys() == {uid(2)}


@pytest.mark.parametrize("away", ["", "podresources"])
def test_a_node_holds_no_more_memory_than_it_has_whatever_source_is_away(away: str) -> None:
    amounts = {"cpu": 2000, "memory": 2 << 30}
    big = replace(asks(1).demands.containers[0], requests=amounts, limits=amounts)
    machine = Machine(pods=(asks(1, demands=[big]),), away=away)
    machine.take()
    assert machine.assigning.unplaced[uid(1)][0] == "never-fits"


def test_a_pod_that_keeps_its_cpus_is_not_marked_as_one_without_a_place() -> None:
    """By option such a pod is evicted."""
    marks = Marks()
    machine = Machine(pods=(asks(1),), marking=marks)
    machine.take()
    for wrong in (asks(1, 40), asks(1, policy=None, annotations={SPEC: "{,}"})):
        machine.pods = (wrong,)
        machine.take()
        assert marks.unplaced == {}
        assert machine.bound(1) == "1-2,9-10"
    machine.pods = (asks(1), asks(2, 40))
    machine.clock += 10
    machine.take()
    machine.clock += 10
    machine.take()
    assert marks.unplaced.keys() == {uid(2)}


def test_nothing_is_asked_of_a_node_where_nobody_asks() -> None:
    machine = Machine(pods=(asks(1, policy=None),))
    assert codes(machine.take()) == []
    assert machine.disk.saves == 0
    assert machine.assigning.kept == {}


def test_what_is_turned_on_and_off_while_it_runs_moves_nobody() -> None:
    machine = Machine(setting=Setting(mode=Mode.OFF), pods=(asks(1),))
    machine.take()
    assert machine.bound(1) != "1-2,9-10"
    machine.assigning.setting = Setting(mode=Mode.FALLBACK)
    machine.take()
    assert machine.bound(1) == "1-2,9-10"
    machine.assigning.setting = Setting(mode=Mode.OFF)
    machine.take()
    assert machine.bound(1) == "1-2,9-10"


WISH = Wish(policy=Policy.SINGLE, cpus=4)


def test_what_of_each_node_is_free_is_known_after_a_pass_and_to_any_thread() -> None:
    machine = Machine(pods=(asks(1, policy=None),))
    assert machine.assigning.free_cpus(WISH) == {}
    machine.take()
    assert machine.assigning.free_cpus(WISH) == {0: 6, 1: 8}
    machine.pods = (asks(1),)
    machine.clock += 10
    machine.take()
    assert machine.assigning.free_cpus(WISH) == {0: 2, 1: 8}
