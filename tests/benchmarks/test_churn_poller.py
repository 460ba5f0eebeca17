"""The agent to compare with does its work: it is no straw man."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.churn import poller
from benchmarks.churn.poller import ASSIGNMENT, Poller, assigned, leaves, listed, numbers, wanted

NODE = "n"
ONLINE = set(range(8))
Json = dict[str, Any]


def pod(uid: str, said: Json | None = None, kind: str = "Burstable", **status: Any) -> Json:
    annotations = {} if said is None else {ASSIGNMENT: json.dumps({"version": 1, **said})}
    running = [{"containerID": f"containerd://{uid}-app", "state": {"running": {}}}]
    return {
        "metadata": {"uid": uid, "annotations": annotations},
        "status": {"qosClass": kind, "containerStatuses": running, **status},
    }


class Server:
    """Stands in for the API server: its pods, and the one object that is published."""

    def __init__(self, pods: list[Json]) -> None:
        self.pods = pods
        self.stored: Json | None = None
        self.asked: list[str] = []

    def ask(self, verb: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        self.asked.append(verb)
        if "/pods?" in path:
            return 200, {"items": self.pods}
        if verb == "GET":
            return (404, {}) if self.stored is None else (200, self.stored)
        assert body is not None
        version = str(len(self.asked))
        self.stored = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        return (201 if verb == "POST" else 200), self.stored


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cgroups' root; two NUMA nodes of four CPUs."""
    for name, cpus in (("node0", "0-3"), ("node1", "4-7")):
        (tmp_path / "nodes" / name).mkdir(parents=True)
        (tmp_path / "nodes" / name / "cpulist").write_text(f"{cpus}\n")
    monkeypatch.setattr(poller, "NODES", tmp_path / "nodes")
    monkeypatch.setattr(poller, "CGROUPS", tmp_path)
    return tmp_path


def group(root: Path, one: Json) -> Path:
    [leaf] = leaves(one)
    leaf.mkdir(parents=True)
    for name in ("cpus", "mems"):
        (leaf / f"cpuset.{name}").write_text("\n")
    return leaf


def test_kernel_lists_are_read_and_written() -> None:
    assert numbers("0-2,8\n") == {0, 1, 2, 8}
    assert numbers("\n") == set()
    assert listed({8, 0, 1}) == "0,1,8"


def test_an_ended_pod_holds_nothing() -> None:
    assert assigned(pod("a", {"cpus": "2-3"})) == {"cpus": "2-3"}
    assert assigned(pod("a", {"cpus": "2-3"}, phase="Succeeded")) == {}
    assert assigned(pod("a")) == {}


def test_others_are_kept_off_what_is_assigned(node: Path) -> None:
    own, other = pod("a", {"cpus": "2-3", "mems": "0"}), pod("b", kind="Guaranteed")
    assert wanted([own, other], ONLINE) == {
        node / "kubepods/burstable/poda/a-app": {"cpus": "2-3", "mems": "0"},
        node / "kubepods/podb/b-app": {"cpus": "0,1,4,5,6,7"},
    }


def test_a_poll_writes_what_differs_once_and_publishes_each_time(node: Path) -> None:
    own, other = pod("a", {"cpus": "2-3", "mems": "0"}), pod("b", kind="Guaranteed")
    held, shared = group(node, own), group(node, other)
    server = Server([own, other])
    agent = Poller(server, NODE)  # type: ignore[arg-type]
    agent.poll()
    assert (held / "cpuset.cpus").read_text().strip() == "2-3"
    assert (held / "cpuset.mems").read_text().strip() == "0"
    assert numbers((shared / "cpuset.cpus").read_text()) == {0, 1, 4, 5, 6, 7}
    assert agent.writes == 3
    agent.poll()
    assert agent.writes == 3
    assert server.asked == ["GET", "GET", "POST", "GET", "PUT"]
    assert server.stored is not None
    [zero, one] = [zone["resources"][0]["available"] for zone in server.stored["zones"]]
    assert (zero, one) == ("2", "4")


def test_a_container_that_has_ended_meanwhile_is_passed_over(node: Path) -> None:
    gone, here = pod("a", {"cpus": "2-3"}), pod("b")
    shared = group(node, here)
    agent = Poller(Server([gone, here]), NODE)  # type: ignore[arg-type]
    agent.poll()
    assert agent.writes == 1
    assert numbers((shared / "cpuset.cpus").read_text()) == {0, 1, 4, 5, 6, 7}
