"""What of a small kernel file's bytes comes into a recording: one function a form.

A file of numbers keeps its numbers; of one with many lines those are kept that are read. Where a
file holds something else, each byte of that is an `x`, so that it is as damaged as it was.
"""

import re
from collections.abc import Callable, Iterable

from numa_agent.core.recording import words
from numa_agent.core.recording.groups import CONTROLLERS
from numa_agent.core.recording.pseudonyms import Names

Content = Callable[[Names, bytes], bytes]

_BLANK = b" \t\n\0"
_LIST = b"0123456789,-:/" + _BLANK
_HEX = _LIST + b"abcdefABCDEFx"
_MEMORY = re.compile(
    rb"(?:Node \d{1,5} )?(?:MemTotal|MemFree|FilePages|Shmem|Dirty|Writeback|SReclaimable)"
    rb":\s+\d{1,15} kB"
)
_CPU = re.compile(rb"(?:processor|siblings|cpu cores)\s*: \d{1,6}")
_CALLED = re.compile(rb"(model name|cpu|vendor_id)([ \t]*:[ \t]*)(\S.*)", re.IGNORECASE)
_FIRST_CPU = 16_384
"""Bytes in which the first CPU's lines are looked for."""
_ALLOWED = re.compile(rb"(?:Cpus|Mems)_allowed_list:[ \t]*[0-9,-]*")
_NAMESPACES = re.compile(rb"NSpid:[ \t]*[0-9 \t]*")
_GPU_NODE = re.compile(rb"Node:\s+\d{1,5}")
_POPULATED = re.compile(rb"populated [01]")
_NUMA_STAT = re.compile(
    rb"[a-z_]{1,30}(?:=\d{1,20})?(?: N\d{1,6}=\d{1,20})+"  # v2's rows, and v1's with their sum
)
_FOREIGN = re.compile(rb"numa_foreign \d{1,19}")
_DEVICE = re.compile(rb"c 195:\d{1,3} [rwm]+")
_PAGES = re.compile(rb"(?:N\d{1,6}|anon|dirty|kernelpagesize_kB)=\d{1,15}")
_HUGE = b"huge"
_SHARED = re.compile(rb"file=(/dev/shm/|/memfd:|/SYSV|/dev/zero|\[anon)")
_MODULE = re.compile(
    rb"^NVRM version: (?:NVIDIA UNIX )?.*?Kernel Module.*?\s(\d{1,4}(?:\.\d{1,4}){1,3})\s",
    re.MULTILINE,
)


def _masked(allowed: bytes, names: Names, data: bytes) -> bytes:
    if names.keep or not data.translate(None, allowed):
        return data
    table = bytes(
        each if each in allowed else 0xFF if each > 127 else ord("x") for each in range(256)
    )
    return data.translate(table)


def numbers(names: Names, data: bytes) -> bytes:
    """Numbers, lists of CPUs and nodes."""
    return _masked(_LIST, names, data)


def codes(names: Names, data: bytes) -> bytes:
    """Masks, PCI codes."""
    return _masked(_HEX, names, data)


def size(names: Names, data: bytes) -> bytes:
    """A cache's size."""
    return _masked(_LIST + b"KMG", names, data)


def quota(names: Names, data: bytes) -> bytes:
    """cpu.max: two numbers, or `max` and one."""
    if data[:4] == b"max ":
        return data[:4] + numbers(names, data[4:])
    return numbers(names, data)


def lines(data: bytes, kept: Iterable[bytes | None]) -> bytes:
    """The lines that are kept; whether the last one is whole stays as it is."""
    found = [line for line in kept if line is not None]
    if not found:
        return b"x\n" if data else b""
    ended = data[-1:] == b"\n"
    return b"\n".join(found) + (b"\n" if ended else b"")


def _matching(pattern: re.Pattern[bytes]) -> Content:
    def reduce(_: Names, data: bytes) -> bytes:
        return lines(data, (each for each in data.split(b"\n") if pattern.fullmatch(each)))

    return reduce


memory = _matching(_MEMORY)
allowed = _matching(_ALLOWED)
namespaces = _matching(_NAMESPACES)
gpu_node = _matching(_GPU_NODE)
populated = _matching(_POPULATED)
numa_stat = _matching(_NUMA_STAT)
foreign = _matching(_FOREIGN)
devices = _matching(_DEVICE)


def numa_maps(_: Names, data: bytes) -> bytes:
    """A process's mappings: the pages of each by node, whether they are hugetlbfs', and whether a
    file's name is a disk's."""
    return lines(data, (_mapping(line) for line in data.split(b"\n")))


def _mapping(line: bytes) -> bytes | None:
    fields = line.split(b" ")
    kept = [field for field in fields if _PAGES.fullmatch(field)]
    if not kept:
        return None
    files = [field for field in fields if field.startswith(b"file=")]
    shared = [match[0] for field in files if (match := _SHARED.match(field))]
    huge = [_HUGE] if _HUGE in fields else []
    return b" ".join([b"0 default", *(shared or [b"file=/"] if files else []), *huge, *kept])


def cpu_info(names: Names, data: bytes) -> bytes:
    """/proc/cpuinfo: which CPUs share a package, and what the first one is called."""
    kept: list[bytes | None] = []
    called: set[bytes] = set()
    position = 0
    for line in data.split(b"\n"):
        position += len(line) + 1
        match = _CALLED.fullmatch(line) if position <= _FIRST_CPU else None
        if match is not None:
            what = b"vendor" if match[1] == b"vendor_id" else b"model"
            if what not in called and (what == b"model" or match[1] == b"vendor_id"):
                called.add(what)
                name = words.product(names, match[3].decode(errors="replace"))
                kept.append(match[1] + match[2] + name.encode())
            continue
        kept.append(line if not line or _CPU.fullmatch(line) else None)
    while kept and not kept[-1]:
        kept.pop()
    return lines(data, kept)


def controllers(_: Names, data: bytes) -> bytes:
    """cgroup.controllers: the kernel's own words."""
    found = data.decode("ascii", "replace").split()
    return " ".join(each for each in found if each in CONTROLLERS).encode() + b"\n"


def driver_version(_: Names, data: bytes) -> bytes:
    """The NVIDIA module's version, without who built it and where."""
    found = _MODULE.search(data)
    if found is None:
        return b"x\n" if data else b""
    return b"NVRM version: NVIDIA UNIX Kernel Module  " + found[1] + b"  \n"


def boot_id(names: Names, data: bytes) -> bytes:
    """The id drawn at boot."""
    text = data.decode("ascii", "replace").strip()
    return (words.uuid(names, text) if text else "").encode() + b"\n"


def namespaces_of(data: bytes) -> int:
    """In how many PID namespaces a process is by its status, 1 where that isn't told."""
    match = re.search(rb"^NSpid:[ \t]*([0-9 \t]*)$", data, re.MULTILINE)
    return 1 if match is None else len(match[1].split())
