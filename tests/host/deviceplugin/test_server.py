"""The gRPC server against grpcio's client, and against what isn't one."""

import os
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamReset, TrailersReceived

from numa_agent.core.errors import SourceError
from numa_agent.core.gpu_plugin import Handing
from numa_agent.host.deviceplugin import api_pb2
from numa_agent.host.deviceplugin.files import read_device_files
from numa_agent.host.deviceplugin.keeping import socket_name
from numa_agent.host.deviceplugin.methods import MOST_BYTES, framed
from numa_agent.host.deviceplugin.server import MOST_PEERS, Server
from numa_agent.host.deviceplugin.service import service
from tests.host.deviceplugin.kubelet import eventually
from tests.host.deviceplugin.scene import RESOURCE, Cards, served

SERVICE = "/v1beta1.DevicePlugin"
WATCH, ALLOCATE = f"{SERVICE}/ListAndWatch", f"{SERVICE}/Allocate"


@pytest.fixture
def cards() -> Cards:
    return Cards()


@pytest.fixture
def server(tmp_path: Path, cards: Cards) -> Iterator[Server]:
    with served(tmp_path, cards) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path, server: Server) -> Path:
    return tmp_path / socket_name(RESOURCE)


@pytest.fixture
def channel(path: Path) -> Iterator[grpc.Channel]:
    options = [("grpc.default_authority", "localhost")]
    with grpc.insecure_channel(f"unix:{path}", options=options) as opened:
        yield opened


def call(channel: grpc.Channel, method: str, body: bytes = b"", **options: Any) -> bytes:
    ask: Any = channel.unary_unary(method)
    answer: bytes = ask(body, timeout=30, **options)
    return answer


def allocate(*ids: str) -> bytes:
    asked = api_pb2.ContainerAllocateRequest(devices_ids=ids)
    return api_pb2.AllocateRequest(container_requests=[asked]).SerializeToString()


def refused(channel: grpc.Channel, method: str, body: bytes, **options: Any) -> Any:
    with pytest.raises(grpc.RpcError) as refusal:
        call(channel, method, body, **options)
    return refusal.value


def test_the_options_say_that_it_has_preferences(channel: grpc.Channel) -> None:
    answer = call(channel, f"{SERVICE}/GetDevicePluginOptions")
    options = api_pb2.DevicePluginOptions.FromString(answer)
    assert options.get_preferred_allocation_available
    assert not options.pre_start_required
    assert call(channel, f"{SERVICE}/PreStartContainer") == b""


def test_the_list_comes_at_once_and_again_whenever_it_is_another(
    channel: grpc.Channel, cards: Cards, server: Server
) -> None:
    ask: Any = channel.unary_stream(WATCH, None, api_pb2.ListAndWatchResponse.FromString)
    lists = ask(b"", timeout=60)
    first = next(lists)
    assert [(each.ID, each.health) for each in first.devices] == [
        (f"GPU-{index}", "Healthy") for index in range(4)
    ]
    assert [each.topology.nodes[0].ID for each in first.devices] == [0, 0, 1, 1]
    assert all(each.HasField("topology") for each in first.devices)
    server.wake()
    cards.ail(2, "lost")
    server.wake()
    assert [each.health for each in next(lists).devices][2] == "Unhealthy"
    cards.ail(2, None)
    server.wake()
    assert [each.health for each in next(lists).devices] == ["Healthy"] * 4


def test_without_places_no_device_has_a_topology(tmp_path: Path) -> None:
    with served(tmp_path, Cards(placed=False)):
        path = tmp_path / socket_name(RESOURCE)
        with grpc.insecure_channel(f"unix:{path}") as channel:
            ask: Any = channel.unary_stream(WATCH, None, api_pb2.ListAndWatchResponse.FromString)
            assert not any(each.HasField("topology") for each in next(ask(b"")).devices)


def test_calls_are_answered_while_lists_are_followed(channel: grpc.Channel) -> None:
    ask: Any = channel.unary_stream(WATCH)
    following = [ask(b"", timeout=60) for _ in range(3)]
    assert len({next(each) for each in following}) == 1
    for _ in range(50):
        assert b"GPU-1,GPU-3" in call(channel, ALLOCATE, allocate("GPU-3", "GPU-1"))


