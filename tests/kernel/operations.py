"""Random operations on control groups and their tasks, one by one."""

from collections.abc import Callable, Iterator
from random import Random

Operation = tuple[str, ...]
"""A verb and its words, all text: `("write", "p/c", "cpuset.cpus", "2-3\\n")`."""

Operations = list[Operation]

Kinds = dict[Callable[[Random], Operations], int]
"""What makes operations of a kind, and how often it is asked to, in parts of all."""

GROUPS = ("p", "p/c", "p/c/n", "p/d", "q", "q/e")
TASKS = ("t0", "t1", "t2")
CPUS = range(8)
NODES = range(3)

ODD = (
    *("all", "ALL", "N", "0-N", "0,all", "all:1/2", "0-7:2/4", "0-7:0/1", "0-7:1/0", "0-3:5/4"),
    *("0-3:2", "0-7:2/4x", "0-7:1/2\n3", "0-7:1/2 3", "3-1", "9-8", "8", "7-8", "1023", "1024"),
    *("4294967295", "4294967296", "99999999999999999999", "-1", "a", "1-", "1-2-3", "0x1"),
    *(" 2 ", "\t1\n", "1 2", "1,,2", ",", ", ,", "1,", ",1", "1\n2", "1 \n2", "1\0002", "01"),
    *("5" * 5000, "3" * 50000, "1,2," * 2000),
    *("1-2,2-3", "3,1-2", "0-0", "1 -2", "1- 2"),
)


ODD_PIDS = ("-1", "x", "999999", "0x", "0xfffff", "08", "+999999", "9" * 12, "2147483648", "\n")


def beginning(random: Random, hierarchy: str) -> Iterator[Operation]:
    """Most groups, most of them with what they need for tasks."""
    for group in GROUPS:
        if random.random() < 0.95:
            yield ("mkdir", group)
        if hierarchy == "v2" and random.random() < 0.9:
            control = random.choice(("+cpuset", "+cpuset", "+cpuset +memory"))
            yield ("write", group, "cgroup.subtree_control", control)
        if hierarchy == "v1" and random.random() < 0.9:
            yield ("write", group, "cpuset.cpus", "0-7\n")
            yield ("write", group, "cpuset.mems", "0-2\n")


def end() -> Iterator[Operation]:
    """Everything back to where it was, as far as that goes."""
    yield ("close",)
    for cpu in CPUS[1:]:
        yield ("online", str(cpu))
    for task in TASKS:
        yield ("restart", task)
    for group in reversed(GROUPS):
        yield ("rmdir", group)


def _ids(random: Random, ids: range) -> str:
    """A set in a spelling that all kernels take."""
    chosen = random.sample(ids, random.randint(1, len(ids)))
    if random.random() < 0.5:
        first, last = min(chosen), max(chosen)
        return f"{first}-{last}" if first < last else str(first)
    return ",".join(map(str, chosen))


def _words(random: Random, ids: range) -> str:
    kind = random.random()
    if kind < 0.12:
        return random.choice(("\n", "", ",", " \n"))
    return random.choice(ODD) if kind < 0.2 else _ids(random, ids) + random.choice(("", "\n"))


def _write_cpus(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cpuset.cpus", _words(random, CPUS))]


def _write_mems(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cpuset.mems", _words(random, NODES))]


def _attach(random: Random) -> Operations:
    return [("attach", random.choice(("", *GROUPS)), "cgroup.procs", random.choice(TASKS))]


def _attach_thread(random: Random) -> Operations:
    return [("attach", random.choice(GROUPS), "cgroup.threads", random.choice(TASKS))]


def _attach_to_tasks(random: Random) -> Operations:
    return [("attach", random.choice(GROUPS), "tasks", random.choice(TASKS))]


def _attach_oddly(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cgroup.procs", random.choice(ODD_PIDS))]


def _mkdir(random: Random) -> Operations:
    return [("mkdir", random.choice(GROUPS))]


def _rmdir(random: Random) -> Operations:
    return [("rmdir", random.choice(GROUPS))]


def _hotplug(random: Random) -> Operations:
    return [(random.choice(("offline", "online", "online")), str(random.choice(CPUS[1:])))]


def _affinity(random: Random) -> Operations:
    cpus = random.sample(CPUS, random.randint(1, 6))
    return [("affinity", random.choice(TASKS), ",".join(map(str, cpus)))]


def _restart(random: Random) -> Operations:
    return [("restart", random.choice(TASKS))]


def _open(random: Random) -> Operations:
    return [("open", random.choice(GROUPS), random.choice(("cpuset.cpus", "cpuset.mems")))]


def _write_open(random: Random) -> Operations:
    return [("write open", _words(random, NODES))]


def _control(random: Random) -> Operations:
    words = ("+cpuset", "+cpuset", "-cpuset", "+memory", "-memory", "+cpu", "cpuset", "+none", "")
    text = " ".join(random.sample(words, random.choice((1, 1, 2))))
    return [("write", random.choice(GROUPS), "cgroup.subtree_control", text)]


def _type(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cgroup.type", random.choice(("threaded", "domain")))]


def _clone(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cgroup.clone_children", random.choice("001"))]


def _migrate(random: Random) -> Operations:
    return [("write", random.choice(GROUPS), "cpuset.memory_migrate", random.choice("01x"))]


def _write_unwritable(random: Random) -> Operations:
    file = random.choice(("cpuset.cpus.effective", "cpuset.effective_cpus", "cgroup.controllers"))
    return [("write", random.choice(GROUPS), file, "1")]


_BOTH: Kinds = {
    _write_cpus: 30,
    _write_mems: 10,
    _attach: 14,
    _attach_oddly: 1,
    _mkdir: 6,
    _rmdir: 4,
    _hotplug: 9,
    _affinity: 5,
    _restart: 2,
    _open: 2,
    _write_open: 3,
    _write_unwritable: 1,
}
V2: Kinds = {**_BOTH, _attach_thread: 1, _control: 5, _type: 1}
V1: Kinds = {**_BOTH, _attach_to_tasks: 3, _clone: 1, _migrate: 1}
