"""Unary gRPC calls over HTTP/2 on a unix socket: one request, one answer, in the caller's thread.

https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

import socket
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from numa_agent.host.podresources.answer import PREFIX, Answer, BrokenError

_CHUNK = 65536
_CONTENT_TYPE = "application/grpc"


class Connection:
    """One HTTP/2 connection to a gRPC server on a unix socket; use it in a `with` block.

    All of its calls together end at `deadline`, a time.monotonic(), and no answer may be longer
    than `limit` bytes. Raises OSError where it can't connect.
    """

    def __init__(self, path: Path, *, deadline: float, limit: int) -> None:
        """Connect, and greet the server."""
        self._deadline = deadline
        self._limit = limit
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(self.left())
            self._socket.connect(str(path))
        except BaseException:
            self._socket.close()
            raise
        self._http.local_settings = Settings(
            client=True, initial_values={SettingCodes.ENABLE_PUSH: 0}
        )
        self._http.initiate_connection()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def left(self) -> float:
        """The seconds left, more than none. Raises TimeoutError when they are over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no time is left")
        return left

    def call(self, method: str, request: bytes) -> bytes:
        """The answer's message. Raises StatusError, BrokenError, TooLargeError or TimeoutError.

        `method` is the service's full name and the method's, `/v1.PodResourcesLister/List`.
        """
        try:
            answer = self._exchange(method, request)
        except TimeoutError as error:
            raise TimeoutError(f"no whole answer to {method} in time") from error
        except OSError as error:
            raise BrokenError(f"the connection broke: {error}") from error
        except H2Error as error:
            fault = f"{type(error).__name__}: {error}"
            raise BrokenError(f"what answers doesn't speak HTTP/2: {fault}") from error
        return answer.message()

    def _exchange(self, method: str, request: bytes) -> Answer:
        stream = self._http.get_next_available_stream_id()
        self._http.send_headers(stream, self._request_headers(method))
        self._http.send_data(stream, _framed(request), end_stream=True)
        answer = Answer(limit=self._limit)
        while not answer.ended:
            self._flush()
            self._socket.settimeout(self.left())
            received = self._socket.recv(_CHUNK)
            if not received:
                raise BrokenError("the server closed the connection before its answer was whole")
            self._take(answer, stream, self._http.receive_data(received))
        return answer

    def _flush(self) -> None:
        if pending := self._http.data_to_send():
            self._socket.settimeout(self.left())
            self._socket.sendall(pending)

    def _take(self, answer: Answer, stream: int, events: Iterable[Event]) -> None:
        for event in events:
            if answer.ended:
                return
            if isinstance(event, ConnectionTerminated):
                raise BrokenError("the server ended the connection, as it does when it stops")
            if getattr(event, "stream_id", None) != stream:
                continue
            match event:
                case ResponseReceived(headers=headers) | TrailersReceived(headers=headers):
                    answer.add_headers(headers or ())
                case DataReceived(data=data, flow_controlled_length=length):
                    answer.add_data(data or b"")
                    if length:
                        self._http.acknowledge_received_data(length, stream)
                case StreamEnded():
                    answer.ended = True
                case StreamReset(error_code=code):
                    raise BrokenError(f"the server broke the answer off (HTTP/2 error {code})")

    def _request_headers(self, method: str) -> list[tuple[str, str]]:
        return [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", method),
            # A unix socket has no host, and servers refuse a path here.
            (":authority", "localhost"),
            ("te", "trailers"),
            ("content-type", _CONTENT_TYPE),
            ("grpc-accept-encoding", "identity"),
            ("grpc-timeout", f"{max(1, int(self.left() * 1000))}m"),
        ]


def _framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(PREFIX - 1, "big") + message
