"""Small odd machines for the choice of CPUs, drawn at random or made for a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from numa_agent.core.assigner.values import Apart, NodeRoom, Policy, Room, Threads, Wish
from numa_agent.core.cpulist import CpuSet, parse
from numa_agent.core.topology import CpuKind

KINDS = ("core", "atom", "lowpower")


def wish(cpus: int, **more: object) -> Wish:
    return replace(Wish(policy=Policy.BEST_EFFORT, cpus=cpus), **more)  # type: ignore[arg-type]


def node(node_id: int, usable: str, *, held: str = "") -> NodeRoom:
    return NodeRoom(id=node_id, usable=parse(usable), free=parse(usable) - parse(held))


def pairs(*lists: str) -> tuple[CpuSet, ...]:
    return tuple(parse(each) for each in lists)


def kind(name: str, cpus: str) -> CpuKind:
    return CpuKind(name=name, cpus=parse(cpus), capacity=None)


@dataclass(frozen=True)
class Thread:
    """A CPU of a machine that is drawn: where it is and who has it."""

    node: int
    core: int
    cache: int
    kind: int
    state: str


STATES = st.sampled_from(["free"] * 6 + ["held", "held", "apart", "reserved"])


@st.composite
def threads(draw: st.DrawFn, most: int = 12, nodes: int = 3) -> list[Thread]:
    """Cores of 1 to 4 threads of some kind, behind caches of some size, on some nodes."""
    uniform = draw(st.sampled_from([None, None, 1, 2, 2, 4]))
    states = draw(st.sampled_from([STATES, STATES, st.just("free")]))
    kinds = draw(st.integers(1, len(KINDS)))
    found: list[Thread] = []
    caches = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    for cache, cores in enumerate(caches):
        node_id = draw(st.integers(0, nodes - 1))
        for number in range(cores):
            size = uniform or draw(st.integers(1, 4))
            of_kind = draw(st.integers(0, kinds - 1))
            found += [
                Thread(node_id, 10 * cache + number, cache, of_kind, draw(states))
                for _ in range(size)
            ]
    return found[:most]


def room_of(machine: Sequence[Thread], ids: Sequence[int], known: Mapping[str, bool]) -> Room:
    """The machine with these ids for its threads, and what of it is `known`."""
    named = list(zip(ids, machine, strict=True))

    def alike(keys: Iterable[tuple[int, int]]) -> tuple[CpuSet, ...]:
        groups: dict[int, set[int]] = {}
        for cpu, key in keys:
            groups.setdefault(key, set()).add(cpu)
        return tuple(sorted((frozenset(each) for each in groups.values()), key=min))

    kinds = {t.kind for _, t in named} if known["kinds"] else set()
    return Room(
        nodes=tuple(
            NodeRoom(
                id=each,
                usable=frozenset(c for c, t in named if t.node == each and t.state != "reserved"),
                free=frozenset(c for c, t in named if t.node == each and t.state == "free"),
            )
            for each in sorted({t.node for _, t in named})
        ),
        cores=alike((c, t.core) for c, t in named) if known["cores"] else (),
        caches=alike((c, t.cache) for c, t in named if t.cache or known["every cache"])
        if known["caches"]
        else (),
        kinds=tuple(
            CpuKind(
                name=KINDS[each],
                cpus=frozenset(c for c, t in named if t.kind == each),
                capacity=None,
            )
            for each in sorted(kinds)
        ),
        apart=frozenset(c for c, t in named if t.state == "apart"),
    )


KNOWN = st.fixed_dictionaries(
    {
        "cores": st.sampled_from([True, True, True, False]),
        "caches": st.sampled_from([True, True, True, False]),
        "every cache": st.booleans(),
        "kinds": st.booleans(),
    }
)


@st.composite
def rooms(draw: st.DrawFn, most: int = 12, nodes: int = 3) -> Room:
    machine = draw(threads(most, nodes))
    ids = draw(st.one_of(st.just(range(len(machine))), st.permutations(range(len(machine)))))
    return room_of(machine, list(ids), draw(KNOWN))


@st.composite
def wishes(draw: st.DrawFn, most: int = 12) -> Wish:
    return wish(
        draw(st.integers(1, most)),
        threads=draw(st.sampled_from(Threads)),
        apart=draw(st.sampled_from([Apart.NOBODY, Apart.NOBODY, Apart.CORES])),
        kind=draw(st.sampled_from([None, None, None, *KINDS[:2]])),
    )
