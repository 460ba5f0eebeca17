"""The body of an answer that comes bit by bit, bounded in length and time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3
from urllib3 import exceptions as transport

from numa_agent.cluster.transport import translated
from numa_agent.core.errors import ApiError

MOST_LINE_BYTES = 10 * 1024 * 1024
"""etcd takes objects of 1.5 MiB, which JSON may write six times as long (a < as \\u003c)."""

MOST_BODY_BYTES = 1024 * 1024
"""Of an answer that is no list."""

_AT_ONCE = 64 * 1024


class SilentError(ApiError):
    """Nothing came for a long while on a stream that is open."""


class OverlongError(ApiError):
    """More came than such an answer can hold."""


def lines(
    answer: urllib3.BaseHTTPResponse, what: str, url: str, silence: float
) -> Iterator[bytes]:
    """The lines of a stream as they come; it ends with the server's word that it ends.

    Raises SilentError when none came for `silence` seconds, OverlongError beyond MOST_LINE_BYTES,
    and ApiError where the stream breaks, in the middle of a line too.
    """
    parts: list[bytes] = []
    size, last = 0, time.monotonic()
    with _patient(what, url, silence):
        while data := _part(answer, what, url):
            *whole, rest = data.split(b"\n")
            for end in whole:
                yield b"".join((*parts, end))
                parts, size, last = [], 0, time.monotonic()
            parts.append(rest)
            size += len(rest)
            if size > MOST_LINE_BYTES:
                raise OverlongError(f"can't {what} at {url}: a line is over {MOST_LINE_BYTES} B")
            if time.monotonic() - last > silence:
                raise _silent(what, url, silence)
    if size:
        raise ApiError(f"can't {what} at {url}: the stream ended within a line")


def body(answer: urllib3.BaseHTTPResponse, what: str, url: str, seconds: float) -> bytearray:
    """All of an answer. Raises ApiError where it breaks, is too long, or lasts too long."""
    found = bytearray()
    for data in parts(answer, what, url, seconds):
        found += data
        if len(found) > MOST_BODY_BYTES:
            raise OverlongError(f"can't {what} at {url}: more than {MOST_BODY_BYTES} B")
    return found


def parts(
    answer: urllib3.BaseHTTPResponse, what: str, url: str, seconds: float
) -> Iterator[bytes]:
    """An answer as it comes. Raises ApiError where it breaks or lasts too long."""
    deadline = time.monotonic() + seconds
    while data := _part(answer, what, url):
        yield data
        if time.monotonic() > deadline:
            raise ApiError(f"can't {what} at {url}: no end of the answer after {seconds:.0f} s")


def _part(answer: urllib3.BaseHTTPResponse, what: str, url: str) -> bytes:
    """What has come, waiting for a first byte; empty at the end."""
    with translated(what, url, "the connection broke"):
        return answer.read1(_AT_ONCE, decode_content=False) or b""


@contextmanager
def _patient(what: str, url: str, silence: float) -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        if isinstance(error.__cause__, transport.ReadTimeoutError):
            raise _silent(what, url, silence) from error
        raise


def _silent(what: str, url: str, silence: float) -> SilentError:
    return SilentError(f"can't {what} at {url}: nothing came for {silence:.0f} s")
