"""Whatever is in kubelet's place costs a sentence that names the socket and says what to do."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest
from h2.connection import H2Connection
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.errors import SourceError
from numa_agent.host.podresources import read_pod_resources
from numa_agent.host.podresources.unary import Connection
from tests.podresources import http2
from tests.podresources.servers import fails, grpc_server, raw_server, request_of, says

NOBODY = 65534
OK = [("grpc-status", "0")]


def refusal(path: Path, *, deadline: float = 60) -> str:
    """The error of a read; it always names the socket."""
    with pytest.raises(SourceError) as caught:
        read_pod_resources(path, deadline=deadline)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_a_socket_that_is_not_there_asks_for_the_directory(kubelet_socket: Path) -> None:
    assert "not there; is kubelet running, and is its directory mounted" in refusal(kubelet_socket)


def test_a_folder_that_is_not_there_is_the_same(tmp_path: Path) -> None:
    assert "not there" in refusal(tmp_path / "pod-resources" / "kubelet.sock")


def test_a_path_through_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "pod-resources").write_text("")
    assert "Not a directory" in refusal(tmp_path / "pod-resources" / "kubelet.sock")


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_no_socket_is_called_so(kind: str, kubelet_socket: Path) -> None:
    if kind == "file":
        kubelet_socket.write_text("")
    else:
        kubelet_socket.mkdir()
    assert "not a socket" in refusal(kubelet_socket)


def test_a_dead_kubelet_s_socket_has_nobody_listening(kubelet_socket: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(kubelet_socket))
        listener.listen()
    assert "nobody listens; is kubelet running?" in refusal(kubelet_socket)


def test_a_path_that_is_too_long_for_a_socket_is_told(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 100)
    folder.mkdir()
    assert "path too long" in refusal(folder / "kubelet.sock")


@contextmanager
def without_rights(path: Path) -> Iterator[None]:
    """Where this process may not write to the file: another user's, if it is root itself."""
    path.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield


def test_a_user_without_rights_is_told_to_be_root(kubelet_socket: Path) -> None:
    with grpc_server(kubelet_socket, {}), without_rights(kubelet_socket):
        assert "Permission denied; the agent needs uid 0" in refusal(kubelet_socket)


def test_a_kubelet_that_hangs_costs_the_deadline(kubelet_socket: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(kubelet_socket))
        listener.listen()
        assert "does kubelet hang?" in refusal(kubelet_socket, deadline=0.2)


def test_a_kubelet_that_takes_no_more_connections_is_told(kubelet_socket: Path) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(kubelet_socket))
        listener.listen(0)
        for _ in range(16):
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            if waiting.connect_ex(str(kubelet_socket)):
                break
        assert "does kubelet hang?" in refusal(kubelet_socket, deadline=3)


def test_a_deadline_that_is_over_is_no_traceback(kubelet_socket: Path) -> None:
    with grpc_server(kubelet_socket, {"List": says(b"")}):
        assert "no time is left" in refusal(kubelet_socket, deadline=0)


def test_another_grpc_service_is_no_kubelet(kubelet_socket: Path) -> None:
    with grpc_server(kubelet_socket, {}):
        assert "isn't kubelet's podresources API v1" in refusal(kubelet_socket)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (grpc.StatusCode.INTERNAL, "kubelet answers INTERNAL: it's 100% broken é; kubelet's log"),
        (grpc.StatusCode.PERMISSION_DENIED, "the agent needs uid 0"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "is kubelet overloaded?"),
    ],
)
def test_a_status_that_is_not_ok_is_told_in_kubelet_s_words(
    code: grpc.StatusCode, hint: str, kubelet_socket: Path
) -> None:
    with grpc_server(kubelet_socket, {"List": fails(code, "it's 100% broken é")}):
        assert hint in refusal(kubelet_socket)


@pytest.mark.parametrize("lie", [b"\xff" * 40, b"\x0a\x03\x0a\x01\xff", b"\x0a\x7fshort"])
def test_a_message_that_is_no_such_message_is_told(lie: bytes, kubelet_socket: Path) -> None:
    with grpc_server(kubelet_socket, {"List": says(lie)}):
        assert "its answer to List isn't a ListPodResourcesResponse" in refusal(kubelet_socket)


def broken_off(http: H2Connection, stream: int) -> None:
    http.send_headers(stream, http2.STARTED)
    http.reset_stream(stream, error_code=2)


def stopping(http: H2Connection, _stream: int) -> None:
    http.close_connection()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (http2.only([(":status", "404"), ("content-type", "text/html")]), "HTTP status 404"),
        (http2.only(http2.STARTED), "its grpc-status is None"),
        (http2.answer(http2.message(b""), [("grpc-status", "fine")]), "its grpc-status is 'fine'"),
        (http2.answer(http2.message(b""), [("grpc-status", "99")]), "its grpc-status is '99'"),
        (http2.answer(b"", OK), "isn't one message"),
        (http2.answer(b"\0\0", OK), "isn't one message"),
        (http2.answer(http2.message(b"", compressed=True), OK), "isn't one message"),
        (http2.answer(http2.message(b"", length=7), OK), "isn't one message"),
        (http2.answer(http2.message(b"") * 2, OK), "isn't one message"),
        (http2.answer(http2.message(b"", length=2**32 - 1), OK), "4294967295 bytes, more than"),
        (broken_off, "the server broke the answer off"),
        (stopping, "the server ended the connection"),
    ],
)
def test_an_answer_that_is_not_grpc_is_told(
    reply: http2.Reply, said: str, kubelet_socket: Path
) -> None:
    with raw_server(kubelet_socket, http2.replying(reply)):
        assert said in refusal(kubelet_socket)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "or is it something else that listens there?"),
        (b"\0\0\0\4\0\0\0\0\1", "doesn't speak HTTP/2"),
    ],
    ids=["HTTP/1.1", "settings of a stream"],
)
def test_a_server_without_http2_is_told(content: bytes, said: str, kubelet_socket: Path) -> None:
    def serve(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(content)

    with raw_server(kubelet_socket, serve):
        assert said in refusal(kubelet_socket)


def test_a_kubelet_that_stops_in_the_middle_is_told(kubelet_socket: Path) -> None:
    with raw_server(kubelet_socket, lambda connection: None):
        assert "did kubelet restart, or" in refusal(kubelet_socket)


WHOLE = http2.conversation(http2.answer(http2.message(b""), OK))


def test_what_a_server_sends_after_its_answer_does_not_matter(kubelet_socket: Path) -> None:
    reset = b"\0\0\4\3\0\0\0\0\1" + bytes(4)
    goaway = b"\0\0\x08\7\0\0\0\0\0" + bytes(8)

    def serve(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(WHOLE + reset + goaway)

    deadline = time.monotonic() + 10
    with (
        raw_server(kubelet_socket, serve),
        Connection(kubelet_socket, deadline=deadline, limit=0) as connection,
    ):
        assert connection.call("/v1.PodResourcesLister/List", b"") == b""


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good answer with some bytes replaced, left out or put in."""
    content = bytearray(WHOLE)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 4, len(content))))
        content[start:end] = draw(st.binary(max_size=4))
    return bytes(content)


def test_no_bytes_at_all_lead_to_a_traceback(tmp_path: Path) -> None:
    sent = [b""]

    def send(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(sent[0])

    path = tmp_path / "kubelet.sock"

    @settings(deadline=None, max_examples=400)
    @given(st.binary(max_size=60) | damaged())
    def attempt(content: bytes) -> None:
        sent[0] = content
        # The second call has no answer, so that even a good first one ends in a closed connection.
        refusal(path)

    with raw_server(path, send):
        attempt()
