"""The server's manners, over real sockets: bounded in requests, time and size."""

import gzip
import resource
import select
import socket
import threading
import time
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.serve.answer import Answer, lines
from numa_agent.serve.listening import listen
from numa_agent.serve.places import MOST_AT_ONCE, MOST_OF_PEER, MOST_WAITING, PATIENCE_SECONDS
from numa_agent.serve.request import MOST_BYTES, Request
from numa_agent.serve.server import Server
from tests.serve.clients import connected, exchange, get, rest, status_of, wait_until
from tests.serve.conftest import HASTY_SECONDS, SLOW_SECONDS, Start

EARLIEST = 0.9 * HASTY_SECONDS
"""Nobody is sent off before."""


def _peers(count: int) -> list[str]:
    """Addresses of loopback for so many clients, none of which has more than its share."""
    return [f"127.0.0.{1 + number // 2}" for number in range(count)]


def request_threads() -> int:
    return sum(thread.name == "request" for thread in threading.enumerate())


def test_a_request_is_answered_and_the_connection_ends(echo: Server) -> None:
    reply = get(echo, "/a?b")
    assert (reply.status, reply.body) == (200, b"/a\n")
    assert reply.fields["connection"] == "close"
    assert reply.fields["content-length"] == "3"
    assert reply.fields["cache-control"] == "no-store"


def test_head_has_the_fields_of_get_without_the_body(echo: Server) -> None:
    answer = exchange(echo, b"HEAD /abc HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 5\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_an_older_client_is_answered(echo: Server) -> None:
    assert status_of(exchange(echo, b"GET / HTTP/1.0\r\n\r\n")) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_get_and_head_are_answered(method: str, echo: Server) -> None:
    reply = get(echo, method=method)
    assert reply.status == 405
    assert reply.fields["allow"] == "GET, HEAD"


def test_a_body_that_nobody_reads_does_not_take_the_answer_away(echo: Server) -> None:
    data = b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60_000
    assert status_of(exchange(echo, data)) == 405


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\r\n\r\n",
        b"x" * 100 + b"\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
)
def test_what_is_no_request_is_a_bad_one(data: bytes, echo: Server) -> None:
    assert status_of(exchange(echo, data)) == 400


def test_a_head_that_stops_short_is_a_bad_one(echo: Server) -> None:
    with connected(echo) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: n")
        connection.shutdown(socket.SHUT_WR)
        assert status_of(rest(connection)) == 400


def test_a_head_without_an_end_is_cut_off(echo: Server) -> None:
    data = b"GET / HTTP/1.1\r\n" + b"".join(b"x-%d: y\r\n" % number for number in range(5000))
    assert len(data) > MOST_BYTES
    assert status_of(exchange(echo, data[: MOST_BYTES + 2000])) == 431


def test_a_head_that_comes_in_pieces_is_read(echo: Server) -> None:
    with connected(echo) as connection:
        for byte in b"GET /slowly HTTP/1.1\r\n\r\n":
            connection.sendall(bytes([byte]))
            time.sleep(0.002)
        assert rest(connection).endswith(b"/slowly\n")


