"""The Node is read anew when kubelet has devices or settings that it doesn't tell of yet."""

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from numa_agent.config import PODRESOURCES_SOCKET, Config
from numa_agent.wiring import asking
from numa_agent.wiring.sources import sources
from tests.podresources.servers import kubelet


def test_cards_that_kubelet_has_just_got_are_soon_told_of_by_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at each start of a device plugin: kubelet's Node says 0, or nothing, for some seconds."""
    monkeypatch.setattr(asking, "AGAIN_SECONDS", 0.0)
    socket = tmp_path / PODRESOURCES_SOCKET.lstrip("/")
    socket.parent.mkdir(parents=True)
    counts = [None, "0", "2", "1", "1", "1"]
    asked: list[str | None] = []

    def node(name: str) -> dict[str, Any]:
        asked.append(counts[len(asked)])
        told = {} if asked[-1] is None else {"example.com/card": asked[-1]}
        return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "4", **told}}}

    config = Config(host_root=tmp_path, live_root=tmp_path, node_name="n", kubeconfig=None)
    edge = cast("Any", SimpleNamespace(node=node, pods=None))
    found = sources(config, lambda _: None, edge, edge)

    def pass_() -> int | None:
        found.granted.read()
        return found.node.read().values[0].allocatable.get("example.com/card")

    devices = [
        {"resourceName": "example.com/card", "deviceIds": [id_]} for id_ in ("first", "second")
    ]
    with kubelet(socket, {"list": {}, "allocatable": {"devices": devices}}):
        # As many as kubelet has: it isn't asked any more.
        assert [pass_() for _ in range(5)] == [None, 0, 2, 2, 2]
    with kubelet(socket, {"list": {}, "allocatable": {"devices": devices[:1]}}):
        assert [pass_() for _ in range(3)] == [1, 1, 1]
    assert asked == [None, "0", "2", "1"]


def test_what_kubelet_keeps_back_since_its_restart_is_soon_told_of_by_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "AGAIN_SECONDS", 0.0)
    file = tmp_path / "var/lib/kubelet/config.yaml"
    file.parent.mkdir(parents=True)
    offered = ["4", "4", "4", "3"]
    asked: list[str] = []

    def node(name: str) -> dict[str, Any]:
        asked.append(offered[len(asked)])
        told = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": asked[-1]}}
        return {"metadata": {"name": name}, "status": told}

    config = Config(host_root=tmp_path, live_root=tmp_path, node_name="n", kubeconfig=None)
    edge = cast("Any", SimpleNamespace(node=node, pods=None))
    found = sources(config, lambda _: None, edge, edge)

    def pass_() -> int:
        found.settings.read()
        return found.node.read().values[0].allocatable["cpu"]

    file.write_text("{}")
    assert [pass_() for _ in range(3)] == [4000, 4000, 4000]
    assert asked == ["4"]
    file.write_text("systemReserved: {cpu: '1'}")
    assert [pass_() for _ in range(5)] == [4000, 4000, 3000, 3000, 3000]
    assert asked == offered


def test_a_node_that_the_api_server_does_not_tell_in_time_is_the_server_s_absence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not so kubelet's silence on its own socket: docs/events.md tells of that sooner."""
    monkeypatch.setattr("numa_agent.wiring.sources.PATIENCE", 0.05)
    over = Event()

    def node(name: str) -> dict[str, Any]:
        assert over.wait(60)
        return {"metadata": {"name": name}, "status": {}}

    config = Config(host_root=tmp_path, live_root=tmp_path, node_name="n", kubeconfig=None)
    edge = cast("Any", SimpleNamespace(node=node, pods=None))
    found = sources(config, lambda _: None, edge, edge)
    monkeypatch.setattr("numa_agent.wiring.sources._granted", lambda _: node("kubelet"))
    read = [found.node.read().age, found.granted.read().age]
    over.set()
    assert all(each.error is not None and "no answer for" in each.error for each in read)
    assert [each.unavailable for each in read] == [True, False]
