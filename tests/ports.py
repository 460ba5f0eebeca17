"""Ports of loopback for programs that must be told theirs before they listen."""

import random
import socket
from contextlib import suppress
from pathlib import Path

FIRST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_CHANCE = random.SystemRandom()
_GIVEN: set[int] = set()


def free_port() -> int:
    """One where nobody listens now, and that this process was given once.

    It's below those that the kernel gives to whoever asks for any: such a one may be somebody's
    before the program listens, or while a server that is to come back is away.
    """
    last = int(_RANGE.read_text().split()[0]) - 1
    for _ in range(1000):
        port = _CHANCE.randint(FIRST, last) if last > FIRST + 1000 else 0
        with suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            found: int = free.getsockname()[1]
            if found not in _GIVEN:
                _GIVEN.add(found)
                return found
    raise RuntimeError("no port of loopback is free")


def free_address() -> str:
    """The same, as an address."""
    return f"127.0.0.1:{free_port()}"
