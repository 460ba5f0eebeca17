"""Why there are no CPUs for a pod on some NUMA nodes."""

from collections.abc import Sequence

from numa_agent.core.assigner.cpus.cores import cores_of, eligible, sizes_of
from numa_agent.core.assigner.cpus.needs import possible
from numa_agent.core.assigner.cpus.subset_sums import largest, sums_of, up_to
from numa_agent.core.assigner.values import Apart, NodeRoom, NoRoomError, Room, Threads, Wish
from numa_agent.core.cpulist import render


def no_cpus(wish: Wish, room: Room, nodes: Sequence[NodeRoom]) -> NoRoomError:
    """Why these nodes can't give this wish its CPUs now, and what they could give."""
    ids = [node.id for node in nodes]
    where = f"NUMA node{'s' if len(ids) > 1 else ''} {render(ids)}" if ids else "no NUMA node"
    never = _never(wish, room, nodes)
    if never is not None:
        return NoRoomError("never-fits", f"{where}: {never}")
    free = [
        core for node in nodes for core in cores_of(room, eligible(wish, room, node, node.free))
    ]
    most = largest(possible(wish, free), wish.cpus)
    return NoRoomError(
        "no-room", f"{where}: of {wish.cpus} {_what(wish)} {most or 'none'} can be had now"
    )


def _never(wish: Wish, room: Room, nodes: Sequence[NodeRoom]) -> str | None:
    """Why no number of whole cores makes up this count; None if one does or other CPUs will do."""
    if wish.threads is not Threads.ONLY_WHOLE_CORES:
        return None
    sizes: dict[int, int] = {}
    for node in nodes:
        usable = eligible(wish, room, node, node.usable)
        for size, number in sizes_of(cores_of(room, usable)).items():
            sizes[size] = sizes.get(size, 0) + number
    if not sizes:
        return None
    ever = sums_of(sizes)
    # More than these nodes have might be had of more nodes alike.
    if wish.cpus >= ever.bit_length():
        ever = sums_of(dict.fromkeys(sizes, wish.cpus + max(sizes)))
    if ever >> wish.cpus & 1:
        return None
    below = largest(ever, wish.cpus)
    above = ever & ~up_to(wish.cpus)
    either = [below, *([(above & -above).bit_length() - 1] if above else [])]
    fits = " or ".join(str(each) for each in either if each)
    threads = " or ".join(str(size) for size in sorted(sizes))
    return f"{wish.cpus} {_what(wish)} can't be had, with cores of {threads} threads; {fits} could"


def _what(wish: Wish) -> str:
    kind = "" if wish.kind is None else f" of kind {wish.kind}"
    threads = " in whole cores" if wish.threads is Threads.ONLY_WHOLE_CORES else ""
    apart = " on cores without a pod to be apart from" if wish.apart is Apart.CORES else ""
    return f"CPUs{kind}{threads}{apart}"
