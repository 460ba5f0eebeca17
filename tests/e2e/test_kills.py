"""The agent is killed again and again, at random moments, while pods come and go."""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import pytest

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.guest import CommandError
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.trouble import Before, TroubleBench, agent_process, settled
from tests.e2e.watching import Watch
from tests.e2e.waves import DECIDED, Wave, moved

KILLS = int(os.environ.get("E2E_KILLS", "8"))
SEED = int(os.environ.get("E2E_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
PODS = 30
ALIVE_SECONDS = 8
"""An agent lives for so long at most, from its process's start on."""

MOST_RESTART_SECONDS = 120
TRIES = 5

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [TroubleBench], indirect=True, scope="session"),
    pytest.mark.timeout(900 + 60 * KILLS, func_only=True),
]


def kill(cluster: Cluster, uid: str, after: int, chance: random.Random) -> int:
    """Kill the agent's next process some time after its start, whatever it does then."""

    def another() -> int | None:
        found = agent_process(cluster, uid)
        return found if found != after else None

    for _ in range(TRIES):
        pid = cluster.until("an agent's process", another, seconds=MOST_RESTART_SECONDS)
        time.sleep(chance.uniform(0, ALIVE_SECONDS))
        with suppress(CommandError):
            cluster.node.run(f"kill -9 {pid}")
            return pid
        # It was what a container begins with, and not the agent yet.
    raise AssertionError(f"no process of the agent's stays: the last one was {pid}")


class Churn:
    """Waves of pods until it is told to stop, PODS at least unless something `failed`.

    Those of the last stay.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.stop = threading.Event()
        self.failed = threading.Event()
        self.own: dict[str, CpuSet | int] = {}
        self.made = 0

    def run(self) -> None:
        for number in count():
            wave = Wave(number)
            self._come(wave)
            if self.failed.is_set() or (self.made >= PODS and self.stop.is_set()):
                return
            words = ("--grace-period=1", "--timeout=120s")
            self._cluster.kubectl("delete", "pod", *words, *wave.names, seconds=150)

    def _come(self, wave: Wave) -> None:
        cluster = self._cluster
        cluster.apply(*wave.decided, *wave.sharing)
        first = [each["metadata"]["name"] for each in (*wave.decided, *wave.sharing)]
        cluster.until("they have a node", lambda: all(map(self._uid, first)))
        cluster.apply(*wave.asking)
        cluster.until("so have they", lambda: all(map(self._uid, wave.names)))
        for name in wave.names:
            kind, _, index = name.partition("-")
            if kind == "decided":
                self.own[self._uid(name)] = cpulist.parse(DECIDED[int(index.rpartition("-")[2])])
            elif kind == "asks":
                self.own[self._uid(name)] = 1
        self.made += len(wave.names)
        cluster.running(*wave.names)

    def _uid(self, name: str) -> str:
        """A pod's uid, empty until it has a node."""
        found = self._cluster.pod(name) or {"spec": {}}
        return found["metadata"]["uid"] if found["spec"].get("nodeName") else ""


def test_killed_at_random_moments_while_pods_come_and_go(cluster: Cluster, bench: Bench) -> None:
    print(f"E2E_KILLS={KILLS} E2E_SEED={SEED}")
    before = Before.of(cluster)
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    uid, churn, chance = agent["metadata"]["uid"], Churn(cluster), random.Random(SEED)
    pid = 0
    with Watch(cluster.node, "kills") as watch:
        with ThreadPoolExecutor(1) as pool:
            churning = pool.submit(churn.run)
            try:
                for number in range(1, KILLS + 1):
                    pid = kill(cluster, uid, pid, chance)
                    assert moved(watch.changes, churn.own) == [], f"after kill {number}"
                    if churning.done():
                        churning.result()
            except BaseException:
                churn.failed.set()
                raise
            finally:
                churn.stop.set()
            churning.result()
        assert churn.made >= PODS
        # Memory of pods that came while no agent was there isn't bound: docs/binding.md.
        settled(cluster, before, kills=KILLS, expected=["MemoryNotBound"])
        assert moved(watch.changes, churn.own) == []
        late = max(change.late for change in watch.changes)
    print(f"{KILLS} kills, {churn.made} pods, looked every {late:.2f} s at least")
