"""A plugin stays registered through whatever kubelet and its folder do."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.deviceplugin.keeping import DevicePlugin, socket_name
from numa_agent.host.deviceplugin.service import service
from tests.host.deviceplugin.kubelet import eventually, kubelet
from tests.host.deviceplugin.scene import RESOURCE, Cards
from tests.podresources.servers import raw_server


class Kept:
    """A plugin whose time is ours, and what it said."""

    def __init__(self, folder: Path, cards: Cards) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.refusal: str | SourceError | None = None
        self.asked = 0
        self.plugin = DevicePlugin(
            folder,
            RESOURCE,
            service(cards),
            may=self._may,
            say=self.said.append,
            clock=lambda: self.now,
            chance=lambda: 1.0,
        )

    def _may(self) -> str | None:
        self.asked += 1
        if isinstance(self.refusal, SourceError):
            raise self.refusal
        return self.refusal

    def step(self, seconds: float = 1.0) -> None:
        self.now += seconds
        self.plugin.step()


@pytest.fixture
def cards() -> Cards:
    return Cards()


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short one: a socket's path has 107 characters at most."""
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture
def kept(folder: Path, cards: Cards) -> Iterator[Kept]:
    found = Kept(folder, cards)
    yield found
    found.plugin.close()


def test_kubelet_hears_of_every_card_and_of_each_change(
    folder: Path, kept: Kept, cards: Cards
) -> None:
    with kubelet(folder) as running:
        kept.step()
        assert running.registered == [RESOURCE]
        assert kept.plugin.trouble is None
        eventually(lambda: len(running.healthy(RESOURCE)) == 4)
        assert running.nodes(RESOURCE) == {f"GPU-{n}": [n // 2] for n in range(4)}
        cards.ail(0, "lost")
        kept.plugin.wake()
        eventually(lambda: "GPU-0" not in running.healthy(RESOURCE))
        cards.ail(0, None)
        kept.plugin.wake()
        eventually(lambda: "GPU-0" in running.healthy(RESOURCE))
        kept.step()
        assert running.registered == [RESOURCE]


def test_a_kubelet_that_isn_t_there_yet_is_waited_for_with_pauses(
    folder: Path, kept: Kept
) -> None:
    for _ in range(100):
        kept.step()
    assert kept.said == [kept.said[0]]
    assert "kubelet.sock: not there; is kubelet running" in kept.said[0]
    assert kept.asked == 0
    with kubelet(folder) as running:
        kept.step()
        assert not running.registered, "its pause isn't over"
        kept.step(31)
        assert running.registered == [RESOURCE]
    assert kept.said[1:] == [f"kubelet knows the cards as {RESOURCE}"]


def test_a_kubelet_that_restarts_is_told_anew_with_the_same_ids(folder: Path, kept: Kept) -> None:
    before = set()
    for life in range(3):
        with kubelet(folder) as running:
            kept.step()
            assert running.registered == [RESOURCE], life
            eventually(lambda: len(running.healthy(RESOURCE)) == 4)
            before |= {*running.devices[RESOURCE]}
    assert len(before) == 4


def test_a_kubelet_s_socket_that_is_another_one_is_registered_with(
    folder: Path, kept: Kept
) -> None:
    """The plugin's own socket stays, so that only kubelet's tells of the restart."""
    with kubelet(folder):
        kept.step()
    with kubelet(folder, empty=False) as running:
        assert (folder / socket_name(RESOURCE)).exists()
        kept.step()
        assert running.registered == [RESOURCE]


def test_a_socket_that_is_deleted_is_made_anew(folder: Path, kept: Kept) -> None:
    with kubelet(folder) as running:
        kept.step()
        for _ in range(2):
            (folder / socket_name(RESOURCE)).unlink()
            kept.step()
            eventually(lambda: len(running.healthy(RESOURCE)) == 4)
            assert running.admit(RESOURCE, 2)[0] == ["GPU-0", "GPU-1"]
        assert running.registered == [RESOURCE] * 3


def test_a_kubelet_that_lets_go_is_told_anew(folder: Path, kept: Kept) -> None:
    with kubelet(folder) as running:
        kept.step()
        eventually(lambda: len(running.healthy(RESOURCE)) == 4)
        running._channels[RESOURCE].close()
        eventually(lambda: not running.healthy(RESOURCE))

        def again() -> bool:
            kept.step()
            return len(running.registered) == 2

        eventually(again)
        assert "kubelet has let go of the cards; they are registered again" in kept.said
        eventually(lambda: len(running.healthy(RESOURCE)) == 4)


def test_what_kubelet_says_against_it_is_told_once_and_it_is_asked_again(
    folder: Path, kept: Kept
) -> None:
    with kubelet(folder, refuse="the ResourceName is invalid") as running:
        for _ in range(50):
            kept.step()
        assert len(kept.said) == 1
        assert f"kubelet refuses {RESOURCE}: UNKNOWN: the ResourceName is inval" in kept.said[0]
        running.refuse = None
        kept.step(31)
        assert running.registered == [RESOURCE]
        assert kept.plugin.trouble is None


def test_it_isn_t_registered_while_it_may_not_be(folder: Path, kept: Kept) -> None:
    with kubelet(folder) as running:
        for refusal in ("nvidia.com/gpu is handed out", SourceError("nobody answers")):
            kept.refusal = refusal
            kept.step(31)
            assert not running.registered
            assert kept.plugin.trouble == str(refusal)
            assert not (folder / socket_name(RESOURCE)).exists()
        kept.refusal = None
        kept.step(31)
        assert running.registered == [RESOURCE]


def test_it_is_asked_whether_it_may_at_each_registration(folder: Path, kept: Kept) -> None:
    for life in range(1, 4):
        with kubelet(folder):
            kept.step()
            kept.step()
            assert kept.asked == life


def _closing(connection: socket.socket) -> None:
    connection.recv(10)


def _garbage(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)


@pytest.mark.parametrize("serve", [_closing, _garbage])
def test_a_socket_that_isn_t_kubelet_s_costs_nothing_but_time(
    serve: Callable[[socket.socket], None], folder: Path, kept: Kept
) -> None:
    with raw_server(folder / "kubelet.sock", serve):
        kept.step()
        kept.step(31)
    assert kept.plugin.trouble is not None
    assert "is it kubelet that listens there?" in kept.plugin.trouble
    with kubelet(folder) as running:
        kept.step(31)
        assert running.registered == [RESOURCE]


def test_a_file_in_the_place_of_kubelet_s_socket_is_named(folder: Path, kept: Kept) -> None:
    (folder / "kubelet.sock").write_text("")
    kept.step()
    assert kept.plugin.trouble is not None
    assert "kubelet.sock" in kept.plugin.trouble


def test_its_end_leaves_no_socket_and_no_healthy_card(folder: Path, kept: Kept) -> None:
    with kubelet(folder) as running:
        kept.step()
        eventually(lambda: len(running.healthy(RESOURCE)) == 4)
        kept.plugin.close()
        assert [path.name for path in folder.iterdir()] == ["kubelet.sock"]
        eventually(lambda: not running.healthy(RESOURCE))


def test_a_long_resource_has_a_short_socket_of_its_own() -> None:
    names = {socket_name(f"{'a' * 200}.example.com/{name}") for name in ("gpu", "gpv")}
    assert len(names) == 2
    assert all(len(f"/host/var/lib/kubelet/device-plugins/{name}") < 108 for name in names)


def test_the_socket_s_name_is_of_the_resource_and_is_no_path() -> None:
    assert socket_name("aliyun.com/gpu") == "numa-agent-aliyun.com_gpu.sock"
    assert "/" not in socket_name("a/../b")
