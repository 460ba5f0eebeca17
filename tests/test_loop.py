"""The loop around a pass, in simulated time: when it sends, when it waits, how it ends."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from numa_agent.agent import Kept, News, NodeSources, Ports, run_forever
from numa_agent.core.documents import Document, mapping
from numa_agent.core.drift import Drift
from numa_agent.core.errors import ApiError, SourceError
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import PodsRead
from numa_agent.core.publishing import Applied, Json, Outcome, publish
from numa_agent.core.report import Report
from numa_agent.core.schedulers import kube_scheduler
from tests.machine_tree import TWO_NODES, pod
from tests.one_pass import kernel
from tests.recorded import machine

OWN = [
    {
        "manager": "numa-agent",
        "operation": "Apply",
        "apiVersion": kube_scheduler.API_VERSION,
        "fieldsV1": {"f:zones": {}},
    }
]


@dataclass
class Server:
    """One object as an API server keeps it, with the times of requests."""

    clock: Callable[[], float]
    stored: Json | None = None
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    down: bool = False

    def read(self, _manifest: Document) -> Json | None:
        self.reads.append(self.clock())
        if self.down:
            raise ApiError("no route to host")
        return self.stored

    def apply(self, manifest: Document, *, force: bool) -> Applied:
        version = str(len(self.writes) + 1)
        metadata = {
            **mapping(manifest["metadata"]),
            "resourceVersion": version,
            "managedFields": OWN,
        }
        created = self.stored is None
        self.stored = {**manifest, "metadata": metadata}
        self.writes.append(self.clock())
        return Applied(created=created, resource_version=version)

    def set_managers(self, _manifest: Document, _managers: object, _version: str) -> Applied:
        raise AssertionError("no older writer is here")


@dataclass
class World:
    """A node whose pods come and go by a plan of moments, for so many seconds."""

    seconds: float
    plan: dict[float, int] = field(default_factory=dict)
    now: float = 0.0
    told: list[News] = field(default_factory=list)
    silent: float = 0.0
    """The moment from which kubelet answers."""

    def granted(self) -> None:
        if self.now < self.silent:
            raise SourceError("podresources: no answer for 2 s")

    def wait(self, seconds: float) -> bool:
        self.now += max(seconds, 0.001)
        return self.now >= self.seconds

    def pods(self) -> PodsRead:
        number = max((n for moment, n in self.plan.items() if moment <= self.now), default=0)
        return PodsRead(tuple(pod(each) for each in range(1, number + 1)), ())


def live(world: World, server: Server) -> None:
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", world.pods),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", lambda: None),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", world.granted),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    run_forever(
        Ports(
            sources=sources,
            render=kube_scheduler.publish,
            publish=lambda manifest: publish(server, manifest),
            cpusets=kernel(),
            damaged=tuple,
            drift=Drift(lambda: 0.5),
            clock=lambda: world.now,
        ),
        tell=world.told.append,
        wait=world.wait,
        random=random.Random(7).random,
    )


def outcomes(world: World) -> list[Outcome]:
    return [
        each.published.outcome
        for report in world.told
        if isinstance(report, Report)
        for each in report.publications
        if each.published is not None
    ]


def test_an_idle_node_writes_once_and_then_only_looks() -> None:
    world = World(seconds=600)
    server = Server(lambda: world.now)
    live(world, server)
    assert len(server.writes) == 1
    assert 0.5 <= server.writes[0] <= 1.0
    assert len(server.reads) <= 12
    assert 12 <= len(world.told) <= 20
    assert outcomes(world)[0] is Outcome.PENDING
    assert outcomes(world)[-1] is Outcome.UNCHANGED


def test_pods_that_come_are_told_of_within_one_pass_and_never_faster_than_once_a_second() -> None:
    world = World(seconds=1200, plan={60.0 + each: each for each in range(1, 200)})
    server = Server(lambda: world.now)
    live(world, server)
    gaps = [b - a for a, b in zip(server.writes, server.writes[1:], strict=False)]
    assert min(gaps) >= 1.0
    assert 2 <= len(server.writes) <= 12
    assert server.stored is not None
    assert world.now >= 1200


def test_a_restart_without_a_change_writes_nothing() -> None:
    first = World(seconds=60)
    server = Server(lambda: first.now)
    live(first, server)
    second = World(seconds=60)
    server.clock = lambda: second.now
    live(second, server)
    assert len(server.writes) == 1


def test_a_server_that_is_down_is_asked_less_and_less_and_served_when_it_is_back() -> None:
    world = World(seconds=1800)
    server = Server(lambda: world.now, down=True)
    plain = world.wait

    def wait(seconds: float) -> bool:
        server.down = world.now < 600
        return plain(seconds)

    world.wait = wait  # type: ignore[method-assign]
    live(world, server)
    while_down = [moment for moment in server.reads if moment < 600]
    assert len(while_down) <= 20
    assert len(server.writes) == 1
    assert server.writes[0] < 600 + 300
    assert Outcome.UNAVAILABLE in outcomes(world)
    assert outcomes(world)[-1] is Outcome.UNCHANGED


def test_a_source_that_is_silent_at_the_start_is_soon_asked_again() -> None:
    world = World(seconds=60, silent=6.0)
    server = Server(lambda: world.now)
    live(world, server)
    assert len(server.writes) == 1
    assert 6.0 < server.writes[0] < 20.0


def test_a_source_that_stays_silent_is_asked_less_and_less() -> None:
    world = World(seconds=1200, silent=10_000.0)
    server = Server(lambda: world.now)
    live(world, server)
    assert server.writes == []
    assert len(world.told) <= 2 + 1200 / 30


def test_sigterm_ends_it_within_a_second(tmp_path: Path) -> None:
    copy = tmp_path / "machine"
    shutil.copytree(machine("single-node"), copy, symlinks=True)
    command = [sys.executable, "-m", "numa_agent", "run", "--host-root", str(copy)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("published: NodeResourceTopology single-node")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
