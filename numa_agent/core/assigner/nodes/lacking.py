"""How a refusal says which NUMA node lacks what, and what would fit."""

from collections.abc import Iterable, Sequence

from numa_agent.core.assigner.nodes.capacity import Capacity, Case
from numa_agent.core.assigner.nodes.counting import so_many
from numa_agent.core.assigner.nodes.items import Wanted, Work, items_of
from numa_agent.core.assigner.values import NoRoomError, Policy
from numa_agent.core.cpulist import render
from numa_agent.core.verdict.wording import amount

_LONGEST = 400
"""Characters of what nodes lack in a message: an Event's message has 1024 at most."""

_LONGEST_LIST = 40
"""The longest list of nodes in a message, in characters."""

_STEPS = 2000


def no_place(case: Case) -> NoRoomError | None:
    """Why a pod's devices leave no nodes for it whatever is free; None where they leave some."""
    for place, ids in zip(case.places, case.wish.places, strict=True):
        if not place:
            known = f"{_nodes(ids)}, where no CPUs can be given out"
            where = known if ids else "a NUMA node that isn't known"
            return NoRoomError("devices-unplaced", f"a device of the pod is on {where}")
    single = case.wish.policy is Policy.SINGLE
    if not single or not case.places or any(case.at_devices(at) for at in case.everywhere):
        return None
    each = [f"one on {_nodes(case.ids(place))}" for place in dict.fromkeys(case.places)]
    return NoRoomError(
        "devices-apart",
        f"no NUMA node is beside all devices that the pod was given: {_some(each)};"
        " SingleNUMANode takes one node, Restricted would take theirs",
    )


def no_room(case: Case, count: int | None, *, elsewhere: bool) -> NoRoomError:
    """Why no nodes hold a pod.

    `count` is how many nodes could ever hold it, None if none could; `elsewhere` whether other
    nodes than those that other pods leave to it hold it now.
    """
    if not case.room.nodes:
        return NoRoomError("never-fits", "the machine tells of no NUMA node with CPUs")
    ever = count is None
    capacity, positions = (case.ever, case.everywhere) if ever else (case.now, case.allowed)
    parts = [
        f"{_head(case, count, elsewhere=elsewhere)}: {_some(_by_node(case, capacity, positions))}",
        _most(case, capacity, positions, count),
    ]
    if elsewhere and any(case.closed(node) for node in case.room.nodes):
        parts.append("with singleNUMANodeExclusive Preferred it may be on nodes with those pods")
    code = "never-fits" if ever else "nodes-in-use" if elsewhere else "no-room"
    return NoRoomError(code, "; ".join(parts))


def _head(case: Case, count: int | None, *, elsewhere: bool) -> str:
    """What there is no room for, and on how many nodes."""
    asked = case.ever if count is None else case.now
    wanted = f"room for {_amounts(asked.kinds, asked.wanted)}"
    wanted += " beside its devices" if case.places else ""
    left = " that other pods leave to it" if elsewhere else ""
    single = case.wish.policy is Policy.SINGLE
    if count is None:
        return (
            f"{'no NUMA node' if single else 'not even all NUMA nodes'} could ever have {wanted}"
        )
    if case.wish.policy is Policy.BEST_EFFORT:
        return f"not even all NUMA nodes{left} have {wanted} now"
    which = f"no NUMA node{left} has" if count == 1 else f"no {count} NUMA nodes{left} have"
    return f"{which} {wanted} now" + ("" if single else ", and Restricted takes no more")


def _by_node(case: Case, capacity: Capacity, open_to_it: Sequence[int]) -> list[str]:
    """What nodes lack, or have where several are taken together; those that are alike together."""
    alike: dict[str, list[int]] = {}
    for at, node in enumerate(case.room.nodes):
        if at in open_to_it:
            said = _said(case, capacity, at)
        elif case.closed(node):
            single = case.wish.policy is Policy.SINGLE
            said = f"in use by pods that {'may span nodes' if single else 'must be on one node'}"
        else:
            said = "in use by a pod that is to be apart from others like it"
        alike.setdefault(said, []).append(node.id)
    return [f"{_nodes(ids)}: {said}" for said, ids in alike.items()]


def _said(case: Case, capacity: Capacity, at: int) -> str:
    """What an open node lacks by itself, or what it has for a set."""
    there = "free" if capacity is case.now else "at most"
    has = capacity.amounts[at]
    if case.wish.policy is not Policy.SINGLE:
        return f"{_amounts(capacity.kinds, has)} {there}"
    if not case.at_devices(at):
        return "not beside its devices"
    return ", ".join(
        f"{_amount(kind, most - size)} short ({amount(size) if kind else size} {there})"
        for kind, most, size in zip(("", *capacity.kinds), capacity.wanted, has, strict=True)
        if most > size
    )


def _most(case: Case, capacity: Capacity, positions: Sequence[int], count: int | None) -> str:
    """The most CPUs that so many nodes give with all else that is wanted."""
    wanted = Wanted(amounts=capacity.wanted[1:], places=case.places)
    cpus = [each[0] for each in capacity.amounts]
    others = [tuple(map(min, each[1:], wanted.amounts)) for each in capacity.amounts]
    items = items_of(others, [-each for each in cpus])
    if case.wish.policy is Policy.SINGLE:
        many = 1
    elif case.wish.policy is Policy.BEST_EFFORT or count is None:
        many = len(positions)
    else:
        many = count
    found = so_many([items[at] for at in positions], many, wanted, Work(_STEPS))
    bits = sum(item.bit for item in found or ())
    total = sum(each for at, each in enumerate(cpus) if case.bit(at) & bits)
    if not total:
        return "no number of CPUs would fit"
    could = "could ever" if capacity is case.ever else "would"
    return f"at most {_amount('', total)} {could} fit, on {_nodes(case.ids(bits))}"


def _amounts(kinds: Sequence[str], amounts: Sequence[int]) -> str:
    """`24 CPUs and 10 GiB of memory`."""
    names = [_amount(kind, size) for kind, size in zip(("", *kinds), amounts, strict=True)]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _amount(kind: str, size: int) -> str:
    """`1 CPU` for no kind, `10 GiB of memory` for one."""
    return f"{amount(size)} of {kind}" if kind else f"{size} CPU{'' if size == 1 else 's'}"


def _some(parts: Sequence[str]) -> str:
    """As many as a message has room for, one at least, and how many more there are."""
    shown = list(parts[:1])
    for part in parts[1:]:
        if len("; ".join([*shown, part])) > _LONGEST:
            break
        shown.append(part)
    more = len(parts) - len(shown)
    return "; ".join([*shown, *([f"and {more} more like these"] if more else [])])


def _nodes(ids: Iterable[int]) -> str:
    """`node 1`, `nodes 0-3,8`, or how many they are where the list would be long."""
    listed = sorted(ids)
    names = render(listed)
    if len(names) > _LONGEST_LIST:
        return f"{len(listed)} nodes"
    return f"node{'' if len(listed) == 1 else 's'} {names}"
