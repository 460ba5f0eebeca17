"""How well CPUs are packed beside GPUs, by this assigner and by two others, over random arrivals.

    python -m benchmarks.packing [--arrivals N] [--seed N] [--machine NAME]

Pods of random shapes arrive on an idle machine and leave after random times, the same ones for
each way to choose CPUs: the assigner's, first fit by CPU id, kubelet's static policy. A pod comes
in where the machine has its CPUs and GPUs in sum, whatever was chosen before, so that each way has
the same pods. Their GPUs are those that the agent's device plugin prefers by itself, the same for
each way but one: beside the daemon the plugin knows on which nodes the pod's CPUs are free.

It is fully aligned where all its CPUs are on NUMA nodes of its GPUs, or, without GPUs, on as few
nodes as could ever hold it. A pod that the assigner refuses runs on shared CPUs and is tried again
whenever a pod has left, as the agent does in each pass: what it gets then counts as later. Slots
are looked at after every 10th arrival. Nothing is read but the machines' maps.
"""

import argparse
import heapq
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from numa_agent import config
from numa_agent.core.assigner.beside import Beside
from numa_agent.core.assigner.choosing import choose, fewest_ever
from numa_agent.core.assigner.room import Holding, room_of
from numa_agent.core.assigner.values import NodeIds, NoRoomError, Policy, Room, Wish
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.gpu_plugin import Wish as GpuWish
from numa_agent.core.gpu_plugin import closeness, preferred
from numa_agent.core.simulating import KubeletStatic, first_fit
from numa_agent.core.simulating.comparing import is_beside
from numa_agent.core.simulating.granting import cards_of
from numa_agent.core.slots import GpuRoom, Shape, count
from numa_agent.core.topology import Topology
from numa_agent.wiring.map import read_map

MACHINES = ("two-socket-8gpu", "nps4-8gpu", "amd-8gpu")
_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "sysfs"
_GPUS = {0: 30, 1: 35, 2: 20, 4: 10, 8: 5}
"""How often a pod asks for so many, in hundredths."""

_STAYS = 12.0
"""Arrivals that a pod outstays on the average."""

_LOOK = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine that is idle, and what of it pods may have."""

    name: str
    topology: Topology
    room: Room
    nodes_of_gpus: dict[str, int]

    @property
    def share(self) -> int:
        """The CPUs of a node with GPUs for each of its GPUs, in whole cores."""
        gpus = [*self.nodes_of_gpus.values()]
        threads = max(len(core) for core in self.room.cores)
        each = min(len(n.usable) // gpus.count(n.id) for n in self.room.nodes if n.id in gpus)
        return each // threads * threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A pod that has come in, with its GPUs; `until` is the number of the arrival it leaves at."""

    number: int
    cpus: int
    gpus: tuple[str, ...]
    until: float


@dataclass(slots=True, kw_only=True)
class Score:
    """How one way has done."""

    name: str
    choose: Callable[[CpuSet, Arrival, dict[int, Holding]], CpuSet | None]
    held: dict[int, Holding] = field(default_factory=dict)
    waiting: dict[int, Arrival] = field(default_factory=dict)
    gpus: dict[int, tuple[str, ...]] = field(default_factory=dict)
    beside_daemon: bool = False
    placed: int = 0
    aligned: int = 0
    later: int = 0
    slots: list[int] = field(default_factory=list)
    seconds: float = 0.0


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arrivals", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", choices=MACHINES, action="append")
    arguments = parser.parse_args()
    began = time.monotonic()
    for name in arguments.machine or MACHINES:
        for line in report(read_machine(name), arguments.arrivals, arguments.seed):
            print(line)
    print(f"{time.monotonic() - began:.0f} s")
    return 0


def report(machine: Machine, arrivals: int, seed: int) -> Iterator[str]:
    """The table of one machine."""
    came, scores = run(machine, arrivals, seed)
    yield f"{machine.name}: {arrivals} arrivals, {came} came in; a slot is {slot(machine)}"
    heads = ("placed", "aligned", "and later", "slots left", "ms a pod")
    yield f"  {'CPUs chosen by':<30}" + "".join(f"{head:>11}" for head in heads)
    for score in scores:
        left = sum(score.slots) / max(1, len(score.slots))
        yield (
            f"  {score.name:<30}{score.placed / came:>11.1%}{score.aligned / came:>11.1%}"
            f"{score.later / came:>11.1%}{left:>11.2f}{1000 * score.seconds / came:>11.2f}"
        )


