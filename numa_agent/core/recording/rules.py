"""Which files of a machine come into a recording: those that the readers open, place by place.

A list of what is read, not of what isn't: a new file is in no recording until it has its line
here. tests/recording/test_what_is_read.py holds it against what the kernel sees a pass open. The
paths of the places are numa_agent.config's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numa_agent.core import cpulist
from numa_agent.core.memory_use import HUGETLB_FILES
from numa_agent.core.recording import contents, words
from numa_agent.core.recording.contents import Content
from numa_agent.core.recording.pseudonyms import Names

Shown = Callable[[Names, str], str]


@dataclass(frozen=True, slots=True)
class File:
    """A file; it is left out where one of those in `unless` says the same and can be read."""

    name: str
    form: Content
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory, or all whose names fit a pattern, and what is read in it."""

    name: str | re.Pattern[str]
    within: "tuple[Entry, ...]" = ()
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """What is only known to be there, whatever it is: it comes in as an empty directory."""

    name: re.Pattern[str]
    shown: Shown | None = None
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link of which the last name of where it leads is read."""

    name: str
    shown: Shown


Entry = File | Folder | Mark | Link

RULES: Mapping[Content, str] = {
    contents.numbers: "numbers",
    contents.codes: "hexadecimal numbers",
    contents.size: "size",
    contents.quota: "quota",
    contents.memory: "the lines read of memory",
    contents.allowed: "the lines of CPUs and nodes allowed",
    contents.namespaces: "the line of PID namespaces",
    contents.gpu_node: "the line of the node",
    contents.numa_stat: "the rows of memory by node",
    contents.foreign: "the line of memory that a node could not give",
    contents.devices: "the lines of GPUs",
    contents.numa_maps: "the pages of each mapping by node, without address and file",
    contents.populated: "the line of whether a process is in it",
    contents.cpu_info: "the lines of processors, the first one's model and vendor",
    contents.controllers: "the kernel's controllers",
    contents.driver_version: "the version",
    contents.boot_id: "an id's pseudonym",
}
"""What each form keeps, in words for the manifest."""

_ANY = re.compile(r"[^/\0]{1,255}")


def _list_and_mask(stem: str, *better: str) -> tuple[File, ...]:
    listed = f"{stem}_list"
    return (
        File(listed, contents.numbers, better),
        File(stem, contents.codes, (*better, listed)),
    )


_CORE = ("core_cpus_list", "core_cpus")
_PACKAGE = ("package_cpus_list", "package_cpus")
_TOPOLOGY = (
    *_list_and_mask("core_cpus"),
    *_list_and_mask("thread_siblings", *_CORE),
    *_list_and_mask("package_cpus"),
    *_list_and_mask("core_siblings", *_PACKAGE),
    *_list_and_mask("die_cpus"),
    *_list_and_mask("cluster_cpus"),
    File("physical_package_id", contents.numbers),
    File("die_id", contents.numbers),
    File("cluster_id", contents.numbers),
)
_CACHE = (
    File("level", contents.numbers),
    File("size", contents.size),
    File("shared_cpu_list", contents.numbers),
    File("shared_cpu_map", contents.codes, ("shared_cpu_list",)),
)
CPUS: tuple[Entry, ...] = (
    *(File(name, contents.numbers) for name in ("online", "present", "possible", "offline")),
    File("isolated", contents.numbers),
    Folder(
        re.compile(r"cpu\d{1,5}"),
        (
            File("online", contents.numbers),
            File("cpu_capacity", contents.numbers),
            Folder("topology", _TOPOLOGY),
            Folder("cache", (Folder(re.compile(r"index\d{1,3}"), _CACHE),)),
        ),
    ),
)
KINDS: tuple[Entry, ...] = tuple(
    Folder(f"cpu_{kind}", (File("cpus", contents.numbers),))
    for kind in ("core", "atom", "lowpower")
)
HUGEPAGES: tuple[Entry, ...] = (
    Folder(
        re.compile(r"hugepages-\d{1,12}kB"),
        (File("nr_hugepages", contents.numbers), File("free_hugepages", contents.numbers)),
    ),
)
_NODE_NAME = re.compile(r"node\d{1,5}")
_INITIATORS = (Folder("initiators", (Mark(_NODE_NAME),)),)
NODES: tuple[Entry, ...] = (
    File("online", contents.numbers),
    File("possible", contents.numbers),
    Folder(
        _NODE_NAME,
        (
            File("cpulist", contents.numbers),
            File("cpumap", contents.codes),
            File("meminfo", contents.memory),
            File("distance", contents.numbers),
            File("numastat", contents.foreign),
            Folder("hugepages", HUGEPAGES),
            Folder("access0", _INITIATORS),
            Folder("access1", _INITIATORS),
            Mark(re.compile(r"cpu\d{1,5}"), unless=("cpulist", "cpumap")),
        ),
    ),
)
_NAMES = (Mark(_ANY, words.interface),)
PCI: tuple[Entry, ...] = (
    *(File(name, contents.codes) for name in ("class", "vendor", "device")),
    File("numa_node", contents.numbers),
    File("local_cpulist", contents.numbers),
    File("local_cpus", contents.codes, ("local_cpulist",)),
    Link("driver", words.driver),
    Link("physfn", lambda names, name: name if words.is_address(name) else names.word(name)),
    Folder("net", _NAMES),
    Folder("infiniband", _NAMES),
    Folder(re.compile(r"virtio\d{1,5}"), (Folder("net", _NAMES),)),
)
GPUS: tuple[Entry, ...] = (
    Folder(
        re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"),
        (File("numa_status", contents.gpu_node),),
    ),
)
GPU_MODULE: tuple[Entry, ...] = (File("version", contents.driver_version),)
CONTROLLERS: tuple[File, ...] = (File("cgroup.controllers", contents.controllers),)
"""What tells at the top of a hierarchy that it is v2."""
SETS: tuple[File, ...] = (
    *(File(f"cpuset.{name}", contents.numbers) for name in ("cpus", "mems")),
    *(File(f"cpuset.{name}.effective", contents.numbers) for name in ("cpus", "mems")),
    *(File(f"cpuset.effective_{name}", contents.numbers) for name in ("cpus", "mems")),
    *(File(name, contents.numbers) for name in ("cpus", "mems")),
    *(File(f"effective_{name}", contents.numbers) for name in ("cpus", "mems")),
)
"""A cgroup's sets, under the names of v2, v1 and v1 mounted with `noprefix`."""
POPULATED: tuple[File, ...] = (
    File("cgroup.procs", contents.numbers),
    File("cgroup.events", contents.populated),
)
"""What tells whether a process is in a cgroup."""
POD: tuple[File, ...] = (
    *(File(name, contents.numbers) for name in ("cgroup.threads", "tasks")),
    File("memory.current", contents.numbers),
    *(File(name, contents.numa_stat) for name in ("memory.numa_stat", *HUGETLB_FILES)),
    File("cpu.max", contents.quota),
)
"""What else is read of a pod's cgroup and of those in it."""
QUOTA: tuple[File, ...] = tuple(
    File(f"cpu.cfs_{name}_us", contents.numbers) for name in ("quota", "period")
)
"""Those of v1's cpu controller."""
ACCOUNT: tuple[File, ...] = (File("memory.numa_stat", contents.numa_stat),)
"""That of v1's memory controller."""
ALLOWED_DEVICES: tuple[File, ...] = (File("devices.list", contents.devices),)
"""That of v1's devices controller."""
TASK_COUNT: tuple[File, ...] = (File("pids.current", contents.numbers),)
"""That of v1's pids controller."""


def is_sound(data: bytes) -> bool:
    """Whether a list's or mask's bytes are one that can be read."""
    # Old kernels left a NUL behind the newline.
    data = data.rstrip(b"\0")
    if data[-1:] != b"\n":
        return False
    text = data[:-1].decode("ascii", "replace")
    for parse in (cpulist.parse, cpulist.parse_mask):
        try:
            parse(text)
        except ValueError:
            continue
        return True
    return False