def test_what_can_t_be_handed_out_is_refused_with_the_reason(
    channel: grpc.Channel, cards: Cards
) -> None:
    cards.ail(1, "it fell off the bus — drain")
    refusal = refused(channel, ALLOCATE, allocate("GPU-1"))
    assert refusal.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert refusal.details() == "card GPU-1 can't be handed out: it fell off the bus — drain"
    assert "old list" in refused(channel, ALLOCATE, allocate("GPU-9")).details()


@pytest.mark.parametrize("handing", Handing)
def test_each_way_of_handing_out_is_on_the_wire(
    handing: Handing, channel: grpc.Channel, cards: Cards
) -> None:
    cards.handing = handing
    cards.present = frozenset({"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia9"})
    answer = api_pb2.AllocateResponse.FromString(call(channel, ALLOCATE, allocate("GPU-1")))
    (container,) = answer.container_responses
    files = [(each.host_path, each.container_path, each.permissions) for each in container.devices]
    by_env = handing in {Handing.ENV, Handing.DEVICES}
    assert dict(container.envs) == {"NVIDIA_VISIBLE_DEVICES": "GPU-1" if by_env else "void"}
    assert files == (
        [(f"/dev/{name}",) * 2 + ("rw",) for name in ("nvidia1", "nvidiactl", "nvidia-uvm")]
        if handing is Handing.DEVICES
        else []
    )
    cdi = [each.name for each in container.cdi_devices]
    assert cdi == (["nvidia.com/gpu=GPU-1"] if handing is Handing.CDI else [])
    noted = {"cdi.k8s.io/numa-agent_GPU-1": "nvidia.com/gpu=GPU-1"}
    assert dict(container.annotations) == (noted if handing is Handing.CDI_ANNOTATIONS else {})


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\xff", b"\x08", b"\x0a\x02\x0a\x7f"])
def test_what_isn_t_the_message_is_refused(body: bytes, channel: grpc.Channel) -> None:
    for method in ("Allocate", "GetPreferredAllocation"):
        refusal = refused(channel, f"{SERVICE}/{method}", body)
        assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_other_methods_long_and_compressed_requests_are_refused(channel: grpc.Channel) -> None:
    for method in (f"{SERVICE}/Nothing", "/v1.PodResourcesLister/List", "/"):
        assert refused(channel, method, b"").code() is grpc.StatusCode.UNIMPLEMENTED
    long = refused(channel, ALLOCATE, b"x" * (MOST_BYTES + 100))
    assert long.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    squeezed = refused(
        channel, ALLOCATE, allocate("GPU-1" * 100), compression=grpc.Compression.Gzip
    )
    assert squeezed.code() is grpc.StatusCode.UNIMPLEMENTED
    many = api_pb2.AllocateRequest(container_requests=[api_pb2.ContainerAllocateRequest()] * 300)
    found = refused(channel, ALLOCATE, many.SerializeToString())
    assert found.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert call(channel, ALLOCATE, allocate("GPU-1"))


