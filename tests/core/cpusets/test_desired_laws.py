"""What holds of every pass over any node, its pods, their assignments and its kernel."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from hypothesis import assume, event, given
from hypothesis import strategies as st

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.cgroups import File
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import Desired, Inputs, Mems, Options, Step, desired, steps
from numa_agent.core.kubelet import CpuManagerState
from numa_agent.core.pods import Pod
from numa_agent.core.topology import Topology
from tests.core.cpusets.kernel import ABOVE, POD, Kernel, Rules
from tests.machine_tree import TWO_NODES, container, container_id, cpus, pod, uid

NUMBERS = range(1, 5)
CPUS = st.frozensets(st.integers(0, 9), max_size=4)
PLACEMENTS = st.one_of(
    st.builds(Placement, cpus=CPUS),
    st.builds(Placement, cpus=st.frozensets(st.integers(0, 7), min_size=1, max_size=3)),
    st.builds(Placement, nodes=st.frozensets(st.integers(0, 2), max_size=2)),
)
DECISIONS: st.SearchStrategy[Assignment | AssignmentError | None] = st.one_of(
    st.none(),
    st.just(AssignmentError("no list")),
    st.builds(
        Assignment,
        source=st.just("the scheduler"),
        pod=PLACEMENTS,
        containers=st.dictionaries(st.sampled_from(["c1", "c2"]), PLACEMENTS, max_size=2),
    ),
)


@dataclass
class Node:
    """A node of up to four pods with up to two containers, and its kernel."""

    inputs: Inputs
    options: Options
    kernels: dict[str, Kernel]

    def take(self, wanted: Desired) -> list[Step]:
        """Make every write of a pass, and see what is there then."""
        made: list[Step] = []
        for target in wanted.targets:
            kernel = self.kernels[target.pod.uid]
            planned = steps(target, kernel.pod_groups())
            kernel.take(planned)
            made += planned
        self.see(wanted.assigned)
        return made

    def see(self, before: Mapping[str, CpuSet] | None) -> None:
        seen = {key: kernel.pod_groups() for key, kernel in self.kernels.items()}
        self.inputs = replace(self.inputs, observed=seen, before=before)

    def decide(self) -> Desired:
        return desired(self.inputs, self.options)


def fresh(rules: Rules, containers: int, above: CpuSet) -> Kernel:
    """A pod as the kernel and the runtime make it."""
    start: dict[File, CpuSet] = {"cpus": above, "mems": cpus("0-1")}
    made: dict[File, CpuSet] = {"cpus": CpuSet(), "mems": CpuSet()}
    made = start if rules is Rules.V1 else made
    kernel = Kernel(rules, {ABOVE: start, POD: made})
    for number in range(1, containers + 1):
        kernel.sets[f"{POD}/{container_id(number)}"] = made
    return kernel


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    online = TWO_NODES.online - draw(st.frozensets(st.integers(1, 7), max_size=2))
    return replace(
        TWO_NODES,
        online=online,
        isolated=draw(st.none() | st.frozensets(st.integers(1, 7), max_size=1)),
        nodes=tuple(
            replace(node, cpus=(node.cpus or CpuSet()) & online) for node in TWO_NODES.nodes
        ),
    )


@st.composite
def kubelets(draw: st.DrawFn) -> CpuManagerState | None:
    if draw(st.booleans()):
        return None
    given = draw(st.dictionaries(st.sampled_from([uid(4), uid(9)]), CPUS, max_size=1))
    given = {key: held & TWO_NODES.online for key, held in given.items()}
    taken = CpuSet().union(*given.values())
    return CpuManagerState(
        policy="static",
        shared=TWO_NODES.online - taken,
        entries={key: {"c": held} for key, held in given.items() if held},
    )


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    rules = draw(st.sampled_from([Rules.V1, Rules.V2_6_1]))
    topology = draw(machines())
    pods: list[Pod] = []
    kernels: dict[str, Kernel] = {}
    for number in draw(st.sets(st.sampled_from(NUMBERS), min_size=1)):
        made = draw(st.integers(0, 2))
        names = tuple(container(each) for each in range(1, made + 1))
        finished = draw(st.sampled_from(["Running", "Running", "Running", "Failed"]))
        pods.append(pod(number, containers=names, phase=finished))
        kernels[uid(number)] = fresh(rules, made, topology.online)
    node = Node(
        Inputs(
            pods=pods,
            decisions=draw(decisions()),
            topology=topology,
            kubelet=draw(kubelets()),
            reserved=draw(st.sampled_from([CpuSet(), cpus("0")])),
        ),
        Options(mems=Mems.OFF, share=draw(st.booleans())),
        kernels,
    )
    node.see(None)
    return node


@st.composite
def decisions(draw: st.DrawFn) -> dict[str, Assignment | AssignmentError]:
    found = {uid(number): draw(DECISIONS) for number in NUMBERS}
    return {key: said for key, said in found.items() if said is not None}


@st.composite
def histories(draw: st.DrawFn) -> Node:
    """A node on which assignments have changed a few times."""
    node = draw(nodes())
    for _ in range(draw(st.integers(0, 3))):
        node.take(node.decide())
        node.inputs = replace(node.inputs, decisions=draw(decisions()))
        if draw(st.booleans()):
            # A restart forgets what was assigned.
            node.inputs = replace(node.inputs, before=None)
    return node


@given(histories())
def test_no_cpu_is_two_pods_own_and_none_of_kubelet_s_is_anybody_s(node: Node) -> None:
    wanted = node.decide()
    for one, other in combinations(wanted.assigned.values(), 2):
        assert one.isdisjoint(other)
    state = node.inputs.kubelet
    for held in state.by_pod.values() if state else ():
        assert all(held.isdisjoint(own) for own in wanted.assigned.values())


@given(histories())
def test_what_a_pod_shares_is_online_and_nobody_s_own(node: Node) -> None:
    wanted = node.decide()
    own = CpuSet().union(*wanted.assigned.values())
    isolated = node.inputs.topology.isolated or CpuSet()
    for target in wanted.targets:
        assert target.cpus != CpuSet()
        if not target.exclusive and target.cpus is not None:
            assert target.cpus <= node.inputs.topology.online - own - isolated
    event("shares" if any(not each.exclusive for each in wanted.targets) else "shares nothing")


@given(histories())
def test_containers_get_parts_of_what_their_pod_gets(node: Node) -> None:
    for target in node.decide().targets:
        for each in target.containers.values():
            assert each.cpus
            assert target.cpus is None or each.cpus < target.cpus


@given(histories())
def test_a_pod_is_bound_or_left_alone_and_no_finished_one_is_either(node: Node) -> None:
    wanted = node.decide()
    bound = [each.pod.uid for each in wanted.targets]
    left = [each.pod.uid for each in wanted.left_alone]
    assert len({*bound, *left}) == len(bound) + len(left)
    live = {each.uid for each in node.inputs.pods if not each.finished}
    assert {*bound, *left, *wanted.assigned} <= live


@given(histories())
def test_every_write_is_legal_and_the_next_pass_has_none(node: Node) -> None:
    made = node.take(node.decide())
    event(f"{min(len(made), 8)} steps")
    assert node.take(node.decide()) == []


@given(histories())
def test_a_restart_writes_nothing_where_every_assignment_is_followed(node: Node) -> None:
    # Case 30. Whose binding the words on a pod don't tell, the kernel alone doesn't tell either.
    node.take(node.decide())
    node.take(node.decide())
    assume(not node.decide().refusals)
    node.see(None)
    assert node.take(node.decide()) == []


@given(histories())
def test_after_a_pass_each_pod_is_where_it_shall_be_and_off_what_is_others_own(
    node: Node,
) -> None:
    wanted = node.decide()
    node.take(wanted)
    online = node.inputs.topology.online
    for target in wanted.targets:
        kernel = node.kernels[target.pod.uid]
        for where in kernel.children(POD):
            mine = target.containers.get(where.rpartition("/")[2])
            asked = (mine and mine.cpus) or target.cpus
            if asked is None or not asked & online:
                continue
            assert kernel.effective(where, "cpus") == asked & online
            for other, own in wanted.assigned.items():
                assert other == target.pod.uid or asked.isdisjoint(own)


@given(histories())
def test_the_order_in_which_facts_are_listed_decides_nothing(node: Node) -> None:
    wanted = node.decide()
    turned = replace(
        node.inputs,
        decisions=dict(reversed(list(node.inputs.decisions.items()))),
        observed=dict(reversed(list(node.inputs.observed.items()))),
    )
    assert desired(turned, node.options) == wanted
    upside = replace(node.inputs, pods=list(reversed(node.inputs.pods)))
    again = desired(upside, node.options)
    assert again.assigned == wanted.assigned
    assert {each.pod.uid: each for each in again.targets} == {
        each.pod.uid: each for each in wanted.targets
    }
