"""The figures, one part of an agent's life after the other; each adds rows to the table."""

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.daemon.naive import AGENT as NAIVE
from benchmarks.daemon.plane import PODS, assigned, change, make_pod
from benchmarks.daemon.process import Usage, usage
from benchmarks.daemon.scene import OWN, Naive, Scene, own_cpus
from benchmarks.daemon.table import Table
from tests.apiserver.objects import MERGE

OURS = "numa-agent"
SETTLING_SECONDS = 5.0
SETTLED_SECONDS = 150.0
STILL = 4
"""Looks at the server's log in a row that find nothing new."""

PERIOD_SECONDS = 75.0
"""From one pass to the next, on average, by the default of passSeconds."""

Requests = Counter[tuple[str, str]]


def start(scene: Scene, table: Table) -> None:
    """From the start until it is ready, and until it has told of what it found."""
    seconds = scene.agent.ready()
    used = usage(scene.agent.pid)
    table.row("start to ready, s", f"{seconds:.2f}", target="2")
    table.row("CPU until ready, s", f"{used.cpu:.2f}")
    table.row("RSS at ready, MiB", f"{used.rss:.1f}", target="60")
    _settle(scene)
    for number, group in enumerate(scene.groups[:OWN]):
        scene.until_held(group, own_cpus(number))
    table.row("requests until nothing is left to tell", _shown(scene.plane.asked(OURS)))


def _settle(scene: Scene) -> None:
    end, asked, still = time.monotonic() + SETTLED_SECONDS, -1, 0
    while still < STILL and time.monotonic() < end:
        time.sleep(SETTLING_SECONDS)
        before, asked = asked, scene.plane.asked(OURS).total()
        still = still + 1 if asked == before else 0


def idle(scene: Scene, naive: Naive, table: Table, seconds: float) -> None:
    """Nothing happens: what both use, ask and write."""
    asked, polled, written = (
        scene.plane.asked(OURS),
        scene.plane.asked(NAIVE),
        scene.sets_written(),
    )
    passes = scene.agent.metric("numa_agent_passes_total")
    before, other = usage(scene.agent.pid), usage(naive.pid)
    began = time.monotonic()
    time.sleep(seconds)
    lasted = time.monotonic() - began
    after, later = usage(scene.agent.pid), usage(naive.pid)
    taken = scene.agent.metric("numa_agent_passes_total") - passes
    _memory(table, after, later)
    cpu, naive_cpu = after.cpu - before.cpu, later.cpu - other.cpu
    when = f"{lasted:.0f} s, {taken:.0f} passes, load {os.getloadavg()[1]:.1f}"
    table.row(
        f"idle CPU, % of a core ({when})",
        f"{cpu / lasted * 100:.3f}",
        f"{naive_cpu / lasted * 100:.3f}",
        "0.1",
    )
    each = cpu / max(taken, 1)
    table.row("idle CPU for each pass, ms", f"{each * 1e3:.0f}", target=f"{PERIOD_SECONDS:.0f}")
    ours = _shown(scene.plane.asked(OURS) - asked)
    table.row(
        f"requests in {lasted:.0f} s idle",
        ours,
        _shown(scene.plane.asked(NAIVE) - polled),
        "no write, list or new watch",
    )
    now = scene.sets_written()
    changed = [file for file, when in now.items() if written.get(file) != when]
    table.row("cgroup files written while idle", str(len(changed)), target="0")