def read_machine(name: str) -> Machine:
    """One of the recorded machines, with one core kept for the system and nothing running."""
    topology = read_map(config.load(None, {"hostRoot": str(_FIXTURES / name)}))
    room = room_of(topology, reserved=frozenset(), taken=frozenset(), holdings=())
    places = {
        str(gpu.device.address): gpu.device.node
        for gpu in topology.gpus
        if gpu.device.node is not None
    }
    return Machine(name=name, topology=topology, room=room, nodes_of_gpus=places)


def slot(machine: Machine) -> Shape:
    """What is counted: one GPU with its share of CPUs."""
    return Shape(cpus=machine.share, gpus=1)


def ways(machine: Machine) -> list[Score]:
    """What is compared."""
    kubelet = KubeletStatic(machine.topology)
    return [
        Score(name="numa-agent, SingleNUMANode", choose=_assigner(machine, single=True)),
        Score(
            name="numa-agent and its GPU plugin",
            choose=_assigner(machine, single=True),
            beside_daemon=True,
        ),
        Score(name="numa-agent, BestEffort", choose=_assigner(machine, single=False)),
        Score(name="first fit by CPU id", choose=lambda free, pod, _: first_fit(free, pod.cpus)),
        Score(name="kubelet's static policy", choose=lambda free, pod, _: kubelet(free, pod.cpus)),
    ]


def _assigner(
    machine: Machine, *, single: bool
) -> Callable[[CpuSet, Arrival, dict[int, Holding]], CpuSet | None]:
    """The assigner's choice; pods that no single node could ever hold are BestEffort's anyway."""

    def chosen(_: CpuSet, pod: Arrival, held: dict[int, Holding]) -> CpuSet | None:
        fits = count(Shape(cpus=pod.cpus, gpus=len(pod.gpus)), machine.room, _idle(machine)).total
        wish = Wish(
            policy=Policy.SINGLE if single and fits else Policy.BEST_EFFORT,
            exclusive=False,
            cpus=pod.cpus,
            places=tuple(frozenset({machine.nodes_of_gpus[each]}) for each in pod.gpus),
        )
        room = room_of(
            machine.topology, reserved=frozenset(), taken=frozenset(), holdings=held.values()
        )
        try:
            return choose(wish, room).cpus
        except NoRoomError:
            return None

    return chosen


def _idle(machine: Machine) -> GpuRoom:
    return _gpu_room(machine, machine.nodes_of_gpus)


def _gpu_room(machine: Machine, free: Iterable[str]) -> GpuRoom:
    every = [*machine.nodes_of_gpus.values()]
    there = [machine.nodes_of_gpus[each] for each in free]
    return GpuRoom(
        resource="gpu",
        free={node: there.count(node) for node in every},
        ever={node: every.count(node) for node in every},
    )


def run(machine: Machine, arrivals: int, seed: int) -> tuple[int, list[Score]]:
    """How many pods came in, and how each way did."""
    scores = ways(machine)
    came = 0
    for number, (pod, gone, free_gpus) in enumerate(traffic(machine, arrivals, seed)):
        for score in scores:
            _leave(machine, score, gone)
            if pod is not None:
                score.aligned += _give(machine, score, _with_gpus(machine, score, pod))
        came += pod is not None
        if number % _LOOK == 0:
            for score in scores:
                free = _free_gpus(machine, score) if score.beside_daemon else free_gpus
                score.slots.append(_left(machine, score, free))
    return came, scores


def _leave(machine: Machine, score: Score, gone: list[int]) -> None:
    """Let pods leave, and try those again that have nothing of their own."""
    for each in gone:
        score.held.pop(each, None)
        score.waiting.pop(each, None)
        score.gpus.pop(each, None)
    for pod in [*score.waiting.values()] if gone else ():
        score.later += _give(machine, score, pod)


