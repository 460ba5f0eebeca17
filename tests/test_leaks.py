"""A day of churn, in simulated time, on cgroups that are files: nothing is left behind by it.

The passes, the binder, the Events and the publishing are the daemon's, inotify is the kernel's.
"""

import ctypes
import gc
import os
import random
import shutil
import sys
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from numa_agent.agent import Binder, Kept, News, NodeSources, Ports, Seen, Teller, run_forever
from numa_agent.core.documents import Document, mapping
from numa_agent.core.drift import Drift
from numa_agent.core.errors import ApiError, GoneError, SourceError
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod, PodsRead
from numa_agent.core.publishing import Applied, Json, publish
from numa_agent.core.report import Report
from numa_agent.core.schedulers import kube_scheduler
from numa_agent.core.telling import Due
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.recorded import RecordedKernel
from numa_agent.wiring.watching import CgroupWatch
from tests.host.cgroups.hierarchies import Hierarchy
from tests.machine_tree import TWO_NODES, container_id, pod, uid

PASSES = 3000
WARM = 500
HOURS = 24
LIVE = 4
CYCLE = 50
"""Passes from one look at memory to the next."""

MOST_BLOCKS = 1250
"""One object that each pass leaves would be twice as many; chance makes a few hundred: which pods
there are, and of what Events have been told in the last hours."""

MOST_MIB = 2.2
"""A leak of 1 KiB a pass would be 2.4; Python's allocator takes a MiB at a time."""


@dataclass
class Server:
    """One object as an API server keeps it, and Events; it fails from time to time."""

    chance: random.Random
    stored: Json | None = None
    version: int = 0
    did: Counter[str] = field(default_factory=Counter)

    def read(self, _manifest: Document) -> Json | None:
        self._may_fail("read")
        return self.stored

    def apply(self, manifest: Document, *, force: bool) -> Applied:
        self._may_fail("apply")
        self.version += 1
        fields = {"manager": "numa-agent", "operation": "Apply", "fieldsV1": {"f:zones": {}}}
        own = [{**fields, "apiVersion": kube_scheduler.API_VERSION}]
        known = {"resourceVersion": str(self.version), "managedFields": own}
        created = self.stored is None
        self.stored = {**manifest, "metadata": {**mapping(manifest["metadata"]), **known}}
        return Applied(created=created, resource_version=str(self.version))

    def set_managers(self, _manifest: Document, _managers: object, _version: str) -> NoReturn:
        raise AssertionError("no older writer is here")

    def record(self, due: Due) -> int:
        self._may_fail("event")
        if due.again and self.chance.random() < 0.1:
            raise GoneError("it has been swept up")
        return (due.count or 0) + 1

    def _may_fail(self, what: str) -> None:
        if self.chance.random() < 0.1:
            self.did[f"{what} failed"] += 1
            status = self.chance.choice([None, 403, 409, 429, 500])
            raise ApiError(f"can't {what}", status=status)
        self.did[what] += 1


@dataclass
class World:
    """A node on which pods come, go and change; its clock goes on while the agent waits."""

    machine: Hierarchy
    chance: random.Random
    now: float = 0.0
    next: int = 1
    pods: dict[int, Pod] = field(default_factory=dict)
    passes: int = 0
    did: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[int, float]] = field(default_factory=list)

    def read(self) -> PodsRead:
        if self.chance.random() < 0.03:
            raise SourceError("the pods can't be read")
        return PodsRead(tuple(self.pods.values()), ())

    def tell(self, news: News) -> None:
        if isinstance(news, Seen):
            self.did["written between passes"] += len(news.writes)
            return
        self.passes += 1
        if isinstance(news, Report):
            self.did["written"] += len(news.writes)
            self.did["refused"] += len(news.refusals)
            self.did["proved"] += len(news.proofs)
            self.did["failed"] += bool(news.failures)
        if self.passes >= WARM and self.passes % CYCLE == 0:
            self.samples.append(held())

    def wait(self, seconds: float) -> bool:
        """Whatever happens next, and the time until then."""
        if seconds > 1:
            self._happen()
            # What inotify tells comes in its own time.
            threading.Event().wait(0.0005)
        self.now += max(min(seconds, 45.0), 0.001)
        return self.passes >= PASSES and (self.now >= HOURS * 3600 or self.passes >= 2 * PASSES)

    def _happen(self) -> None:
        if len(self.pods) < LIVE:
            self._come()
        elif self.chance.random() < 0.4:
            self._go(min(self.pods))
        number = self.chance.choice([*self.pods])
        if self.chance.random() < 0.3:
            self.pods[number] = self._annotated(number)
        if self.chance.random() < 0.3:
            file = self._folder(number) / "cpuset.cpus"
            RecordedKernel(self.machine.machine.root).put(file, "0-7\n")

    def _come(self) -> None:
        number, self.next = self.next, self.next + 1
        self.machine.group(f"kubepods/pod{uid(number)}/{container_id(number)}", (number,))
        self.pods[number] = self._annotated(number)

    def _go(self, number: int) -> None:
        del self.pods[number]
        if self.chance.random() < 0.9:
            shutil.rmtree(self._folder(number))
        else:
            self.did["left"] += 1
            self._folder(number).rename(self.machine.machine.root / f"left-{number}")
            shutil.rmtree(self.machine.machine.root / f"left-{number}")

    def _annotated(self, number: int) -> Pod:
        first = self.chance.randrange(8)
        sets = [None, f"{first}", f"{first}-{first + 1}", "0-,3", "9-12", f"{first},{number % 8}"]
        return pod(number, self.chance.choice(sets), annotations={"turn": f"{self.now}"})

    def _folder(self, number: int) -> Path:
        return self.machine.folder / "kubepods" / f"pod{uid(number)}"


