"""The agent is killed after each of a pass's writes in turn, while it moves pods."""

import json
import os
import signal
import traceback
from pathlib import Path
from typing import Any

from numa_agent.core.cpulist import parse, render
from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.host.cgroups import put_to_kernel
from tests.vm.scripts.attempt import cpus_allowed
from tests.vm.scripts.node import Node, Pod

Sets = dict[str, frozenset[int]]
"""CPUs by pod and container."""

PLACES = (
    {"one/a": "0", "one/b": "1", "two/a": "4", "two/b": "4-5", "shared/app": "2-3,6-7"},
    {"one/a": "2", "one/b": "3", "two/a": "6", "two/b": "6-7", "shared/app": "0-1,4-5"},
)
"""Where the pods are in turn."""

MOST = 60


def crash(node: Node) -> Any:
    """Move two pods to and fro; each time the pass gets one write further, until it ends alive."""
    pods = [
        Pod(name="one"),
        Pod(name="two", qos="Burstable", driver="systemd"),
        Pod(name="shared", qos="Burstable"),
    ]
    node.admit(*pods)
    _assign(pods, 0)
    node.run_pass()
    for pod in pods[:2]:
        node.start(pod, "crun", name="a")
        node.start(pod, "crun", name="b")
    node.start(pods[2], "crun")
    seen: dict[str, Any] = {"settled": node.run_pass(), "wrong": [], "unfinished": []}
    seen["at first"] = _wrong(pods, _sets(0), _sets(0))
    for survived in range(MOST):
        old, new = _sets(survived % 2), _sets(1 - survived % 2)
        _assign(pods, 1 - survived % 2)
        killed = _killed_after(node, survived)
        found = _wrong(pods, old, new)
        seen["wrong"] += [f"after {survived} writes: {what}" for what in found]
        told = node.run_pass()
        found = [*_wrong(pods, new, new), *told["errors"], *told["failures"]]
        seen["unfinished"] += [f"after {survived} writes: {what}" for what in found]
        seen["points"] = survived
        if not killed:
            break
    seen["idle"] = node.run_pass()["writes"]
    node.remove(*pods)
    return seen


def _sets(place: int) -> Sets:
    return {name: parse(cpus) for name, cpus in PLACES[place].items()}


def _assign(pods: list[Pod], place: int) -> None:
    for pod in pods[:2]:
        own = {name: {"cpus": PLACES[place][f"{pod.name}/{name}"]} for name in "ab"}
        pod.annotations = {ASSIGNMENT: json.dumps({"version": 1, "containers": own})}


def _killed_after(node: Node, writes: int) -> bool:
    """Whether a pass in a process of its own was killed, once it had written so often."""
    # The server is this process's, and so is what it lists.
    node.list_pods()
    pid = os.fork()
    if pid == 0:
        _pass_and_die(node, writes)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def _pass_and_die(node: Node, writes: int) -> None:
    left = writes

    def put(path: Path, text: str) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        put_to_kernel(path, text)

    code = 1
    try:
        node.run_pass(put)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _wrong(pods: list[Pod], old: Sets, new: Sets) -> list[str]:
    """The tasks that may run elsewhere than where they were and go, or lack what they keep."""
    found: list[str] = []
    for pod in pods:
        for name, container in pod.running.items():
            place = f"{pod.name}/{name}"
            most, least = old[place] | new[place], old[place] & new[place]
            for task in container.tasks():
                cpus = parse(cpus_allowed(task))
                if not least <= cpus <= most:
                    found.append(f"{place}: {render(cpus)}, not {render(least)} to {render(most)}")
    return found