def _with_gpus(machine: Machine, score: Score, pod: Arrival) -> Arrival:
    """The pod with the GPUs that it gets in this way."""
    if not score.beside_daemon:
        return pod
    cpus = _free_cpus(machine, score)
    cards = cards_of(machine.topology, tuple(machine.nodes_of_gpus))
    wish = GpuWish(
        available=sorted(_free_gpus(machine, score)),
        must=(),
        size=len(pod.gpus),
        wanted_cpus=pod.cpus,
        free_cpus={node.id: len(node.usable & cpus) for node in machine.room.nodes},
    )
    gpus = preferred(cards, closeness(machine.topology, cards), wish) if pod.gpus else ()
    score.gpus[pod.number] = gpus
    return replace(pod, gpus=gpus)


def _free_gpus(machine: Machine, score: Score) -> set[str]:
    return {*machine.nodes_of_gpus}.difference(*score.gpus.values())


def _free_cpus(machine: Machine, score: Score) -> CpuSet:
    taken = frozenset[int]().union(*(each.cpus for each in score.held.values()))
    return frozenset[int]().union(*(node.usable for node in machine.room.nodes)) - taken


def _give(machine: Machine, score: Score, pod: Arrival) -> bool:
    """Whether a pod gets CPUs that are all where they should be."""
    free = _free_cpus(machine, score)
    began = time.thread_time()
    cpus = score.choose(free, pod, score.held)
    score.seconds += time.thread_time() - began
    if cpus is None:
        score.waiting[pod.number] = pod
        return False
    score.waiting.pop(pod.number, None)
    if len(cpus) != pod.cpus or not cpus <= free:
        raise AssertionError(f"{score.name}: a CPU was given twice, or the wrong number of them")
    nodes = machine.topology.nodes_of(cpus)
    score.held[pod.number] = Holding(cpus=cpus, nodes=nodes, single=len(nodes) == 1)
    score.placed += 1
    places: tuple[NodeIds, ...] = tuple(
        frozenset({machine.nodes_of_gpus[each]}) for each in pod.gpus
    )
    alone = Wish(policy=Policy.BEST_EFFORT, cpus=pod.cpus)
    fewest = None if places else fewest_ever(alone, machine.room)
    return is_beside(nodes, Beside(places=places), fewest)


def _left(machine: Machine, score: Score, free_gpus: set[str]) -> int:
    free = _free_cpus(machine, score)
    nodes = tuple(replace(node, free=node.usable & free) for node in machine.room.nodes)
    room = replace(machine.room, nodes=nodes)
    return count(slot(machine), room, _gpu_room(machine, free_gpus), exclusive=False).total


def traffic(
    machine: Machine, arrivals: int, seed: int
) -> Iterator[tuple[Arrival | None, list[int], set[str]]]:
    """Each arrival, None where it is turned away; who has left before it; the GPUs free after."""
    chance = random.Random(seed)
    cards = cards_of(machine.topology, tuple(machine.nodes_of_gpus))
    close = closeness(machine.topology, cards)
    free_gpus = {*machine.nodes_of_gpus}
    free_cpus = sum(len(node.usable) for node in machine.room.nodes)
    here: list[tuple[float, int, Arrival]] = []
    for number in range(arrivals):
        gone: list[int] = []
        while here and here[0][0] <= number:
            left = heapq.heappop(here)[2]
            gone.append(left.number)
            free_gpus |= {*left.gpus}
            free_cpus += left.cpus
        wanted = chance.choices([*_GPUS], [*_GPUS.values()])[0]
        cpus = _cpus(machine, wanted, chance)
        until = number + chance.expovariate(1 / _STAYS)
        if wanted > len(free_gpus) or cpus > free_cpus:
            yield None, gone, {*free_gpus}
            continue
        wish = GpuWish(available=sorted(free_gpus), must=(), size=wanted)
        gpus = preferred(cards, close, wish) if wanted else ()
        pod = Arrival(number=number, cpus=cpus, gpus=gpus, until=until)
        free_gpus -= {*gpus}
        free_cpus -= cpus
        heapq.heappush(here, (until, number, pod))
        yield pod, gone, {*free_gpus}


def _cpus(machine: Machine, gpus: int, chance: random.Random) -> int:
    """A half to all of what its GPUs' share is; without GPUs one core to two shares."""
    if gpus:
        return max(1, int(gpus * machine.share * chance.choice([0.5, 0.75, 1.0])))
    return chance.randint(1, machine.share) * 2


if __name__ == "__main__":
    raise SystemExit(main())