class Raw:
    """An HTTP/2 client that sends what it likes."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(10)
        self.socket.connect(str(path))
        self.http = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.http.initiate_connection()

    def headers(self, stream: int, path: str, content: str = "application/grpc") -> None:
        told = [(":method", "POST"), (":scheme", "http"), (":path", path)]
        self.http.send_headers(stream, [*told, (":authority", "x"), ("content-type", content)])

    def send(self) -> None:
        self.socket.sendall(self.http.data_to_send())

    def answer(self) -> dict[str, str]:
        """The headers of the next answer."""
        headers = [e.headers for e in self.events(ResponseReceived) if hasattr(e, "headers")]
        return {str(name): str(value) for name, value in headers[0]}

    def events(self, kind: type, count: int = 1) -> list[Any]:
        """What comes, until there are so many of a kind."""
        found: list[Any] = []
        end = time.monotonic() + 30
        while len([each for each in found if isinstance(each, kind)]) < count:
            assert time.monotonic() < end
            received = self.socket.recv(65536)
            assert received, "closed"
            found += self.http.receive_data(received)
            self.send()
        return found


def test_another_content_type_is_no_grpc(path: Path) -> None:
    raw = Raw(path)
    with closing(raw.socket):
        raw.headers(1, ALLOCATE, "text/html")
        raw.send()
        assert raw.answer()[":status"] == "415"


@pytest.mark.parametrize(
    "body",
    [b"", b"\0", b"\0\0\0\0\5abc", framed(b"") + b"x", framed(b"") * 2, b"\0\xff\xff\xff\xff"],
)
def test_what_isn_t_one_whole_message_is_refused(body: bytes, path: Path) -> None:
    raw = Raw(path)
    with closing(raw.socket):
        raw.headers(1, ALLOCATE)
        raw.http.send_data(1, body, end_stream=True)
        raw.send()
        assert raw.answer()["grpc-status"] == "3"


def test_a_call_broken_off_in_the_same_breath_costs_that_call_alone(path: Path) -> None:
    raw = Raw(path)
    with closing(raw.socket):
        for stream in range(1, 41, 2):
            raw.headers(stream, ALLOCATE)
            raw.http.send_data(stream, framed(allocate("GPU-1")), end_stream=True)
            raw.http.reset_stream(stream)
        raw.headers(41, ALLOCATE)
        raw.http.send_data(41, framed(allocate("GPU-1")), end_stream=True)
        raw.send()
        found = raw.events(TrailersReceived)
        assert not [each for each in found if isinstance(each, StreamReset)]


def test_a_caller_whose_window_is_shut_gets_the_rest_when_it_opens(
    path: Path, cards: Cards, server: Server
) -> None:
    raw = Raw(path)
    with closing(raw.socket):
        raw.http.update_settings({4: 10})  # SETTINGS_INITIAL_WINDOW_SIZE
        raw.headers(1, WATCH)
        raw.http.send_data(1, framed(b""), end_stream=True)
        raw.headers(3, ALLOCATE)
        raw.http.send_data(3, framed(allocate("GPU-1")), end_stream=True)
        raw.send()
        time.sleep(0.1)
        for turn in range(20):
            cards.ail(1, f"{turn}" if turn % 2 else None)
            server.wake()
        raw.http.increment_flow_control_window(10_000, 1)
        raw.http.increment_flow_control_window(10_000, 3)
        raw.send()
        found = raw.events(TrailersReceived)
        assert b"GPU-1" in b"".join(e.data for e in found if hasattr(e, "data"))


def test_what_changed_while_a_window_was_shut_is_told_when_it_opens(
    path: Path, cards: Cards, server: Server
) -> None:
    """Nothing else need happen for it."""
    raw = Raw(path)
    with closing(raw.socket):
        raw.http.update_settings({4: 10})  # SETTINGS_INITIAL_WINDOW_SIZE
        raw.headers(1, WATCH)
        raw.http.send_data(1, framed(b""), end_stream=True)
        raw.send()
        raw.answer()
        cards.ail(1, "gone")
        server.wake()
        time.sleep(0.1)
        raw.http.increment_flow_control_window(10_000, 1)
        raw.send()
        found = b""
        while b"Unhealthy" not in found:
            found += b"".join(e.data for e in raw.events(DataReceived))


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", os.urandom(1000), b"\0" * 5000, b"PRI * HTTP/2.0\r\n"]
)
def test_garbage_ends_that_connection_alone(
    garbage: bytes, path: Path, channel: grpc.Channel
) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connected:
        connected.settimeout(10)
        connected.connect(str(path))
        connected.sendall(garbage)
        connected.shutdown(socket.SHUT_WR)
        try:
            while connected.recv(65536):
                pass
        except ConnectionError:
            pass
    assert call(channel, ALLOCATE, allocate("GPU-1"))


def test_more_callers_than_there_may_be_are_turned_away_and_later_ones_served(
    path: Path, cards: Cards
) -> None:
    crowd = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(3 * MOST_PEERS)]
    for each in crowd:
        each.settimeout(10)
        each.connect(str(path))
        # What the server says first, or that it has closed.
        each.recv(65536)
    for each in crowd:
        each.close()
    with grpc.insecure_channel(f"unix:{path}") as channel:
        eventually(lambda: _answers(channel))


def _answers(channel: grpc.Channel) -> bool:
    try:
        return bool(call(channel, ALLOCATE, allocate("GPU-1")))
    except grpc.RpcError:
        return False


def followed(path: Path) -> Raw:
    """A caller that follows the list."""
    raw = Raw(path)
    raw.headers(1, WATCH)
    raw.http.send_data(1, framed(b""), end_stream=True)
    raw.send()
    raw.answer()
    return raw


def test_callers_that_go_in_the_moment_of_a_change_end_nobody(
    path: Path, cards: Cards, server: Server, channel: grpc.Channel, monkeypatch: Any
) -> None:
    """The change and their end are seen in one look at all who wait."""
    died: list[object] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    busy, gone = threading.Event(), threading.Event()
    grant = cards.grant

    def slow(ids: Any) -> Any:
        busy.set()
        gone.wait(30)
        return grant(ids)

    crowd = [followed(path) for _ in range(6)]
    monkeypatch.setattr(cards, "grant", slow)
    caller = threading.Thread(target=call, args=(channel, ALLOCATE, allocate("GPU-1")))
    caller.start()
    assert busy.wait(30)
    cards.ail(0, "the change")
    server.wake()
    for raw in crowd:
        raw.socket.close()
    gone.set()
    caller.join(10)
    assert call(channel, ALLOCATE, allocate("GPU-1"))
    assert died == []


def test_callers_that_follow_nothing_make_room_for_kubelet(path: Path) -> None:
    crowd = []
    try:
        for _ in range(MOST_PEERS):
            crowd.append(Raw(path))
            # Until it is taken in.
            crowd[-1].socket.recv(65536)
        with (
            closing(followed(path).socket),
            closing(followed(path).socket),
            grpc.insecure_channel(f"unix:{path}") as channel,
        ):
            eventually(lambda: _answers(channel))
    finally:
        for raw in crowd:
            raw.socket.close()


def test_a_server_that_has_ended_writes_into_nobody_s_file(
    path: Path, server: Server, tmp_path: Path
) -> None:
    """Its bell's number is the next file's that is opened: a cpuset's, say."""
    server.close()
    opened = [(tmp_path / f"{number}").open("wb") for number in range(50)]
    for _ in range(3):
        server.wake()
    for each in opened:
        each.close()
    assert [each.name for each in opened if Path(each.name).stat().st_size] == []


