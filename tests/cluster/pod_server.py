"""A scripted API server for one node's pods: real sockets, real HTTP, and answers none would give.

Each connection carries one request. The script says in order what is done with each; once it is
at its end, every further request is refused with 500.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
UID = "00000000-0000-4000-8000-{:012d}"


def pod(number: int, version: int = 1, **changes: Any) -> Json:
    """A running pod; `changes` are those of its metadata."""
    container = {
        "name": "main",
        "containerID": f"containerd://{number:064x}",
        "state": {"running": {}},
    }
    return {
        "metadata": {
            "namespace": "default",
            "name": f"p{number}",
            "uid": UID.format(number),
            "resourceVersion": str(version),
            **changes,
        },
        "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [container],
        },
    }


def pod_list(version: object, *pods: Json) -> Json:
    metadata = {"resourceVersion": str(version)}
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(pods)}


def event(kind: str, item: Json) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    metadata = {"resourceVersion": str(version)}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def status(code: int, **details: Any) -> Json:
    found = {"kind": "Status", "status": "Failure", "code": code, "message": f"said {code}"}
    return {**found, "details": details}


class Talk:
    """One connection, whose request has been read."""

    def __init__(self, connection: socket.socket, over: threading.Event, asked: str) -> None:
        self._connection = connection
        self.over = over
        self.asked = asked

    def raw(self, data: bytes) -> None:
        self._connection.sendall(data)

    def answer(self, code: int, content: Json | bytes, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        fields = {"Content-Length": str(len(body)), "Connection": "close", **headers}
        named = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in fields.items())
        self.raw(f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n{named}\r\n".encode() + body)

    def open(self) -> None:
        self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        self.raw(b"0\r\n\r\n")


Act = Callable[[Talk], None]


def listing(version: object, *pods: Json) -> Act:
    return lambda talk: talk.answer(200, pod_list(version, *pods))


def refusing(code: int, **headers: str) -> Act:
    return lambda talk: talk.answer(code, status(code), **headers)


def watching(*chunks: bytes, stay: float = 0.0, clean: bool = False) -> Act:
    """Send chunks, keep the stream open for some seconds, and end it cleanly or break it."""

    def act(talk: Talk) -> None:
        talk.open()
        for chunk in chunks:
            talk.chunk(chunk)
        talk.over.wait(stay)
        if clean:
            talk.end()

    return act


def silence(talk: Talk) -> None:
    """Say nothing at all for as long as the test lasts."""
    talk.over.wait(STAY)


def hang_up(talk: Talk) -> None:
    """Close the connection without a word."""


def well(version: object, *pods: Json) -> Act:
    """Answer whatever is asked, with a stream that stays open where that is a watch."""
    listed, watched = listing(version, *pods), watching(stay=STAY)
    return lambda talk: (watched if talk.asked == "watch" else listed)(talk)


STAY = 120.0
"""Longer than any test lasts: a stream that stays open."""


@dataclass(kw_only=True)
class PodServer:
    """`asked` are the verbs in their order, `versions` what watches began from.

    What is `asked` is there last.
    """

    url: str = ""
    script: list[Act] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def note(self, head: str) -> str:
        """Write a request down; its verb."""
        query = parse_qs(urlsplit(head.split(" ")[1]).query)
        if query.get("watch"):
            self.versions += query["resourceVersion"]
        for line in head.split("\r\n"):
            if line.startswith("Authorization: "):
                self.tokens.append(line.removeprefix("Authorization: "))
        probe = query["fieldSelector"][0].startswith("metadata.name")
        verb = "compare" if probe else "watch" if query.get("watch") else "list"
        self.asked.append(verb)
        return verb


@contextmanager
def pod_server(*script: Act) -> Iterator[PodServer]:
    """Serve until the block ends, each connection in a thread of its own."""
    over = threading.Event()
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        state = PodServer(url=f"http://127.0.0.1:{port}", script=list(script))

        def serve(connection: socket.socket) -> None:
            with closing(connection), suppress(OSError):
                head = connection.recv(65536).decode()
                if not head:
                    return
                act = state.script.pop(0) if state.script else refusing(500)
                act(Talk(connection, over, state.note(head)))

        def accept() -> None:
            while not over.is_set():
                with suppress(OSError):
                    connection, _ = listener.accept()
                    if over.is_set():
                        connection.close()
                        return
                    threads.append(threading.Thread(target=serve, args=(connection,)))
                    threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield state
        finally:
            over.set()
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
            for thread in (acceptor, *threads):
                thread.join(5)
