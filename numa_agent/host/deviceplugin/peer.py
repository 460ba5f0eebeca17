"""One caller of the gRPC server: an HTTP/2 connection whose reads and writes never wait."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error, StreamClosedError

from numa_agent.host.deviceplugin.methods import (
    MOST_BYTES,
    Methods,
    RefusedError,
    framed,
    trailers,
)
from numa_agent.host.podresources.answer import Status

_CHUNK = 65536
_MOST_UNSENT = 4 << 20
"""A caller that doesn't read what it asks for is given up."""

_GRPC = "application/grpc"
_HEADERS = [(":status", "200"), ("content-type", _GRPC)]


@dataclass(slots=True)
class _Stream:
    """One call: its request so far, what of the answer isn't sent, and the state last sent."""

    path: str
    request: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)
    told: bytes | None = None
    following: bool = False
    done: bool = False


class Peer:
    """A connected caller. `closed` says that nothing more comes of it."""

    def __init__(self, connected: socket.socket, methods: Methods) -> None:
        """Take a socket that doesn't block."""
        self.closed = False
        self._socket = connected
        self._methods = methods
        self._streams: dict[int, _Stream] = {}
        self._unsent = bytearray()
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self._http.initiate_connection()
        self.flush()

    @property
    def wants_to_write(self) -> bool:
        """Whether something waits for the socket."""
        return bool(self._unsent)

    @property
    def following(self) -> bool:
        """Whether a call of it follows a state."""
        return any(stream.following for stream in self._streams.values())

    def read(self) -> None:
        """Take in what came, and answer it."""
        try:
            received = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self.close()
            return
        try:
            self._take(self._http.receive_data(received))
        except H2Error:
            # It isn't HTTP/2, and h2 has what is to be said about it.
            self.flush()
            self.close()
            return
        self.tell()

    def tell(self) -> None:
        """Send what is new of each state that is followed, as far as the caller lets us."""
        if self.closed:
            return
        for number, stream in [*self._streams.items()]:
            # The rest of the last one first: what is new may have waited for it.
            self._pump(number, stream)
            if stream.following and not stream.unsent:
                state = self._methods.states[stream.path]()
                if state != stream.told:
                    stream.told = state
                    stream.unsent += framed(state)
                    self._pump(number, stream)
        self.flush()

    def flush(self) -> None:
        """Write as much as the socket takes."""
        self._unsent += self._http.data_to_send()
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            if len(self._unsent) > _MOST_UNSENT:
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        """Let go of it."""
        self.closed = True
        self._streams.clear()
        self._unsent.clear()
        self._socket.close()

    def goodbye(self) -> None:
        """Say that the server ends, and let go."""
        if not self.closed:
            with suppress(H2Error):
                self._http.close_connection()
            self.flush()
            self.close()

    def _take(self, events: Sequence[Event]) -> None:
        # A call that its caller broke off in the same breath has nobody to be answered to.
        broken = {event.stream_id for event in events if isinstance(event, StreamReset)}
        for event in events:
            if isinstance(event, ConnectionTerminated):
                self.close()
                return
            if getattr(event, "stream_id", None) not in broken:
                self._take_one(event)
        for number in broken:
            self._streams.pop(number or 0, None)

    def _take_one(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=number, headers=headers):
                self._begin(number, {str(k): str(v) for k, v in headers or ()})
            case DataReceived(stream_id=number, data=data, flow_controlled_length=length):
                self._add(number, data or b"", length or 0)
            case StreamEnded(stream_id=number):
                self._answer(number)

    def _begin(self, number: int, headers: dict[str, str]) -> None:
        path = headers.get(":path", "")
        if not headers.get("content-type", "").startswith(_GRPC):
            self._http.send_headers(number, [(":status", "415")], end_stream=True)
        elif path not in {*self._methods.once, *self._methods.states}:
            self._refuse(number, Status.UNIMPLEMENTED, f"{path!r:.100} isn't a method here")
        else:
            self._streams[number] = _Stream(path)

    def _add(self, number: int, data: bytes, length: int) -> None:
        if length:
            # What is refused counts too, or the whole connection would stand still.
            self._http.acknowledge_received_data(length, number)
        stream = self._streams.get(number)
        if stream is None:
            return
        stream.request += data
        if len(stream.request) > MOST_BYTES:
            del self._streams[number]
            self._refuse(number, Status.RESOURCE_EXHAUSTED, f"more than {MOST_BYTES} bytes")

    def _answer(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        try:
            answer = self._methods.answer(stream.path, bytes(stream.request))
        except RefusedError as refusal:
            del self._streams[number]
            self._refuse(number, refusal.status, refusal.message)
            return
        except Exception as error:
            # One call's: the process has other pods to look after.
            del self._streams[number]
            self._refuse(number, Status.INTERNAL, f"a fault of numa-agent's: {error!r:.200}")
            return
        stream.request.clear()
        stream.following = stream.path in self._methods.states
        stream.done = not stream.following
        stream.told = answer
        stream.unsent += framed(answer)
        self._http.send_headers(number, _HEADERS)
        self._pump(number, stream)

    def _refuse(self, number: int, status: Status, message: str) -> None:
        said = [*_HEADERS, *trailers(status, message)]
        self._http.send_headers(number, said, end_stream=True)

    def _pump(self, number: int, stream: _Stream) -> None:
        """Send as much of an answer as the caller's windows let through, and its end."""
        try:
            while stream.unsent:
                window = self._http.local_flow_control_window(number)
                room = min(window, self._http.max_outbound_frame_size)
                if room <= 0:
                    return
                self._http.send_data(number, bytes(stream.unsent[:room]))
                del stream.unsent[:room]
            if stream.done:
                self._http.send_headers(number, trailers(Status.OK), end_stream=True)
                self._streams.pop(number, None)
        except StreamClosedError:
            # Its end is among the events that come next.
            self._streams.pop(number, None)
