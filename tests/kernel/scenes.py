"""Short sequences of operations that random ones hardly come to, each in a random place."""

from random import Random

from tests.kernel.operations import CPUS, GROUPS, TASKS, Kinds, Operation, Operations

CONTROL = "cgroup.subtree_control"
PAIRS = [(group.rpartition("/")[0], group) for group in GROUPS if "/" in group]
"""Each group that has one above it other than the root."""


def _attach(group: str, task: str, file: str = "cgroup.procs") -> Operation:
    return ("attach", group, file, task)


def _write(group: str, file: str, text: str) -> Operation:
    return ("write", group, file, text)


def _leave(*tasks: str) -> Operations:
    return [_attach("", task) for task in tasks]


def clear_above_a_task(random: Random) -> Operations:
    """A set is cleared in a group that has tasks only below."""
    above, group = random.choice(PAIRS)
    file, text = random.choice((("cpuset.cpus", "1-2"), ("cpuset.mems", "1")))
    first, *others = TASKS
    return [
        *_leave(*others),
        *(_write(name, file, text) for name in (above, group)),
        _attach(group, first),
        *(_write(name, file, "\n") for name in (group, above)),
        *_leave(first),
        *(_write(name, file, "\n") for name in (group, above)),
    ]


def go_offline_around_an_affinity(random: Random) -> Operations:
    """A task asks for CPUs while one of them is away or goes away."""
    cpu, task = str(random.choice(CPUS[1:])), random.choice(TASKS)
    place = random.choice(("", "", *GROUPS))
    ask = ("affinity", task, f"0,{cpu}")
    hotplug = random.choice((["offline", "ask", "online"], ["ask", "offline", "online"]))
    write = [_write(place, "cpuset.cpus", "0-7")] if random.random() < 0.5 else []
    return [
        _attach(place, task),
        *write,
        *(ask if step == "ask" else (step, cpu) for step in hotplug),
    ]


def change_nothing_in_force(random: Random) -> Operations:
    """A set changes in the part that the one above doesn't have; a task had asked for less."""
    above, group = random.choice(PAIRS)
    task = random.choice(TASKS)
    return [
        _write(above, "cpuset.cpus", "0-3"),
        _write(group, "cpuset.cpus", "0-5"),
        _attach(group, task),
        ("affinity", task, "1"),
        _write(group, "cpuset.cpus", "0-6"),
        _write(above, "cpuset.cpus", "0-4"),
    ]


def write_to_the_root(random: Random) -> Operations:
    """The root's sets are the kernel's own."""
    return [_write("", random.choice(("cpuset.cpus", "cpuset.mems")), random.choice(("0", "x")))]


def write_too_much(random: Random) -> Operations:
    """A write that a file has no room for."""
    file = random.choice(("cpuset.cpus", "cpuset.mems", "cgroup.procs"))
    return [_write(random.choice(GROUPS), file, "1" + " " * random.choice((4200, 6300, 49300)))]


def vanish(random: Random) -> Operations:
    """A file is still open when its group goes, and comes again."""
    group = random.choice(GROUPS)
    file, text = random.choice((("cpuset.cpus", "0"), ("cgroup.procs", "none")))
    return [
        ("open", group, file),
        *_leave(*TASKS),
        ("rmdir", group),
        ("write open", text),
        ("mkdir", group),
        ("write open", text),
        # Whoever comes next would write a set, which for this file may be somebody's pid.
        ("close",),
    ]


def lose_the_controller(random: Random) -> Operations:
    """A file is still open when the controller is taken from its group, which may have tasks."""
    above, group = random.choice(PAIRS)
    none_below = [_write(group, CONTROL, "-cpuset")] if random.random() < 0.5 else []
    return [
        *none_below,
        ("open", group, "cpuset.mems"),
        _write(group, "cpuset.cpus", "1-3"),
        _attach(group, random.choice(TASKS)),
        _write(above, CONTROL, "-cpuset"),
        ("write open", "0"),
        _write(above, CONTROL, "+cpuset"),
        ("write open", "0"),
    ]


