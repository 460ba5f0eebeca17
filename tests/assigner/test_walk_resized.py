"""Random walks of pods of every shape that are resized, while sources, schedulers and kubelet's
policy come and go."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from numa_agent.core.assigner import Kept, Mode, Setting
from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from tests.assigner.scene import SIXTEEN, Scene, asks, cpus, demand, granted
from tests.core.cpusets.scene import own, static
from tests.machine_tree import uid

WALKS, STEPS = 40, 30
SETTLING = 4
"""Passes after which nothing changes any more: what one pod leaves, another one takes up."""

POLICIES = ("SingleNUMANode", "Restricted", "BestEffort")
RESOURCE = "scheduling.koordinator.sh/resource-spec"
WORDS = (
    '{"requiredCPUBindPolicy": "FullPCPUs"}',
    '{"preferredCPUBindPolicy": "SpreadByPCPUs", "preferredCPUExclusivePolicy": "PCPULevel"}',
    '{"preferredCPUExclusivePolicy": "NUMANodeLevel"}',
)


@dataclass
class Walk:
    """A node over time, with four GPUs that a plugin gives out by chance."""

    chance: random.Random
    scene: Scene = field(default_factory=Scene)
    pods: dict[int, Pod] = field(default_factory=dict)
    gpus: dict[int, list[str]] = field(default_factory=dict)
    free: list[str] = field(default_factory=lambda: [f"GPU-{number}" for number in range(4)])
    born: int = 0
    answers: bool = True

    def __post_init__(self) -> None:
        isolated = cpus(self.chance.choice(("5,13", "0,8")))
        self.scene.topology = replace(SIXTEEN, isolated=isolated)
        self.scene.reserved = self.chance.choice((cpus("0,8"), frozenset(), cpus("4")))

    def step(self) -> None:
        steps = (self.come, self.come, self.go, self.resize, self.resize, self.silence)
        more = (self.schedule, self.policy, self.mode)
        self.chance.choice((*steps, *steps, *more))()
        before = dict(self.scene.kept)
        self.take()
        self.check(before)
        for _ in range(SETTLING):
            self.take()
        settled = dict(self.scene.kept)
        self.take()
        assert self.scene.kept == settled, "it is moved for nothing"

    def come(self) -> None:
        self.born += 1
        count = min(self.chance.choice((0, 0, 1, 2)), len(self.free))
        self.chance.shuffle(self.free)
        self.gpus[self.born] = [self.free.pop() for _ in range(count)]
        words = {RESOURCE: self.chance.choice(WORDS)} if self.chance.random() < 0.2 else {}
        exclusive = self.chance.choice(("Required", "Preferred"))
        policy = self.chance.choice(POLICIES)
        pod = asks(self.born, 1, policy, exclusive=exclusive, annotations=words)
        self.pods[self.born] = replace(pod, demands=self.demands(self.born))

    def demands(self, number: int) -> Demands:
        whole, name = 1000 * self.chance.choice((1, 2, 3, 4, 6, 8)), f"c{number}"
        main = demand(name, self.chance.choice((whole, whole, whole, 3500)), None)
        others: list[Demand] = self.chance.choice(
            (
                [],
                [demand("b", self.chance.choice((0, 100, 1500)), 3000)],
                [demand("b", 2000)],
                [demand("i", whole + 1000, role=Role.INIT)],
            )
        )
        given = {"aliyun.com/gpu": len(self.gpus[number])} if self.gpus[number] else {}
        main = replace(main, requests={**main.requests, **given})
        found = Demands(containers=(*others, main))
        if self.chance.random() < 0.15:
            found = replace(found, pod={"cpu": 12000}, pod_limits={"cpu": 12000})
        return found

    def go(self) -> None:
        if self.pods:
            number = self.chance.choice([*self.pods])
            del self.pods[number]
            self.free += self.gpus.pop(number)
            self.scene.said.pop(number, None)

    def resize(self) -> None:
        if self.pods:
            number = self.chance.choice([*self.pods])
            self.pods[number] = replace(self.pods[number], demands=self.demands(number))

    def silence(self) -> None:
        self.answers = not self.answers

    def schedule(self) -> None:
        taken = frozenset[int]().union(*(said.cpus for said in self.scene.said.values()))  # type: ignore[union-attr]
        free = sorted(cpus("1-3,6-7,9-12,14-15") - taken)
        if self.pods and len(free) >= 2:
            number = self.chance.choice([*self.pods])
            self.scene.said.setdefault(number, own(render(self.chance.sample(free, 2))))

    def policy(self) -> None:
        self.scene.kubelet = None if self.scene.kubelet else static("0-15")

    def mode(self) -> None:
        self.scene.setting = Setting(mode=self.chance.choice([*Mode]))

    def take(self) -> None:
        answer = granted(**{f"p{number}": gpus for number, gpus in self.gpus.items()})
        self.scene.answer = answer if self.answers else None
        living = [self.pods[number] for number in sorted(self.pods)]
        self.scene.take(*living, silent=None if self.answers else 3.0)

    def check(self, before: Mapping[str, Kept]) -> None:
        held: list[CpuSet] = []
        for number, pod in self.pods.items():
            said, kept = self.scene.said.get(number), self.scene.kept.get(pod.uid)
            if said is not None:
                held.append(said.cpus)  # type: ignore[union-attr]
            elif kept is not None:
                held.append(kept.cpus)
                self.check_one(number, kept, moved=before.get(uid(number)) != kept)
        together = [cpu for each in held for cpu in each]
        assert len(together) == len(set(together)), "a CPU was given twice"
        shared = SIXTEEN.online.difference(together, self.scene.topology.isolated or ())
        assert shared or self.scene.said, "those that share have none"

    def check_one(self, number: int, kept: Kept, *, moved: bool) -> None:
        never = (self.scene.topology.isolated or frozenset()) | (
            self.scene.reserved or frozenset()
        )
        assert not kept.cpus & never, "a reserved or isolated CPU was given"
        assert SIXTEEN.nodes_of(kept.cpus) <= kept.nodes
        assert all(part <= kept.cpus for part in kept.containers.values())
        if kept.single:
            homes = {int(gpu[-1]) // 2 for gpu in self.gpus[number]}
            assert len(kept.nodes) == 1
            assert not moved or homes <= kept.nodes, "it was put away from its GPUs"


@pytest.mark.parametrize("seed", range(WALKS))
def test_pods_of_every_shape_are_resized_beside_whatever_else_changes(seed: int) -> None:
    walk = Walk(chance=random.Random(seed))
    for _ in range(STEPS):
        walk.step()
    assert walk.born > 2
