"""What following a node's pods costs, against a list each 10 s in the same run.

    python -m benchmarks.podwatch [--pods N] [--events N] [--idle SECONDS]

Both are processes of their own at one real API server, with pods as large as real ones. First
nothing happens; then annotations change, one pod after the other, as fast as the server takes it.
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.apiserver.control_plane import ControlPlane, build, missing
from tests.apiserver.objects import MERGE, make_node

NODE = "n"
SETTLING_SECONDS = 2.0
PODS = "/api/v1/namespaces/default/pods"
Json = dict[str, Any]


def manifest(number: int) -> Json:
    """A pod with two containers, about 8 KB as the server keeps it."""
    environment = [{"name": f"SETTING_{each}", "value": "x" * 40} for each in range(20)]
    mounts = [{"name": f"volume-{each}", "mountPath": f"/mnt/{each}"} for each in range(4)]
    container = {
        "image": "registry.example/app:1",
        "env": environment,
        "volumeMounts": mounts,
        "resources": {"requests": {"cpu": "2", "memory": "4Gi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
    }
    volumes: list[Json] = [{"name": f"volume-{each}", "emptyDir": {}} for each in range(4)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number}",
            "labels": {f"example.com/label-{each}": "value" for each in range(6)},
            "annotations": {f"example.com/note-{each}": "y" * 100 for each in range(8)},
        },
        "spec": {
            "nodeName": NODE,
            "containers": [{**container, "name": name} for name in ("main", "proxy")],
            "volumes": volumes,
        },
    }


def status(number: int) -> Json:
    """What kubelet would say of it."""
    now = "2026-01-01T00:00:00Z"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    containers = [
        {
            "name": name,
            "image": "registry.example/app:1",
            "imageID": "sha256:" + "0" * 64,
            "ready": True,
            "restartCount": 0,
            "containerID": f"containerd://{number * 2 + place:064x}",
            "state": {"running": {"startedAt": now}},
        }
        for place, name in enumerate(("main", "proxy"))
    ]
    content = {"phase": "Running", "startTime": now, "conditions": conditions}
    return {"status": {**content, "containerStatuses": containers}}


class Child:
    """One of the two processes."""

    def __init__(self, kind: str, kubeconfig: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.podwatch.child", kind, str(kubeconfig), NODE]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self) -> Json:
        """What it uses now."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("it has no pipes")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: Json = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)


def main() -> int:
    """Run both, and print what each cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--idle", type=float, default=60.0)
    arguments = parser.parse_args()
    reason = missing()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(build()))
        make_node(plane, NODE)
        for number in range(arguments.pods):
            plane.ask("POST", PODS, manifest(number))
            path = f"{PODS}/pod-{number}/status"
            plane.ask("PATCH", path, status(number), content_type=MERGE)
        size = len(json.dumps(plane.ask("GET", PODS)))
        children = {kind: Child(kind, plane.kubeconfig) for kind in ("watch", "poll")}
        for child in children.values():
            stack.callback(child.close)
        measure(plane, children, arguments, size)
    return 0


def measure(
    plane: ControlPlane, children: dict[str, Child], arguments: argparse.Namespace, size: int
) -> None:
    """Let both idle, let pods change, and print what that cost each."""
    for child in children.values():
        child.tell()  # it has its first list by then
    time.sleep(SETTLING_SECONDS)
    first = {kind: child.tell() for kind, child in children.items()}
    time.sleep(arguments.idle)
    idle = {kind: child.tell() for kind, child in children.items()}
    began = time.monotonic()
    for number in range(arguments.events):
        change = {"metadata": {"annotations": {"cpuset": str(number)}}}
        path = f"{PODS}/pod-{number % arguments.pods}"
        plane.ask("PATCH", path, change, content_type=MERGE)
    time.sleep(1)
    lasted = time.monotonic() - began
    last = {kind: child.tell() for kind, child in children.items()}
    print(f"{arguments.pods} pods, {size / 1024:.0f} KiB as a list; {arguments.events} events")
    print("| | RSS before, MiB | RSS, MiB | peak, MiB | idle CPU, % | CPU of the events, s |")
    print("|---|---|---|---|---|---|")
    for kind, end in last.items():
        resting = (idle[kind]["cpu"] - first[kind]["cpu"]) / arguments.idle * 100
        busy = end["cpu"] - idle[kind]["cpu"]
        sizes = f"{end['base']:.1f} | {end['rss']:.1f} | {end['peak']:.1f}"
        print(f"| {kind} | {sizes} | {resting:.2f} | {busy:.2f} |")
        if end["pods"] != arguments.pods:
            print(f"{kind} knows {end['pods']} pods", file=sys.stderr)
    busy = last["watch"]["cpu"] - idle["watch"]["cpu"]
    wakes = last["watch"]["wakes"] - idle["watch"]["wakes"]
    each = busy / arguments.events * 1e6
    print(f"watch: {each:.0f} us of CPU per event, {wakes} wake-ups, in {lasted:.1f} s")
    print(f"poll: {last['poll']['wakes']} lists")


if __name__ == "__main__":
    sys.exit(main())
