"""One answer of a gRPC server: what came of it, and the message or the fault that it is.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from urllib.parse import unquote

PREFIX = 5
"""The bytes before a message: whether it is compressed, and its length in 4 bytes."""
_LONGEST_SAID = 300


class Status(IntEnum):
    """The gRPC status codes: https://grpc.io/docs/guides/status-codes/."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class StatusError(Exception):
    """The server answered, with a status that isn't OK and its own words."""

    def __init__(self, status: Status, message: str) -> None:
        """Take the status and the server's message."""
        super().__init__(f"{status.name}: {message}" if message else status.name)
        self.status = status
        self.message = message


class BrokenError(Exception):
    """The connection ended, or what came isn't a gRPC answer; the message says which."""


class TooLargeError(Exception):
    """The answer is longer than the limit."""


@dataclass(slots=True)
class Answer:
    """What has come of one answer so far; `limit` is the most bytes that its message may have."""

    limit: int
    headers: dict[str, str] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False

    def add_headers(self, headers: Iterable[tuple[bytes | str, bytes | str]]) -> None:
        """Take headers or trailers; these come last, and what they say counts."""
        self.headers |= {_text(name): _text(value) for name, value in headers}

    def add_data(self, data: bytes) -> None:
        """Take some bytes. Raises TooLargeError once the message is, or says it is, too long."""
        self.data += data
        longest = max(self._announced(), len(self.data) - PREFIX)
        if longest > self.limit:
            raise TooLargeError(f"its answer has {longest} bytes, more than {self.limit}")

    def message(self) -> bytes:
        """The one message, when all that came says that all went well.

        Raises StatusError or BrokenError.
        """
        if self.headers.get(":status") != "200":
            raise BrokenError(
                f"what answers isn't gRPC: HTTP status {self.headers.get(':status')}"
            )
        status = _status(self.headers.get("grpc-status"))
        if status is not Status.OK:
            said = unquote(self.headers.get("grpc-message", ""), errors="replace")
            raise StatusError(status, said[:_LONGEST_SAID])
        compressed = self.data[:1] != b"\0"
        if compressed or self._announced() != len(self.data) - PREFIX:
            raise BrokenError("its answer isn't one message without compression")
        return bytes(self.data[PREFIX:])

    def _announced(self) -> int:
        """The length that the message says it has."""
        return int.from_bytes(self.data[1:PREFIX], "big") if len(self.data) >= PREFIX else 0


def _text(header: bytes | str) -> str:
    return header if isinstance(header, str) else header.decode("latin-1")


def _status(text: str | None) -> Status:
    try:
        return Status(int(text or ""))
    except ValueError as error:
        raise BrokenError(f"what answers isn't gRPC: its grpc-status is {text!r:.60}") from error
