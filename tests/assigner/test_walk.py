"""Random walks of pods that come and go, of schedulers that decide, of crashes and lost files."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from numa_agent.core.assigner import parse_kept, render_kept
from numa_agent.core.cgroups import PodGroups
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pods import Pod
from tests.assigner.scene import SIXTEEN, Scene, asks, cpus, v2
from tests.core.cpusets.scene import own

WALKS, STEPS = 40, 40
POLICIES = ("SingleNUMANode", "Restricted", "BestEffort")


@dataclass
class Walk:
    """A node over time; its kernel holds pods to what was decided in the pass before."""

    chance: random.Random
    exclusive: str
    scene: Scene = field(default_factory=Scene)
    pods: dict[int, Pod] = field(default_factory=dict)
    born: int = 0

    def step(self) -> None:
        self.chance.choice((self.come, self.come, self.come, self.go, self.crash, self.lose))()
        if self.exclusive == "Preferred" and self.chance.random() < 0.1:
            self.schedule()
        self.take()

    def come(self) -> None:
        self.born += 1
        count, policy = self.chance.choice((1, 2, 3, 4, 6, 8, 10)), self.chance.choice(POLICIES)
        self.pods[self.born] = asks(self.born, count, policy, exclusive=self.exclusive)

    def go(self) -> None:
        if self.pods:
            number = self.chance.choice([*self.pods])
            del self.pods[number]
            self.scene.said.pop(number, None)

    def crash(self) -> None:
        """Nothing is known but the file."""
        self.scene.kept = parse_kept(render_kept(self.scene.kept))

    def lose(self) -> None:
        """Nothing is known but what the kernel holds pods to."""
        before = {number: self.scene.has(number) for number in self.pods}
        self.scene.seen = self.kernel()
        self.scene.kept = {}
        self.take(lost=True)
        assert {number: self.scene.has(number) for number in self.pods} == before

    def schedule(self) -> None:
        """A scheduler gives a new pod CPUs, and looks at nobody's but other schedulers'."""
        taken = frozenset[int]().union(
            *(said.cpus for said in self.scene.said.values())  # type: ignore[union-attr]
        )
        free = sorted(cpus("1-7,9-15") - taken)
        if len(free) >= 2:
            self.born += 1
            self.pods[self.born] = asks(self.born, 2, None)
            self.scene.said[self.born] = own(render(self.chance.sample(free, 2)))

    def take(self, **facts: bool) -> None:
        before = dict(self.scene.kept)
        if not facts:
            self.scene.seen = self.kernel()
        living = [self.pods[number] for number in sorted(self.pods)]
        outcome = self.scene.take(*living, **facts)
        self.check(before, {*outcome.unplaced})

    def kernel(self) -> dict[int, PodGroups]:
        """Each pod's cgroup as binding leaves it, those that share on what is left."""
        held = {number: self.own(number) for number in self.pods}
        left = SIXTEEN.online.difference(*held.values())
        return {number: v2(number, render(mine or left)) for number, mine in held.items()}

    def own(self, number: int) -> CpuSet:
        said = self.scene.said.get(number)
        return cpus(self.scene.has(number)) if said is None else said.cpus  # type: ignore[union-attr]

    def check(self, before: Mapping[str, object], unplaced: set[str]) -> None:
        held = [self.own(number) for number in self.pods]
        together = [cpu for each in held for cpu in each]
        assert len(together) == len(set(together)), "a CPU was given twice"
        assert not set(together) & {0, 8}, "a reserved CPU was given"
        single = {node for kept in self.scene.kept.values() if kept.single for node in kept.nodes}
        several = {
            node for kept in self.scene.kept.values() if not kept.single for node in kept.nodes
        }
        if self.exclusive == "Required":
            assert not single & several, "pods of one node and of several met"
        for number, pod in self.pods.items():
            kept = self.scene.kept.get(pod.uid)
            if number in self.scene.said:
                assert kept is None
                continue
            assert (kept is None) == (pod.uid in unplaced), "it is placed, or it is said why not"
            if kept is not None:
                wanted = pod.demands.containers[0].requests["cpu"] // 1000
                assert len(kept.cpus) == wanted
                assert SIXTEEN.nodes_of(kept.cpus) <= kept.nodes
                assert not kept.single or len(kept.nodes) == 1
                if pod.uid in before and not self.scene.said:
                    assert before[pod.uid] == kept, "it was moved for nothing"


@pytest.mark.parametrize("exclusive", ["Required", "Preferred"])
@pytest.mark.parametrize("seed", range(WALKS))
def test_no_cpu_is_given_twice_and_nobody_is_moved_for_nothing(seed: int, exclusive: str) -> None:
    walk = Walk(chance=random.Random(seed), exclusive=exclusive)
    for _ in range(STEPS):
        walk.step()
    assert walk.born > 5
