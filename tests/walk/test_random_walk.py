"""Anything that happens on a node, in any order, and the agent's passes between."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.cpusets import Mems, Options
from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.pods import QosClass
from numa_agent.core.schedulers.koordinator.assignment import RESOURCE_STATUS
from tests.machine_tree import uid
from tests.walk.agent import Agent, Pass, Sources
from tests.walk.conftest import Tally
from tests.walk.laws import (
    check_always,
    check_disjoint,
    check_on_the_way,
    check_rights,
    check_writes,
    in_force,
)
from tests.walk.node import SETUPS, LiveContainer, LivePod, Node, Setup

LONG = os.environ.get("NUMA_AGENT_WALKS")
"""How many walks on each kernel a long run takes, each another one every time."""

WALKS = settings(
    max_examples=int(LONG or 100),
    database=None,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=(Phase.generate, Phase.shrink),
    print_blob=False,
)

INDEX = st.integers(0, 30)
SETS = st.frozensets(st.integers(0, 7), min_size=1, max_size=4)
NODE_SETS = st.sampled_from([frozenset({0}), frozenset({1}), frozenset({0, 1})])
CLASSES = st.sampled_from([*[QosClass.GUARANTEED] * 2, QosClass.BURSTABLE, QosClass.BEST_EFFORT])
OFTEN = st.sampled_from([True, True, True, False])
BE = {"koordinator.sh/qosClass": "BE"}


def _own(**members: object) -> Mapping[str, str]:
    return {ASSIGNMENT: json.dumps({"version": 1, **members})}


def _each(sets: tuple[CpuSet, CpuSet]) -> Mapping[str, str]:
    return _own(containers={n: {"cpus": render(each)} for n, each in zip("ab", sets, strict=True)})


WORDS: st.SearchStrategy[Mapping[str, str]] = st.one_of(
    st.just({}),
    SETS.map(lambda cpus: _own(cpus=render(cpus))),
    SETS.map(lambda cpus: {RESOURCE_STATUS: json.dumps({"cpuset": render(cpus)})}),
    st.tuples(SETS, SETS).map(_each),
    SETS.map(lambda cpus: _own(containers={"a": {"cpus": render(cpus)}})),
    NODE_SETS.map(lambda nodes: _own(nodes=render(nodes))),
    st.tuples(SETS, NODE_SETS).map(lambda both: _own(cpus=render(both[0]), mems=render(both[1]))),
    st.sampled_from(["", "{", '{"version": 1, "cpus": "1,"}', '{"version": 1, "cpus": "99"}']).map(
        lambda text: {ASSIGNMENT: text}
    ),
    st.just({"numa-agent.io/bind": "off"}),
)


class Walk(RuleBasedStateMachine):
    """A node of one setup; each rule is one thing that happens on it."""

    def __init__(self, setup: Setup, tally: Tally) -> None:
        super().__init__()
        self.setup_of = setup
        self.tally = tally
        self.folder = Path(tempfile.mkdtemp())
        self.node = Node(self.folder / "node", setup)
        self.sources = Sources()
        self.now = 0.0
        self.copies = 0
        self.quiet = False
        """Whether nothing has happened since a pass that did all it could."""

    def teardown(self) -> None:
        self.tally.ended(str(self.setup_of))
        shutil.rmtree(self.folder)

    @initialize(
        mems=st.sampled_from(list(Mems)),
        borrow=st.booleans(),
        pods=st.lists(st.tuples(CLASSES, WORDS, st.booleans()), min_size=1, max_size=4),
    )
    def agent_starts(
        self, mems: Mems, borrow: bool, pods: list[tuple[QosClass, Mapping[str, str], bool]]
    ) -> None:
        self.options = Options(mems=mems, borrow=borrow)
        self.agent = self._agent(self.node)
        for qos, words, two in pods:
            self.pod_comes(qos=qos, words=words, two=two, best=False, running=True)

    # Pods and containers.

    @rule(qos=CLASSES, words=WORDS, two=st.booleans(), best=st.booleans(), running=st.booleans())
    def pod_comes(
        self, qos: QosClass, words: Mapping[str, str], two: bool, best: bool, running: bool
    ) -> None:
        if len(self.node.pods) > 5:
            return
        pod = self.node.admit(qos, words, ("a", "b") if two else ("a",), BE if best else {})
        if running:
            for name in pod.names:
                self.node.start(pod, name)
        self._happened("pod comes")

    @rule(index=INDEX)
    def pods_directory_comes(self, index: int) -> None:
        if (pod := self._pod(index)) is not None:
            self.node.make(pod)
            self._happened("directory comes")

    @rule(index=INDEX, inner=st.booleans(), told=st.booleans())
    def container_starts(self, index: int, inner: bool, told: bool) -> None:
        pod = self._pod(index)
        if pod is None or pod.phase != "Running":
            return
        for name in pod.names:
            if name not in pod.containers:
                self.node.start(pod, name, inner=inner, told=told)
                break
        self._happened("container starts")

    @rule()
    def kubelet_tells_of_containers(self) -> None:
        for pod in self.node.pods.values():
            for live in pod.containers.values():
                live.told = True
        self._happened("status told")

    @rule(index=INDEX, inner=st.booleans(), told=st.booleans())
    def container_restarts(self, index: int, inner: bool, told: bool) -> None:
        pod, live = self._container(index)
        if pod is not None and live is not None:
            self.node.stop(pod, live.name)
            self.node.start(pod, live.name, inner=inner, told=told)
            self._happened("container restarts")

    @rule(index=INDEX)
    def cgroup_appears_in_a_container(self, index: int) -> None:
        _, live = self._container(index)
        if live is not None:
            self.node.nest(live, "nested")
            self._happened("nested appears")

    @rule(index=INDEX)
    def pod_finishes(self, index: int) -> None:
        if (pod := self._pod(index)) is not None:
            self.node.finish(pod)
            self._happened("pod finishes")

    @rule(index=INDEX, cgroup=st.booleans(), listed=st.booleans())
    def pod_goes(self, index: int, cgroup: bool, listed: bool) -> None:
        pod = self._pod(index)
        if pod is None:
            return
        if cgroup:
            self.node.remove(pod)
        if not listed:
            self.node.forget(pod)
        self._happened("pod goes")

    @rule(index=INDEX, words=WORDS)
    def annotations_change(self, index: int, words: Mapping[str, str]) -> None:
        if (pod := self._pod(index)) is not None:
            pod.annotations = words
            self._happened("annotations change")

    # The machine, kubelet and others.

    @rule(cpu=st.integers(1, 7))
    def cpu_goes(self, cpu: int) -> None:
        if len(self.node.online) > 3:
            self.node.kernel.offline(cpu)
            self._happened("CPU goes")

    @rule(cpu=st.integers(1, 7))
    def cpu_returns(self, cpu: int) -> None:
        self.node.kernel.online(cpu)
        self._happened("CPU returns")

    @rule(index=INDEX, cpus=SETS)
    def somebody_writes_cpus(self, index: int, cpus: CpuSet) -> None:
        if groups := self._groups():
            self.node.write(groups[index % len(groups)], "cpuset.cpus", render(cpus))
            self._happened("foreign write")

    @rule(index=INDEX, text=st.sampled_from(["\n", "0-99", "7-3", "x", "0-7", "5000000000", ""]))
    def somebody_writes_nonsense(self, index: int, text: str) -> None:
        if groups := self._groups():
            self.node.write(groups[index % len(groups)], "cpuset.cpus", text)
            self._happened("foreign write")

    @rule(index=INDEX, mems=NODE_SETS)
    def somebody_writes_mems(self, index: int, mems: CpuSet) -> None:
        groups = self._groups()
        if self.stubborn:
            # In a container's it would keep that kernel from taking anything above: test_found.
            groups = [pod.path for pod in self.node.pods.values() if pod.there]
        if groups:
            self.node.write(groups[index % len(groups)], "cpuset.mems", render(mems))
            self._happened("foreign write")

    @rule(cpus=st.frozensets(st.integers(0, 7), min_size=4))
    def what_is_above_pods_changes(self, cpus: CpuSet) -> None:
        if self.node.v1:
            self.node.restore_above()
        else:
            self.node.write(self.setup_of.qos(QosClass.GUARANTEED)[0], "cpuset.cpus", render(cpus))
        self._happened("above changes")

    @rule(index=INDEX, cpus=SETS, static=st.booleans())
    def kubelet_gives_cpus(self, index: int, cpus: CpuSet, static: bool) -> None:
        pod = self._pod(index)
        own = cpus & self.node.online
        given = {uid(pod.number): own} if pod is not None and own != self.node.online else {}
        self.node.set_kubelet({of: held for of, held in given.items() if held} if static else None)
        self._happened("kubelet gives")

    @rule(api=OFTEN, kubelet=OFTEN)
    def sources_fail_or_return(self, api: bool, kubelet: bool) -> None:
        self.sources.api, self.sources.kubelet = api, kubelet
        self._happened("sources change")

    # The agent.

    @rule(seconds=st.sampled_from([1.0, 30.0, 1000.0, 1000.0]))
    def agent_passes(self, seconds: float) -> None:
        self.now += seconds
        self._pass(self.agent, self.node, quiet=self.quiet)

    @rule()
    def agent_passes_twice(self) -> None:
        for _ in range(2):
            self.now += 1000.0
            self._pass(self.agent, self.node, quiet=self.quiet)

    @rule()
    def agent_hears_of_what_happened(self) -> None:
        self.agent.hear()
        self.tally.took("hears")
        self.quiet = False

    @rule()
    def agent_starts_anew(self) -> None:
        self.agent = self._agent(self.node)
        self.tally.took("restarts")
        self.quiet = self.quiet and self.sources.api and self.sources.kubelet

    @precondition(lambda self: self.sources.api and self.sources.kubelet)
    @rule(after=st.integers(0, 6))
    def agent_crashes_and_starts_anew(self, after: int) -> None:
        self._crash(after)

    @precondition(lambda self: self.sources.api and self.sources.kubelet)
    @rule(words=st.lists(WORDS, min_size=3, max_size=6), after=st.integers(0, 12))
    def agent_crashes_while_it_moves_pods(
        self, words: list[Mapping[str, str]], after: int
    ) -> None:
        for pod, said in zip(self.node.pods.values(), words, strict=False):
            pod.annotations = said
        self._crash(after)

    def _crash(self, after: int) -> None:
        """The agent ends at a write and starts anew; a twin of the node sees no crash."""
        self.copies += 1
        twin = self.node.copy(self.folder / f"twin{self.copies}")
        assert in_force(twin) == in_force(self.node)
        self.now += 1000.0
        whole = self._pass(self._agent(twin), twin, quiet=False)
        died = self._agent(self.node).dies(after)
        self.tally.took("crashes" if died else "passes")
        self.agent = self._agent(self.node)
        resumed = self._pass(self.agent, self.node, quiet=False)
        # What a refused pod is held to may be its own or shared: nobody knows after a restart.
        if died and not (whole.report.refusals or resumed.report.refusals):
            assert whole.planned is not None
            assert resumed.planned is not None
            assert resumed.planned.desired.assigned == whole.planned.desired.assigned
            assert in_force(self.node) == in_force(twin)
            self.tally.took("compared")
        shutil.rmtree(twin.root)

    @invariant()
    def every_task_has_cpus(self) -> None:
        check_always(self.node)
        self.tally.steps += 1

    @property
    def stubborn(self) -> bool:
        """Whether the kernel refuses a v2 cgroup's set that lacks what one below it holds."""
        return self.setup_of.version == "5.10" and not self.node.v1

    def _agent(self, node: Node) -> Agent:
        return Agent(node, self.sources, options=self.options, clock=lambda: self.now)

    def _pass(self, agent: Agent, node: Node, *, quiet: bool) -> Pass:
        found = agent.run()
        self.tally.took("passes")
        self.tally.writes += len(found.writes)
        check_writes(node, found.writes)
        check_disjoint(found)
        check_on_the_way(found)
        check_rights(node, found)
        errors = [each.error for each in found.report.writes if each.error]
        if self.stubborn and node.kubelet.policy == "static":
            errors = [each for each in errors if "a cgroup below it holds" not in each]
        assert errors == []
        if quiet:
            assert found.writes == []
        if node is self.node:
            self.quiet = not found.held_back and found.planned is not None
        return found

    def _happened(self, what: str) -> None:
        self.tally.took(what)
        self.quiet = False

    def _pod(self, index: int) -> LivePod | None:
        pods = list(self.node.pods.values())
        return pods[index % len(pods)] if pods else None

    def _container(self, index: int) -> tuple[LivePod | None, LiveContainer | None]:
        found = [(p, each) for p in self.node.pods.values() for each in p.containers.values()]
        return found[index % len(found)] if found else (None, None)

    def _groups(self) -> list[str]:
        """The cgroups of pods, of containers and in these."""
        paths = tuple(f"{pod.path}/" for pod in self.node.pods.values())
        return [each for each in self.node.groups if f"{each}/".startswith(paths)]


@pytest.mark.parametrize("setup", SETUPS, ids=str)
def test_whatever_happens_the_agent_keeps_its_laws(setup: Setup, walk_tally: Tally) -> None:
    class Here(Walk):
        def __init__(self) -> None:
            super().__init__(setup, walk_tally)

    # Each kernel is walked on otherwise, and the same way every time.
    chosen = Here if LONG else seed(SETUPS.index(setup))(Here)
    run_state_machine_as_test(chosen, settings=WALKS)
