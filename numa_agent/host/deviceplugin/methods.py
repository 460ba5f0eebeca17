"""What a small gRPC server offers: methods that answer once, and states that are followed.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from numa_agent.host.podresources.answer import PREFIX, Status

MOST_BYTES = 1 << 20
"""The longest request: kubelet's names a few dozen cards."""


class RefusedError(Exception):
    """A request that is answered with a status other than OK; the message goes to the caller."""

    def __init__(self, status: Status, message: str) -> None:
        """Take the status and what is wrong."""
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """By path, such as `/v1beta1.DevicePlugin/Allocate`; requests and answers are messages' bytes.

    A method of `once` may raise RefusedError. One of `states` gives what holds now: whoever calls
    it is sent that, and again whenever it is another.
    """

    once: Mapping[str, Callable[[bytes], bytes]]
    states: Mapping[str, Callable[[], bytes]]

    def answer(self, path: str, body: bytes) -> bytes:
        """The answer's message to a request's body. Raises RefusedError."""
        message = unframed(body)
        if path in self.states:
            return self.states[path]()
        return self.once[path](message)


def framed(message: bytes) -> bytes:
    """A message as it goes over the wire, uncompressed."""
    return b"\0" + len(message).to_bytes(PREFIX - 1, "big") + message


def unframed(body: bytes) -> bytes:
    """The one message of a request. Raises RefusedError."""
    if body[:1] not in (b"\0", b""):
        raise RefusedError(Status.UNIMPLEMENTED, "compressed requests aren't understood")
    if len(body) < PREFIX or int.from_bytes(body[1:PREFIX], "big") != len(body) - PREFIX:
        raise RefusedError(Status.INVALID_ARGUMENT, "the request isn't one message")
    return body[PREFIX:]


def trailers(status: Status, message: str = "") -> list[tuple[str, str]]:
    """What ends an answer."""
    found = [("grpc-status", str(int(status)))]
    if message:
        # Percent-encoded, as the protocol has it.
        found.append(("grpc-message", quote(message, safe=" !#$&'()*+,/:;=?@[]")))
    return found
