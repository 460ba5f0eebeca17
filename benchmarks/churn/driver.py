"""Lives the plan on a cluster: makes, changes and ends pods, and keeps what was wished when."""

import threading
import time
from bisect import bisect, insort
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.churn.plan import Act, Life
from benchmarks.churn.timeline import Wish
from tests.apiserver.objects import MERGE
from tests.e2e.cluster import Cluster
from tests.e2e.pods import STAY, assigned, container, pod

PODS = "/api/v1/namespaces/default/pods"
FOLDER = Path("/run/churn")
"""The node's: what the sampler and the containers write."""

WAIT_SECONDS = 180.0
POLL_SECONDS = 0.5
TRIES = 2
APART_SECONDS = 8.0
"""From one lane's start to the next: four containers made at once are too much for an emulator."""

SCRIPT = """\
read -r now _ </proc/uptime
while read -r name value; do
  case $name in Cpus_allowed_list:) cpus=$value;; Mems_allowed_list:) mems=$value;; esac
done </proc/self/status
echo "$now $POD_UID $cpus $mems" >>/churn/births
if [ -n "$EXITS_AFTER" ] && [ ! -e "/churn/ended-$POD_UID" ]; then
  : >"/churn/ended-$POD_UID"
  sleep "$EXITS_AFTER"
  exit 1
fi
"""

FOREIGN = """\
every=$(cat /sys/devices/system/cpu/online)
cat /proc/uptime
for file in /sys/fs/cgroup/kubepods/*/pod{uid}/cpuset.cpus \
    /sys/fs/cgroup/kubepods/*/pod{uid}/*/cpuset.cpus; do
  echo "$every" >"$file"
done
"""
"""Somebody who means well and gives a pod and its containers every CPU."""

Json = dict[str, Any]


@dataclass(kw_only=True)
class Record:
    """What was done, on the node's clock: seconds since its boot."""

    wishes: dict[str, list[Wish]] = field(default_factory=dict)
    writes: dict[str, list[float]] = field(default_factory=dict)
    begin: float = 0.0
    end: float = 0.0


class Clock:
    """The node's clock, read from here by `ask`; an emulated one runs unevenly.

    So it is looked at whenever something happens, and what is between two looks is interpolated.
    Each is right to half of what the faster of TRIES takes there and back: `error` at most.
    """

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._looks: list[tuple[float, float]] = []
        self.error = 0.0

    def look(self) -> float:
        """What it says now."""
        tries = [self._try() for _ in range(TRIES)]
        took, here, there = min(tries)
        with self._lock:
            self.error = max(self.error, took / 2)
            insort(self._looks, (here, there))
        return there

    def there(self, here: float) -> float:
        """The node's time at a moment of this computer's; there must be two looks."""
        place = bisect(self._looks, (here, 0.0))
        place = min(max(place, 1), len(self._looks) - 1)
        (one, first), (two, second) = self._looks[place - 1 : place + 1]
        return first + (here - one) * (second - first) / (two - one)

    def _try(self) -> tuple[float, float, float]:
        before = time.monotonic()
        there = self._ask()
        after = time.monotonic()
        return after - before, (before + after) / 2, there


class Driver:
    """One churn; `run` once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._wishes: list[tuple[str, float | None, str, str]] = []
        self._record = Record()
        self._stopped = threading.Event()
        self.clock = Clock(self._uptime)

    def run(self, lanes: Sequence[Sequence[Life]]) -> Record:
        """Live every lane at once, each life after the other; AssertionError if one can't be."""
        record = self._record
        record.begin = self.clock.look()
        with ThreadPoolExecutor(len(lanes)) as pool:
            jobs = [pool.submit(self._lane, lane, place) for place, lane in enumerate(lanes)]
            for job in jobs:
                job.result()
        record.end = self.clock.look()
        for uid, moment, cpus, mems in self._wishes:
            at = 0.0 if moment is None else self.clock.there(moment)
            record.wishes.setdefault(uid, []).append(Wish(at, cpus, mems))
        return record

    def _lane(self, lane: Sequence[Life], place: int) -> None:
        self._stopped.wait(place * APART_SECONDS)
        try:
            for life in lane:
                if not self._stopped.is_set():
                    self._live(life)
        except BaseException:
            self._stopped.set()
            raise

    def _live(self, life: Life) -> None:
        plane, path = self._cluster.plane, f"{PODS}/{life.name}"
        uid = plane.ask("POST", PODS, manifest(life))["metadata"]["uid"]
        if life.cpus:
            self._wish(uid, None, life.cpus, life.mems)
        self._until(f"{life.name} runs", lambda: self._cluster.ready(life.name))
        for act in life.acts:
            self._stopped.wait(act.after)
            self._act(path, uid, act)
        self._stopped.wait(life.lasts)
        plane.ask("DELETE", path)
        self._until(f"{life.name} is gone", lambda: self._cluster.find(path) is None)

    def _act(self, path: str, uid: str, act: Act) -> None:
        if act.what == "assign":
            body = {"metadata": {"annotations": assigned(act.cpus)}}
            self.clock.look()
            moment = time.monotonic()
            self._cluster.plane.ask("PATCH", path, body, content_type=MERGE)
            self.clock.look()
            self._wish(uid, moment, act.cpus, "")
            return
        said = self._cluster.node.run(FOREIGN.format(uid=uid))
        with self._lock:
            self._record.writes.setdefault(uid, []).append(float(said.split()[0]))

    def _uptime(self) -> float:
        return float(self._cluster.node.read("/proc/uptime").split()[0])

    def _wish(self, uid: str, moment: float | None, cpus: str, mems: str) -> None:
        with self._lock:
            self._wishes.append((uid, moment, cpus, mems))

    def _until(self, what: str, check: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not check():
            if self._stopped.is_set():
                raise AssertionError(f"{what}: another lane failed")
            if time.monotonic() > deadline:
                self._cluster.check_alive()
                raise AssertionError(f"{what}: not within {WAIT_SECONDS} s")
            time.sleep(POLL_SECONDS)


def manifest(life: Life) -> Json:
    """The pod of a life, which says in FOLDER of its node when it was born and inside what."""
    ends = "" if life.exits_after is None else str(life.exits_after)
    own = {"fieldRef": {"fieldPath": "metadata.uid"}}
    app = container(
        cpu="100m",
        memory="32Mi",
        script=SCRIPT + STAY,
        env=[{"name": "POD_UID", "valueFrom": own}, {"name": "EXITS_AFTER", "value": ends}],
        volumeMounts=[{"name": "churn", "mountPath": "/churn"}],
    )
    more = {"mems": life.mems} if life.mems else {}
    return pod(
        life.name,
        app,
        annotations=assigned(life.cpus, **more) if life.cpus else {},
        terminationGracePeriodSeconds=2,
        volumes=[{"name": "churn", "hostPath": {"path": str(FOLDER), "type": "Directory"}}],
    )