def test_without_a_file_to_spare_it_waits_at_its_ease(path: Path, server: Server) -> None:
    assert server.there
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as waiting:
        resource.setrlimit(resource.RLIMIT_NOFILE, (waiting.fileno() + 1, hard))
        try:
            before = time.process_time()
            waiting.connect(str(path))
            time.sleep(0.5)
            spent = time.process_time() - before
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert spent < 0.2
        waiting.settimeout(10)
        assert waiting.recv(65536)


def test_a_fault_of_ours_costs_that_call_alone(
    cards: Cards, channel: grpc.Channel, monkeypatch: Any
) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(cards, "grant", broken)
        found = refused(channel, ALLOCATE, allocate("GPU-1"))
        assert found.code() is grpc.StatusCode.INTERNAL
        assert "a bug" in found.details()
    assert call(channel, ALLOCATE, allocate("GPU-1"))


def test_many_threads_call_at_once(path: Path) -> None:
    answers: list[bytes] = []

    def work() -> None:
        with grpc.insecure_channel(
            f"unix:{path}", options=[("own", str(threading.get_ident()))]
        ) as own:
            answers.extend(call(own, ALLOCATE, allocate("GPU-1")) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert len(answers) == 120
    assert len(set(answers)) == 1


def test_only_its_owner_may_connect_and_its_end_takes_the_socket_away(
    path: Path, server: Server
) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert server.there
    server.close()
    assert not path.exists()
    assert not server.there


def test_another_one_s_socket_is_left_where_it_is(
    tmp_path: Path, path: Path, server: Server
) -> None:
    with served(tmp_path, Cards()) as other:
        assert not server.there
        server.close()
        assert other.there


def test_a_folder_that_isn_t_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere/x\.sock: No such file.*mount it"):
        Server(tmp_path / "nowhere" / "x.sock", service(Cards()))
    with pytest.raises(SourceError, match="too long"):
        Server(tmp_path / ("x" * 200), service(Cards()))


def test_device_files_are_the_machine_s_or_else_the_process_s_own(tmp_path: Path) -> None:
    own, root = tmp_path / "own", tmp_path / "root"
    for folder, names in ((own, ("nvidia0", "null")), (root / "dev", ("nvidia1", "sda"))):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).touch()
    assert read_device_files(root, own=own) == {"nvidia1"}
    assert read_device_files(tmp_path, own=own) == {"nvidia0"}
    assert read_device_files(tmp_path, own=tmp_path / "nothing") == frozenset()
