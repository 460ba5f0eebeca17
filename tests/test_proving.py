"""What each container with CPUs of its own really has: sets in force, tasks' masks, who limits."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from numa_agent.agent.binding import Planned
from numa_agent.agent.measuring import Around
from numa_agent.agent.proving import Standing, around_of, prove
from numa_agent.agent.quotas import lift_quotas
from numa_agent.agent.reading import Reading
from numa_agent.agent.sources import Readings
from numa_agent.core.cgroups import (
    ContainerGroups,
    File,
    Group,
    PodGroups,
    TaskAllowed,
    TasksAllowed,
    Version,
)
from numa_agent.core.cpusets import Inputs, Options, desired
from numa_agent.core.decision import decide
from numa_agent.core.errors import GoneError, SourceError
from numa_agent.core.grants import ContainerGrant, DeviceGrant, PodResources
from numa_agent.core.holding import Held, Holders
from numa_agent.core.memory_use import MemoryUse
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.verdict import Alignment
from tests.machine_tree import TWO_NODES, container, container_id, cpus, pod
from tests.verdicts import NO_MEMORY

ASSIGNED = pod(1, "0-3")
AROUND = Around(holders=Holders(TWO_NODES, None, "nobody was asked"))


def group(path: str, effective: str, *, populated: bool = True) -> Group:
    return Group(
        path=path,
        cpus=cpus(""),
        effective_cpus=cpus(effective),
        mems=frozenset(),
        effective_mems=frozenset({0, 1}),
        populated=populated,
    )


def groups(effective: str, *nested: Group, above: str = "0-7", pods: str = "0-7") -> PodGroups:
    own = group("kubepods/p1/c1", effective)
    return PodGroups(
        version=Version.V2,
        above=(group("", "0-7"), group("kubepods", above)),
        group=group("kubepods/p1", pods),
        containers=(ContainerGroups(id=container_id(1), group=own, nested=nested),),
    )


@dataclass
class Cpusets:
    """Pods' cgroups that don't change, and the masks of the tasks in them by path."""

    found: PodGroups | None
    masks: dict[str, list[str]] = field(default_factory=dict)
    unseen: int = 0
    gone: bool = False
    unreadable: frozenset[str] = frozenset()
    quotas: dict[str, float] = field(default_factory=dict)
    lifted: list[str] = field(default_factory=list)
    memories: dict[str, MemoryUse | None] = field(default_factory=dict)
    devices: dict[str, frozenset[str]] = field(default_factory=dict)

    def check_writable(self) -> None:
        pass

    def lift_quota(self, path: str) -> None:
        self.lifted.append(path)

    def quota(self, path: str) -> float | None:
        return self.quotas.get(path)

    def finder(self) -> Callable[[Pod], PodGroups | None]:
        return lambda _: self.found

    def write(self, path: str, file: File, ids: frozenset[int]) -> None:
        raise AssertionError(f"{path} {file} {ids} is written")

    def memory(self, path: str, leaves: Sequence[str] = ()) -> MemoryUse | None:
        return self.memories.get(path, NO_MEMORY)

    def open_devices(self, path: str, leaves: Sequence[str]) -> frozenset[str]:
        return self.devices.get(path, frozenset())

    def tasks_allowed(self, path: str) -> TasksAllowed:
        if self.gone:
            raise GoneError(path)
        if path in self.unreadable:
            raise SourceError(path)
        tasks = [
            TaskAllowed(id=number, cpus=cpus(mask), mems=None)
            for number, mask in enumerate(self.masks.get(path, []), start=1)
        ]
        return TasksAllowed(tasks=tuple(tasks), unseen=self.unseen)


def planned_for(cpusets: Cpusets, of: Pod = ASSIGNED) -> Planned:
    said = decide(of)
    assert said is not None
    observed = {} if cpusets.found is None else {of.uid: groups("0-7")}
    inputs = Inputs(pods=[of], decisions={of.uid: said}, topology=TWO_NODES, observed=observed)
    planned = Planned(
        inputs=inputs, options=Options(), desired=desired(inputs, Options()), steps=()
    )
    if cpusets.found is not None:
        after = replace(inputs, observed={of.uid: cpusets.found})
        planned = replace(planned, inputs=after)
    return planned


def proved(cpusets: Cpusets) -> Proof:
    (proof,) = prove(cpusets, planned_for(cpusets), AROUND, (), [])
    return proof


def test_a_container_that_has_its_cpus_is_aligned_and_says_nothing_more() -> None:
    proof = proved(Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-3", "0-3"]}))
    assert proof.verdict.alignment is Alignment.ALIGNED
    assert (proof.tasks_seen, proof.tasks_unseen, proof.verdict.notes) == (2, 0, ())


def test_tasks_that_are_hidden_are_said_to_be_unseen_and_never_fine() -> None:
    proof = proved(Cpusets(groups("0-3"), unseen=3))
    assert (proof.tasks_seen, proof.tasks_unseen) == (0, 3)
    assert proof.verdict.notes == ("3 of its tasks aren't seen from here",)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (groups("0-1", above="0-1", pods="0-1"), "kubepods has CPUs 0-1 only"),
        (groups("0-1", pods="0-1"), "kubepods/p1 has CPUs 0-1 only"),
        (groups("0-1"), "kubepods/p1/c1 has CPUs 0-1 only"),
    ],
)
def test_the_highest_cgroup_that_has_less_is_named(found: PodGroups, said: str) -> None:
    proof = proved(Cpusets(found))
    assert proof.verdict.notes == (f"CPUs 2-3 of those decided aren't in force ({said})",)
    assert not proof.verdict.kept


def test_a_mask_that_all_tasks_have_is_told() -> None:
    proof = proved(Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-1", "2"]}))
    assert proof.verdict.notes == (
        "every task keeps to CPUs 0-2 (a mask of its own or an inherited one)",
    )
    some = proved(Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-1", "0-3"]}))
    assert some.verdict.notes == ()


def test_a_container_of_which_a_task_is_outside_its_cgroups_set_is_not_aligned() -> None:
    # Linux 5.10 leaves a task that is cloned into a cgroup the CPUs that it had.
    proof = proved(Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-3", "6"]}))
    assert proof.verdict.alignment is Alignment.REMOTE
    assert proof.verdict.reason.startswith("CPUs 0-3 are in force, but a task may run on 6")
    assert not proof.verdict.kept
    # A CPU that isn't online runs nobody.
    gone = proved(Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-3,77"]}))
    assert gone.verdict.alignment is Alignment.ALIGNED


def test_a_container_whose_tasks_the_kernel_moved_away_is_not_aligned() -> None:
    # v1 does so when all CPUs of a cgroup go offline, and for good.
    found = groups("0-3")
    (own,) = found.containers
    left = replace(own, group=replace(own.group, populated=False))
    proof = proved(Cpusets(replace(found, containers=(left,))))
    assert proof.verdict.alignment is Alignment.UNKNOWN
    assert proof.verdict.reason.startswith("no task is in its cgroup")


def test_processes_in_nested_groups_are_looked_at_where_they_are() -> None:
    # crun puts them in `container/`; a group without a process doesn't count.
    inner = group("kubepods/p1/c1/container", "0-3")
    empty = group("kubepods/p1/c1/other", "0-7", populated=False)
    found = groups("0-7", inner, empty)
    proof = proved(Cpusets(found, {"kubepods/p1/c1/container": ["0-3"]}))
    assert proof.verdict.effective == cpus("0-3")
    assert proof.tasks_seen == 1


def test_processes_beside_nested_groups_count_as_well() -> None:
    # v1 allows it, and so do threaded groups.
    inner = group("kubepods/p1/c1/inner", "0-3")
    masks = {"kubepods/p1/c1/inner": ["0-3"], "kubepods/p1/c1": ["0-7"]}
    proof = proved(Cpusets(groups("0-7", inner), masks))
    assert proof.verdict.effective == cpus("0-7")
    assert proof.verdict.reasons[0].code == "cpus-outside"
    assert proof.tasks_seen == 2
    # Hidden ones are there all the same.
    hidden = proved(Cpusets(groups("0-7", inner), unseen=1))
    assert hidden.verdict.effective == cpus("0-7")


def test_a_group_whose_tasks_can_t_be_listed_has_some_that_are_unseen() -> None:
    inner = [group(f"kubepods/p1/c1/{name}", "0-7") for name in "ab"]
    cpusets = Cpusets(groups("0-7", *inner), {"kubepods/p1/c1/a": ["0-3"]})
    assert proved(cpusets).verdict.used == cpus("0-3")
    cpusets.unreadable = frozenset({"kubepods/p1/c1/b"})
    proof = proved(cpusets)
    assert (proof.verdict.used, proof.tasks_unseen) == (None, 1)


def test_a_set_that_grows_while_it_is_looked_at_accuses_nobody() -> None:
    before = planned_for(Cpusets(groups("0-1")))
    now = Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-3"]})
    (proof,) = prove(now, before, AROUND, (), [])
    assert proof.verdict.alignment is Alignment.ALIGNED
    assert (proof.verdict.effective, proof.verdict.notes) == (cpus("0-3"), ())
    gone = Cpusets(None, {"kubepods/p1/c1": ["0-3"]})
    (proof,) = prove(gone, before, AROUND, (), [])
    assert proof.verdict.reasons[0].code == "cpus-unseen"


@pytest.mark.parametrize(
    ("requests", "counted", "alignment"),
    [
        ({"hugepages-2Mi": 4 << 20}, False, Alignment.UNKNOWN),
        ({"hugepages-2Mi": 4 << 20}, True, Alignment.ALIGNED),
        ({"hugepages-2Mi": 0, "memory": 1 << 30}, False, Alignment.ALIGNED),
    ],
)
def test_hugepages_of_which_nobody_tells_where_they_are_are_unknown(
    requests: dict[str, int], counted: bool, alignment: Alignment
) -> None:
    demand = Demand(container="c1", role=Role.APP, requests=requests)
    other = Demand(container="c2", role=Role.APP, requests={"hugepages-1Gi": 1 << 30})
    of = replace(ASSIGNED, demands=Demands(containers=(demand, other)))
    memories = {"kubepods/p1/c1": replace(NO_MEMORY, hugepages=counted)}
    cpusets = Cpusets(groups("0-3"), memories=dict(memories))
    (proof,) = prove(cpusets, planned_for(cpusets, of), AROUND, (), [])
    assert proof.verdict.alignment is alignment


def test_a_cpu_quota_of_the_pod_or_the_container_is_told_the_smaller_one() -> None:
    quotas = {"kubepods/p1": 4.0, "kubepods/p1/c1": 2.5}
    proof = proved(Cpusets(groups("0-3"), quotas=quotas))
    assert proof.cpu_quota == 2.5
    assert proof.verdict.notes == ("a CPU quota of 2.5 CPUs may throttle it",)
    assert proof.verdict.kept


def test_a_container_that_goes_while_it_is_looked_at_costs_nothing() -> None:
    proof = proved(Cpusets(groups("0-3"), gone=True))
    assert (proof.tasks_seen, proof.tasks_unseen) == (0, 0)
    assert proof.verdict.alignment is Alignment.ALIGNED


def test_quotas_are_lifted_from_the_pod_down_where_that_is_asked_for() -> None:
    cpusets = Cpusets(groups("0-3"), quotas={"kubepods/p1": 4.0, "kubepods/p1/c1": 2.0})
    failures: list[str] = []
    (condition,) = lift_quotas(cpusets, planned_for(cpusets), [proved(cpusets)], failures)
    assert cpusets.lifted == ["kubepods/p1", "kubepods/p1/c1"]
    assert condition.code == "cpu-quota-lifted"
    assert "its CPU quota of 2 CPUs was lifted" in condition.message
    free = Cpusets(groups("0-3"))
    assert lift_quotas(free, planned_for(free), [proved(free)], failures) == ()
    assert (free.lifted, failures) == ([], [])


def test_a_pod_s_quota_stays_where_one_of_its_containers_shares_cpus() -> None:
    # It bounds all of them together; a container's own can go alone.
    one = {"version": 1, "containers": {"c1": {"cpus": "0-3"}}}
    of = replace(
        pod(1, containers=(container(1), replace(container(2), name="sidecar"))),
        annotations={"numa-agent.io/assignment": json.dumps(one)},
    )
    quotas = {"kubepods/p1": 4.0, "kubepods/p1/c1": 2.0}
    cpusets = Cpusets(groups("0-3", pods="0-7"), quotas=quotas)
    planned = planned_for(cpusets, of)
    proofs = prove(cpusets, planned, AROUND, (), [])
    lift_quotas(cpusets, planned, proofs, [])
    assert cpusets.lifted == ["kubepods/p1/c1"]


def test_a_quota_is_not_lifted_of_what_runs_on_others_cpus() -> None:
    cpusets = Cpusets(groups("4-7"), quotas={"kubepods/p1": 4.0})
    assert lift_quotas(cpusets, planned_for(cpusets), [proved(cpusets)], []) == ()
    assert cpusets.lifted == []


def test_a_verdict_stands_for_a_while_where_nothing_changed() -> None:
    now = [0.0]
    standing = Standing(120.0, lambda: now[0])
    cpusets = Cpusets(groups("0-3"), {"kubepods/p1/c1": ["0-3"]})

    def proved_again(found: PodGroups | None = None) -> Proof:
        planned = planned_for(replace(cpusets, found=found or cpusets.found))
        (proof,) = prove(cpusets, planned, AROUND, (), [], standing=standing)
        return proof

    assert proved_again().tasks_seen == 1
    cpusets.masks["kubepods/p1/c1"] = ["0-3", "0-3"]
    now[0] = 119.0
    assert proved_again().tasks_seen == 1
    # Another set is other ground, and so is time.
    assert proved_again(groups("0-1")).tasks_seen == 2
    cpusets.masks["kubepods/p1/c1"] = ["0-3"]
    assert proved_again().tasks_seen == 1
    cpusets.masks["kubepods/p1/c1"] = []
    now[0] = 240.0
    assert proved_again().tasks_seen == 0


def test_what_stands_of_a_container_that_has_gone_is_forgotten() -> None:
    standing = Standing(120.0, lambda: 0.0)
    cpusets = Cpusets(groups("0-3"))
    prove(cpusets, planned_for(cpusets), AROUND, (), [], standing=standing)
    gone = replace(ASSIGNED, containers=())
    prove(cpusets, planned_for(cpusets, gone), AROUND, (), [], standing=standing)
    assert standing._by_id == {}


def test_an_old_answer_of_kubelet_is_of_nobody() -> None:
    # A pod made anew under its name would be judged by its predecessor's devices.
    def asked_of(error: str | None) -> Held:
        grant = ContainerGrant(
            namespace=ASSIGNED.namespace,
            pod=ASSIGNED.name,
            container=ASSIGNED.containers[0].name,
            cpus=cpus(""),
            devices=(DeviceGrant(resource="example.com/gpu", ids=("7",), nodes=(1,)),),
            memory=(),
            dynamic=(),
        )
        pods = frozenset({(ASSIGNED.namespace, ASSIGNED.name)})
        known = PodResources(pods=pods, containers=(grant,), offer=None)
        reading = Reading(
            source="podresources",
            values=(known,),
            error=error,
            age_seconds=0.0 if not error else 9.0,
        )
        nothing: Reading[Any] = Reading(source="x", values=(), error=None, age_seconds=None)
        now = Readings(
            topology=TWO_NODES,
            cpu_state=nothing,
            memory_state=nothing,
            granted=reading,
            settings=nothing,
            pods=nothing,
            node=nothing,
            cpu_info=nothing,
        )
        return around_of(now, {}).holders.of(ASSIGNED, ASSIGNED.containers[0].name)

    assert [each.id for each in asked_of(None).devices] == ["7"]
    assert asked_of("no answer").devices == ()
    assert asked_of("no answer").unseen == "no answer"


def test_a_quota_that_is_nowhere_any_more_is_not_told_as_lifted() -> None:
    cpusets = Cpusets(groups("0-3"), quotas={"kubepods/p1/c1": 2.0})
    proofs = [proved(cpusets)]
    cpusets.quotas.clear()
    assert lift_quotas(cpusets, planned_for(cpusets), proofs, []) == ()


def test_a_container_that_ended_keeps_no_quota_on_its_pod() -> None:
    one = {"version": 1, "containers": {"c1": {"cpus": "0-3"}}}
    ended = replace(container(2), name="setup", running=False)
    of = replace(
        pod(1, containers=(container(1), ended)),
        annotations={"numa-agent.io/assignment": json.dumps(one)},
    )
    cpusets = Cpusets(groups("0-3"), quotas={"kubepods/p1": 4.0, "kubepods/p1/c1": 2.0})
    planned = planned_for(cpusets, of)
    lift_quotas(cpusets, planned, prove(cpusets, planned, AROUND, (), []), [])
    assert cpusets.lifted == ["kubepods/p1", "kubepods/p1/c1"]


def test_a_sidecar_that_shares_is_judged_where_everybody_is_and_by_no_pass() -> None:
    one = {"version": 1, "containers": {"c1": {"cpus": "0-3"}}}
    of = replace(
        pod(1, containers=(container(1), replace(container(2), name="sidecar"))),
        annotations={"numa-agent.io/assignment": json.dumps(one)},
    )
    cpusets = Cpusets(groups("0-3", pods="0-7"))
    planned = planned_for(cpusets, of)
    (own,) = prove(cpusets, planned, AROUND, (), [])
    assert (own.container.name, own.has_it) == ("c1", True)
    names = [
        (each.container.name, each.has_it)
        for each in prove(cpusets, planned, AROUND, (), [], everyone=True)
    ]
    assert names == [("c1", True), ("sidecar", None)]


def test_a_running_container_whose_id_cannot_be_used_is_unknown_and_not_left_out() -> None:
    odd = replace(ASSIGNED, containers=(replace(container(1), id=None),))
    cpusets = Cpusets(groups("0-3"))
    (proof,) = prove(cpusets, planned_for(cpusets, odd), AROUND, (), [], everyone=True)
    assert proof.verdict.alignment is Alignment.UNKNOWN
    assert proof.has_it is False


def test_what_kubelet_does_not_list_is_told_apart_from_what_it_did_not_answer() -> None:
    demand = Demand(container="c1", role=Role.APP, requests={"koordinator.sh/gpu-core": 50})
    of = replace(ASSIGNED, demands=Demands(containers=(demand,)))
    nothing = PodResources(pods=frozenset({("shop", "p1")}), containers=(), offer=None)
    cpusets = Cpusets(groups("0-3"))
    for answer, cause in ((nothing, "not-in-podresources"), (None, None)):
        around = Around(holders=Holders(TWO_NODES, answer, "nobody was asked"))
        (proof,) = prove(cpusets, planned_for(cpusets, of), around, (), [])
        (reason,) = proof.verdict.reasons
        assert reason.code == "devices-unseen"
        assert (None if reason.cause is None else reason.cause.code) == cause