def attach_around(random: Random) -> Operations:
    """Tasks go above and below groups that hand controllers down."""
    above, group = random.choice(PAIRS)
    control = random.choice(("+cpuset -memory", "+memory", "-cpuset -cpu +memory"))
    steps = [
        _attach(above, TASKS[0]),
        _attach(group, TASKS[1]),
        _attach("p/c/n", TASKS[2]),
        _write(above, CONTROL, control),
    ]
    random.shuffle(steps)
    return [*_leave(*TASKS), *steps]


def enable_with_tasks_inside(random: Random) -> Operations:
    """Controllers of both kinds for the children of a group that has a task."""
    group = random.choice(("p", "q", *GROUPS))
    names = random.sample(("+memory", "+cpuset", "-memory", "-cpuset", "+cpu"), 3)
    return [
        *_leave(*TASKS),
        _write(group, CONTROL, "-memory -cpuset -cpu"),
        _attach(group, TASKS[0]),
        *(_write(group, CONTROL, name) for name in names),
    ]


def thread(random: Random) -> Operations:
    """A new group becomes threaded, and maybe one in it; tasks go into both and between."""
    group = random.choice(GROUPS)
    below = [name for name in GROUPS if name.startswith(f"{group}/")]
    inner = f"{group}/{random.choice('cden')}"
    inner = inner if inner in GROUPS else group
    steps = [
        _write(group, "cgroup.type", "threaded"),
        _attach(group, TASKS[0], random.choice(("cgroup.procs", "cgroup.threads"))),
        _write(group, CONTROL, random.choice(("+cpuset", "+memory", "+cpu"))),
        ("mkdir", inner),
        _attach(inner, TASKS[1], random.choice(("cgroup.procs", "cgroup.threads"))),
        _write(inner, "cgroup.type", "threaded"),
        _attach(inner, TASKS[0], "cgroup.threads"),
        _attach(group.rpartition("/")[0], TASKS[2]),
    ]
    at = random.randrange(len(steps))
    steps[at], steps[at - 1] = steps[at - 1], steps[at]
    again = [("rmdir", name) for name in reversed(below)]
    return [*_leave(*TASKS), *again, ("rmdir", group), ("mkdir", group), *steps]


def clone(random: Random) -> Operations:
    """A group is made where new ones get the sets above."""
    above, group = random.choice(PAIRS)
    return [
        _write(above, "cgroup.clone_children", "1"),
        *_leave(*TASKS),
        *(("rmdir", name) for name in reversed(GROUPS) if name.startswith(group)),
        ("mkdir", group),
        _attach(group, TASKS[0]),
        _write(above, "cgroup.clone_children", "0"),
    ]


def lose_every_cpu(random: Random) -> Operations:
    """The CPUs of a group with tasks go, and maybe those of the one above."""
    above, group = random.choice(PAIRS)
    first, second = random.sample(CPUS[1:], 2)
    return [
        _write(above, "cpuset.cpus", f"{first},{second}"),
        _write(group, "cpuset.cpus", str(first)),
        _attach(group, TASKS[0]),
        ("offline", str(first)),
        ("offline", str(second)),
        ("online", str(first)),
        _write(group, "cpuset.cpus", str(first)),
        ("online", str(second)),
        _write(above, "cpuset.cpus", f"{first},{second}"),
        _write(group, "cpuset.cpus", str(first)),
    ]


_BOTH: Kinds = {
    clear_above_a_task: 2,
    go_offline_around_an_affinity: 4,
    change_nothing_in_force: 1,
    write_to_the_root: 1,
    write_too_much: 1,
    vanish: 2,
    lose_every_cpu: 1,
}

V2: Kinds = {
    **_BOTH,
    lose_the_controller: 2,
    attach_around: 3,
    enable_with_tasks_inside: 4,
    thread: 5,
}
V1: Kinds = {**_BOTH, clone: 2}
"""How often each comes, in parts of all kinds of operations."""
