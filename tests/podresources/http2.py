"""An HTTP/2 server's side by hand, to answer what no gRPC library would."""

import socket
from collections.abc import Callable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamEnded

Headers = list[tuple[str, str]]
Reply = Callable[[H2Connection, int], None]

STARTED: Headers = [(":status", "200"), ("content-type", "application/grpc")]


def replying(reply: Reply) -> Callable[[socket.socket], None]:
    """What answers each request of a connection with `reply`, until the client closes it."""

    def serve(connection: socket.socket) -> None:
        http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        http.initiate_connection()
        while received := connection.recv(65536):
            for event in http.receive_data(received):
                if isinstance(event, StreamEnded):
                    reply(http, event.stream_id)
            connection.sendall(http.data_to_send())

    return serve


def message(content: bytes, *, compressed: bool = False, length: int | None = None) -> bytes:
    """A message with its prefix; `length` is the one that it claims."""
    claimed = len(content) if length is None else length
    return bytes([compressed]) + claimed.to_bytes(4, "big") + content


def answer(data: bytes, trailers: Headers) -> Reply:
    """An answer with these bytes and trailers."""

    def reply(http: H2Connection, stream: int) -> None:
        http.send_headers(stream, STARTED)
        http.send_data(stream, data)
        http.send_headers(stream, trailers, end_stream=True)

    return reply


def only(headers: Headers) -> Reply:
    """An answer that ends with its headers."""
    return lambda http, stream: http.send_headers(stream, headers, end_stream=True)


def conversation(reply: Reply) -> bytes:
    """All that a server sends to a client that makes one call, as one text of bytes."""
    client = H2Connection(H2Configuration(client_side=True))
    server = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    client.initiate_connection()
    server.initiate_connection()
    request = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "x")]
    client.send_headers(1, request, end_stream=True)
    events = server.receive_data(client.data_to_send())
    assert any(isinstance(event, RequestReceived) for event in events)
    reply(server, 1)
    return server.data_to_send()
