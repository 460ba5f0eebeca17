"""A server on loopback for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http import HTTPStatus

import pytest

from numa_agent.serve.answer import Answer, lines
from numa_agent.serve.certificates import Certificates
from numa_agent.serve.listening import listen
from numa_agent.serve.request import Request
from numa_agent.serve.server import Server

Handle = Callable[[Request], Answer]
Start = Callable[..., Server]

SLOW_SECONDS = 60.0
"""The patience with clients that are well-behaved: a busy computer makes them slow."""
HASTY_SECONDS = 2.0
"""With those that are to be sent off."""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:

        def started(
            handle: Handle, certificates: Certificates | None = None, seconds: float = SLOW_SECONDS
        ) -> Server:
            server = Server(listen("127.0.0.1", 0), handle, certificates, seconds)
            server.start()
            stack.callback(server.close)
            return server

        yield started


@pytest.fixture
def echo(start: Start) -> Server:
    """A server that says the path that it was asked for."""
    return start(_path)


@pytest.fixture
def hasty(start: Start) -> Server:
    """The same with little patience."""
    return start(_path, None, HASTY_SECONDS)


def _path(request: Request) -> Answer:
    return lines(HTTPStatus.OK, [request.path])