def test_a_second_request_on_the_connection_is_not_answered(echo: Server) -> None:
    answer = exchange(echo, b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"/2" not in answer


def test_a_client_that_says_nothing_is_sent_off_without_a_word(hasty: Server) -> None:
    started = time.monotonic()
    with connected(hasty) as connection:
        assert rest(connection) == b""
    assert EARLIEST < time.monotonic() - started < 15


def test_a_client_that_drips_has_no_more_time_than_one_that_stops(hasty: Server) -> None:
    started = time.monotonic()
    with connected(hasty) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        answer = b""
        connection.settimeout(0.05)
        while not answer and time.monotonic() - started < 25:
            connection.sendall(b"x: y\r\n")
            try:
                answer = connection.recv(1000)
            except TimeoutError:
                continue
    assert status_of(answer) == 408
    assert time.monotonic() - started < 15


def test_a_client_that_does_not_read_is_sent_off(start: Start) -> None:
    asked = threading.Event()

    def handle(request: Request) -> Answer:
        asked.set()
        return Answer(body=b"x" * (20_000_000 if request.path == "/big" else 1))

    server = start(handle, None, HASTY_SECONDS)
    with connected(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        started = time.monotonic()
        connection.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        assert asked.wait(30)
        wait_until(lambda: request_threads() == 0)
        assert EARLIEST < time.monotonic() - started < 15
    assert get(server, "/").status == 200


def test_a_client_that_goes_away_costs_nobody_else(echo: Server) -> None:
    for _ in range(20):
        with connected(echo) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.sendall(b"GET / HT")
    assert get(echo, "/").status == 200


def test_so_many_are_answered_at_once_and_no_more(start: Start) -> None:
    gate, now, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def handle(_: Request) -> Answer:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        gate.wait(60)
        with lock:
            now[0] -= 1
        return lines(HTTPStatus.OK, ["done"])

    server = start(handle)
    replies: list[int] = []
    clients = [
        threading.Thread(target=lambda peer=peer: replies.append(get(server, peer=peer).status))
        for peer in _peers(3 * MOST_AT_ONCE)
    ]
    for client in clients:
        client.start()
    wait_until(lambda: now[0] == MOST_AT_ONCE)
    time.sleep(0.3)
    assert most[0] == MOST_AT_ONCE
    assert request_threads() <= MOST_AT_ONCE
    gate.set()
    for client in clients:
        client.join(30)
    assert replies == [200] * len(clients)
    assert most[0] == MOST_AT_ONCE


def test_one_peer_has_no_more_than_its_share_of_the_places(start: Start) -> None:
    gate = threading.Event()

    def handle(request: Request) -> Answer:
        if request.path == "/slow":
            gate.wait(60)
        return lines(HTTPStatus.OK, ["done"])

    server = start(handle)
    with ExitStack() as stack:
        many = [stack.enter_context(connected(server)) for _ in range(2 * MOST_AT_ONCE)]
        for each in many:
            each.sendall(b"GET /slow HTTP/1.1\r\n\r\n")
        wait_until(lambda: request_threads() == MOST_OF_PEER)
        started = time.monotonic()
        assert get(server, "/healthz", peer="127.0.0.2").status == 200
        # Nobody waited for the slow ones, who take a minute.
        assert time.monotonic() - started < 20
        wait_until(lambda: request_threads() == MOST_OF_PEER)
        gate.set()
        assert [status_of(rest(each)) for each in many] == [200] * len(many)


@pytest.mark.parametrize("said", [b"", b"GET /"], ids=["silent", "begun"])
@pytest.mark.parametrize("prober", ["127.0.0.1", "127.0.0.9"], ids=["same-peer", "other-peer"])
@pytest.mark.parametrize("peers", [1, 5])
def test_slow_clients_do_not_keep_a_probe_waiting(
    said: bytes, prober: str, peers: int, start: Start
) -> None:
    server = start(lambda _: lines(HTTPStatus.OK, ["alive"]), None, 30.0)
    with ExitStack() as stack:
        slow = [
            stack.enter_context(connected(server, f"127.0.0.{1 + number % peers}"))
            for number in range(100)
        ]
        for each in slow:
            each.sendall(said)
        for _ in range(5):
            started = time.monotonic()
            assert get(server, "/healthz", peer=prober).status == 200
            assert time.monotonic() - started < 20  # of the thirty that a slow one has
    wait_until(lambda: request_threads() == 0)


def test_idle_clients_hold_no_thread_and_the_oldest_of_the_greediest_goes(start: Start) -> None:
    server = start(lambda _: lines(HTTPStatus.OK, ["alive"]), None, 30.0)
    with ExitStack() as stack:
        modest = stack.enter_context(connected(server, "127.0.0.2"))
        greedy = [stack.enter_context(connected(server)) for _ in range(MOST_WAITING + 20)]
        wait_until(lambda: len(select.select(greedy, [], [], 0)[0]) == 21)
        assert [each.recv(10) for each in greedy[:21]] == [b""] * 21
        assert request_threads() == 0
        modest.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert rest(modest).endswith(b"alive\n")


def test_a_flood_that_comes_again_at_once_does_not_keep_a_probe_waiting(start: Start) -> None:
    server = start(lambda _: lines(HTTPStatus.OK, ["alive"]), None, 30.0)
    over = threading.Event()

    def flood() -> None:
        with suppress(OSError):
            while not over.is_set():
                with connected(server, "127.0.0.3") as connection:
                    connection.sendall(b"GET /")
                    connection.settimeout(2)
                    rest(connection)

    clients = [threading.Thread(target=flood) for _ in range(60)]
    for each in clients:
        each.start()
    try:
        wait_until(lambda: request_threads() == MOST_OF_PEER)
        for _ in range(10):
            started = time.monotonic()
            assert get(server, "/healthz").status == 200
            assert time.monotonic() - started < 20  # of the thirty that a slow one has
            time.sleep(0.05)
    finally:
        over.set()
        server.close()
        for each in clients:
            each.join(30)


def test_too_many_open_files_are_waited_out(
    echo: Server, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as first, socket.socket() as client:
        client.settimeout(60)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        started = time.monotonic()
        try:
            # The call that waits already has the file for the first one.
            first.connect(("127.0.0.1", echo.port))
            client.connect(("127.0.0.1", echo.port))
            wait_until(lambda: "can't take a connection" in caplog.text)
            time.sleep(0.5)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        # It was asked for again a few times, not all the time.
        most = (time.monotonic() - started) / PATIENCE_SECONDS + 2
        assert caplog.text.count("can't take a connection") < most
        client.sendall(b"GET /later HTTP/1.1\r\n\r\n")
        assert rest(client).endswith(b"/later\n")


def test_a_page_that_fails_costs_its_own_answer(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(request: Request) -> Answer:
        if request.path == "/bad":
            raise RuntimeError("out of order")
        return lines(HTTPStatus.OK, ["fine"])

    server = start(handle)
    assert get(server, "/bad").status == 500
    assert "no answer to /bad" in caplog.text
    assert b"out of order" not in get(server, "/bad").body
    assert get(server, "/good").status == 200


def test_answers_are_counted_by_known_path_and_status(start: Start) -> None:
    server = start(lambda _: lines(HTTPStatus.OK, ["x"]))
    for path in ("/metrics", "/metrics", "/nobody-knows", "/other"):
        get(server, path)
    get(server, method="POST")
    wait_until(lambda: request_threads() == 0)
    assert server.counts == {("/metrics", "200"): 2, ("other", "200"): 2, ("other", "405"): 1}


def test_after_its_end_nobody_is_answered_and_the_port_is_free(start: Start) -> None:
    server = Server(
        listen("127.0.0.1", 0), lambda _: lines(HTTPStatus.OK, ["x"]), None, SLOW_SECONDS
    )
    server.start()
    port = server.port
    started = time.monotonic()
    server.close()
    assert time.monotonic() - started < 20  # of the sixty that a client has
    listen("127.0.0.1", port).close()


def test_an_end_while_all_places_are_taken_comes_at_once() -> None:
    gate = threading.Event()

    def handle(_: Request) -> Answer:
        gate.wait(60)
        return lines(HTTPStatus.OK, ["x"])

    server = Server(listen("127.0.0.1", 0), handle, None, SLOW_SECONDS)
    server.start()
    with ExitStack() as stack:
        for peer in _peers(12):
            stack.enter_context(connected(server, peer)).sendall(b"GET / HTTP/1.1\r\n\r\n")
        wait_until(lambda: request_threads() == MOST_AT_ONCE)
        started = time.monotonic()
        server.close()
        assert time.monotonic() - started < 20  # of the sixty that a page takes
        gate.set()
    wait_until(lambda: request_threads() == 0)


def test_a_taken_port_is_named(echo: Server) -> None:
    with pytest.raises(SourceError, match=rf"can't serve metrics at 127.0.0.1:{echo.port}: .*use"):
        listen("127.0.0.1", echo.port)


@pytest.mark.parametrize("address", ["192.0.2.1", "256.1.1.1", "no such name", "a..b"])
def test_an_address_that_is_not_ours_is_named(address: str) -> None:
    with pytest.raises(SourceError, match=f"can't serve metrics at {address}:1: .*set metrics to"):
        listen(address, 1)


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="there is no IPv6")
def test_it_listens_at_an_ipv6_address() -> None:
    try:
        listening = listen("::1", 0)
    except SourceError as error:
        pytest.skip(f"there is no IPv6 loopback: {error}")
    server = Server(listening, lambda _: lines(HTTPStatus.OK, ["six"]))
    server.start()
    with socket.create_connection(("::1", server.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert rest(connection).endswith(b"six\n")
    server.close()


def test_a_long_body_is_packed_and_a_short_one_not() -> None:
    long = Answer(body=b"numa " * 1000)
    packed = long.packed()
    assert gzip.decompress(packed.body) == long.body
    assert len(packed.body) < 200
    assert ("Content-Encoding", "gzip") in packed.fields
    assert Answer(body=b"short").packed() == Answer(body=b"short")


def test_a_sentence_stays_on_its_line_whatever_it_quotes() -> None:
    answer = lines(HTTPStatus.OK, ["a\nb\r\nc\x00\u2028d", "\ud800", "x" * 10_000])
    assert answer.body.decode().split("\n") == ["a b  c  d", " ", "x" * 500, ""]
