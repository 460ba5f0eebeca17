"""Processes with planted faults: in a cgroup of one's choice, with memory where one wants it.

They are forked by a process that is itself forked before there is any thread.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEFAULT, BIND, INTERLEAVE = 0, 2, 3
"""Policies of set_mempolicy(2)."""

_SET_MEMPOLICY = 238
"""The system call's number on x86-64."""

_PAGE = 4096
_MAP_HUGETLB = 0x40000
_LIMIT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A process in the cgroups of these folders: its policy and the nodes of that, CPUs, MiB.

    `huge` says that its memory is hugepages of 2 MiB, of which the nodes must have enough.
    """

    groups: tuple[str, ...]
    policy: int = DEFAULT
    nodes: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()
    mib: int = 0
    huge: bool = False


class Nursery:
    """The process that forks the others."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._children: list[int] = []

    def plant(self, **members: object) -> int:
        """Start a process and wait until it has all that it shall have; its pid."""
        self._channel.sendall(json.dumps(members).encode() + b"\n")
        pid = int(self._channel.recv(64))
        self._children.append(pid)
        return pid

    def uproot(self) -> None:
        """End all of them, and wait until they have gone."""
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _LIMIT
        while any(_runs(pid) for pid in self._children) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._children.clear()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A nursery until the end of the block."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        _serve(theirs)
        os._exit(0)
    theirs.close()
    ours.settimeout(_LIMIT)
    found = Nursery(ours)
    try:
        yield found
    finally:
        found.uproot()
        ours.close()
        os.waitpid(pid, 0)


def _serve(channel: socket.socket) -> None:
    for line in channel.makefile("r"):
        asked = json.loads(line)
        ready_read, ready_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ready_read)
            _grow(Plant(**asked), ready_write)
        os.close(ready_write)
        os.read(ready_read, 1)
        os.close(ready_read)
        channel.sendall(str(pid).encode())


def _grow(plant: Plant, ready: int) -> None:
    try:
        for group in plant.groups:
            (Path(group) / "cgroup.procs").write_text(str(os.getpid()))
        _set_policy(plant)
        if plant.cpus:
            os.sched_setaffinity(0, plant.cpus)
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_MAP_HUGETLB if plant.huge else 0)
        kept = mmap.mmap(-1, max(plant.mib << 20, _PAGE), kind)
        for at in range(0, plant.mib << 20, _PAGE):
            kept[at] = 1
        os.write(ready, b".")
        time.sleep(600)
    except OSError as error:
        print(f"{plant}: {error}", file=sys.stderr)
    finally:
        os._exit(1)


def _set_policy(plant: Plant) -> None:
    mask = ctypes.c_ulong(sum(1 << node for node in plant.nodes))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SET_MEMPOLICY, plant.policy, ctypes.byref(mask), 64) != 0:
        raise OSError(ctypes.get_errno(), "set_mempolicy")


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