def held() -> tuple[int, float]:
    """The blocks of Python's allocator in use, and the MiB of RSS, all that is free given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return sys.getallocatedblocks(), pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def opened() -> tuple[int, int]:
    """How many files are open, and how many threads there are."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def watches() -> int:
    """How many directories the kernel watches for this process: proc_pid_fdinfo(5)."""
    found = Path("/proc/self/fdinfo").iterdir()
    told = (each.read_text() for each in found if each.exists())
    return sum(text.count("inotify wd:") for text in told)


@pytest.fixture
def world(tmp_path: Path) -> World:
    machine = Hierarchy(tmp_path)
    machine.machine.cpu_lists(online="0-7", possible="0-7")
    machine.group("kubepods")
    return World(machine, random.Random(11))


def live(world: World, server: Server, watch: CgroupWatch, tree: CpusetTree) -> None:
    """The daemon's loop until the world ends."""
    sources = NodeSources(
        topology=lambda: TWO_NODES,
        node=Kept("node", lambda: Node(name="n1", uid="u1")),
        pods=Kept("pods", world.read),
        settings=Kept("kubelet-configuration", lambda: (KubeletSettings(), ())),
        cpu_state=Kept("cpu-manager-state", lambda: None),
        memory_state=Kept("memory-manager-state", lambda: None),
        granted=Kept("podresources", lambda: None),
        cpu_info=Kept("cpuinfo", lambda: None),
    )
    drift = Drift(world.chance.random)
    ports = Ports(
        sources=sources,
        render=kube_scheduler.publish,
        publish=lambda manifest: publish(server, manifest),
        cpusets=tree,
        damaged=tuple,
        drift=drift,
        clock=lambda: world.now,
        teller=Teller(server.record, "n1", world.chance.random, lambda: world.now),
    )
    binder = Binder(
        tree,
        watch,
        drift,
        ports.clock,
        sources.cpu_state.read,
        lambda: (tuple(world.pods.values()), ()),
    )
    run_forever(ports, tell=world.tell, wait=world.wait, random=world.chance.random, binder=binder)
    world.did["drifted"] = sum(drift.counts.values())


def test_a_day_of_churn_leaves_nothing_behind(world: World) -> None:
    server = Server(world.chance)
    root = world.machine.machine.root
    tree = CpusetTree(root, put=RecordedKernel(root).put)
    before = opened()
    with closing(CgroupWatch(CpusetTree(root), root, lambda: None)) as watch:
        live(world, server, watch, tree)
        followed = watches()
    # A thread ends in its own time.
    for _ in range(3000):
        if all(now <= then for now, then in zip(opened(), before, strict=True)):
            break
        threading.Event().wait(0.01)
    else:
        raise AssertionError(f"open are {opened()}, before {before}")
    assert world.now >= HOURS * 3600
    assert followed <= 3 * LIVE + 8
    for what in ("written", "written between passes", "refused", "proved", "failed", "drifted"):
        assert world.did[what] > PASSES / 20, (what, world.did)
    for what in ("read", "apply", "event", "read failed", "apply failed", "event failed"):
        assert server.did[what] > 20, (what, server.did)
    early, late = world.samples[:10], world.samples[-10:]
    blocks = min(b for b, _ in late) - min(b for b, _ in early)
    mib = min(m for _, m in late) - min(m for _, m in early)
    assert blocks <= MOST_BLOCKS, world.samples
    assert mib <= MOST_MIB, world.samples