def binding(scene: Scene, table: Table, changes: int) -> None:
    """From the server's answer to a new assignment until the pod's cgroup has it."""
    waits = []
    for turn in range(1, changes + 1):
        number = turn % OWN
        wanted = own_cpus(number, 1 + turn // OWN)
        change(scene.plane, number, assigned(wanted))
        waits.append(scene.until_held(scene.groups[number], wanted))
        time.sleep(0.05)
    ordered = sorted(waits)
    p99 = ordered[max(0, round(len(ordered) * 0.99) - 1)]
    median = statistics.median(ordered)
    figures = f"{median * 1e3:.1f} / {p99 * 1e3:.1f} / {ordered[-1] * 1e3:.1f}"
    table.row(f"binding, ms: p50 / p99 / most of {len(waits)}", figures)


def events(scene: Scene, table: Table, number: int) -> None:
    """Pods come, change and go, a quarter of the events each, as fast as the server takes."""
    count = number // 4
    kinds: dict[str, Callable[[int], object]] = {
        "annotation changes": lambda turn: _annotate(scene, turn),
        "status changes": lambda turn: _report(scene, turn),
        "creates": lambda turn: make_pod(scene.plane, 10000 + turn, None),
        "deletes": lambda turn: _delete(scene, 10000 + turn),
    }
    total, passes = 0.0, scene.agent.metric("numa_agent_passes_total")
    began = time.monotonic()
    for kind, act in kinds.items():
        before, start = usage(scene.agent.pid).cpu, time.monotonic()
        for turn in range(count):
            act(turn)
        lasted = time.monotonic() - start
        time.sleep(2)
        cpu = usage(scene.agent.pid).cpu - before
        total += cpu
        what = f"CPU per event, ms: {count} {kind} ({count / lasted:.0f}/s)"
        table.row(what, f"{cpu / count * 1e3:.2f}")
    taken = scene.agent.metric("numa_agent_passes_total") - passes
    what = f"{taken:.0f} passes in {time.monotonic() - began:.0f} s"
    table.row(f"CPU per event over all, ms ({what})", f"{total / count / 4 * 1e3:.2f}")
    table.row("RSS after the events, MiB", f"{usage(scene.agent.pid).rss:.1f}", target="60")


def churn(scene: Scene, table: Table, seconds: float) -> None:
    """Pods with cgroups come, change and go for some time: what stays of it."""
    end = time.monotonic() + seconds
    first: Usage | None = None
    turn = 0
    while time.monotonic() < end:
        _live(scene, 20000 + turn)
        turn += 1
        if turn == 20:
            first = usage(scene.agent.pid)
    last = usage(scene.agent.pid)
    if first is not None:
        was = f"{first.rss:.1f} / {first.files} / {first.threads}"
        what = f"churn of {seconds:.0f} s, {turn} pods: RSS / files / threads (after 20: {was})"
        table.row(what, f"{last.rss:.1f} / {last.files} / {last.threads}", target="60")


def _live(scene: Scene, number: int) -> None:
    """One pod's life, with CPUs of its own at its start and others later."""
    pod = make_pod(scene.plane, number, "210-213")
    group = scene.machine.start(pod, "210-213")
    scene.until_held(group, "210-213")
    change(scene.plane, number, assigned("214-217"))
    scene.until_held(group, "214-217")
    (group / "cpuset.cpus").write_text("0-3\n")
    scene.until_held(group, "214-217")
    _delete(scene, number)
    scene.machine.end(group)


def _annotate(scene: Scene, turn: int) -> None:
    number = len(scene.pods)
    policy = ("BestEffort", "Restricted")[turn // number % 2]
    said = f'{{"numaTopologyPolicy": "{policy}"}}'
    change(scene.plane, turn % number, {"scheduling.koordinator.sh/numa-topology-spec": said})


def _report(scene: Scene, turn: int) -> None:
    path = f"{PODS}/pod-{turn % len(scene.pods)}/status"
    body = {"status": {"message": f"turn {turn}"}}
    scene.plane.ask("PATCH", path, body, content_type=MERGE)


def _delete(scene: Scene, number: int) -> None:
    scene.plane.ask("DELETE", f"{PODS}/pod-{number}", {"gracePeriodSeconds": 0})


def _memory(table: Table, ours: Usage, naive: Usage) -> None:
    table.row("RSS when idle, MiB", f"{ours.rss:.1f}", f"{naive.rss:.1f}", "60")
    table.row("PSS when idle, MiB", f"{ours.pss:.1f}", f"{naive.pss:.1f}")
    table.row("its own alone, MiB", f"{ours.private:.1f}", f"{naive.private:.1f}")
    table.row("peak RSS, MiB", f"{ours.peak:.1f}", f"{naive.peak:.1f}")
    table.row("open files", str(ours.files), str(naive.files))
    table.row("threads", str(ours.threads), str(naive.threads))


def _shown(found: Requests) -> str:
    each = (f"{verb} {resource} {count}" for (verb, resource), count in sorted(found.items()))
    return ", ".join(each) or "none"
