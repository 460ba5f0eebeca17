"""Containers with planted faults and their healthy twins, and what is found: `v2` or `v1`.

The machine has two nodes of four CPUs and 512 MiB. Node 1 has a display controller behind its own
bridge, node 0 one, and one more is nobody's.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.proof_json import proofs_json
from numa_agent.wiring.verify import verify_once
from tests.podresources.servers import kubelet
from tests.vm.containers import MOUNT, Container, Hierarchy
from tests.vm.scripts.attempt import read
from tests.vm.scripts.node import Node, Pod, node
from tests.vm.scripts.planting import BIND, DEFAULT, INTERLEAVE, Nursery, nursery

SOCKET = Path("/tmp/kubelet.sock")
MIB = 48
LEFT_MIB = 24
"""What the process that fills a node leaves of it."""


class Faults:
    """One fault a method; each leaves the node as it was."""

    _hugepages = ""
    """The limit of hugepages of each pod."""

    def __init__(self, here: Node, plants: Nursery, displays: list[str]) -> None:
        self._node = here
        self._plants = plants
        self._displays = displays
        self._count = 0

    @contextmanager
    def _pod(self, cpus: str | None, **said: str) -> Iterator[tuple[Pod, Container]]:
        """A pod with these CPUs and a container of a real runtime, bound by passes."""
        self._count += 1
        words = {"version": 1, "cpus": cpus, **said}
        annotations = {} if cpus is None else {ASSIGNMENT: json.dumps(words)}
        pod = Pod(name=f"pod-{self._count}", annotations=annotations, hugepages=self._hugepages)
        self._node.admit(pod)
        self._node.run_pass()
        container = self._node.start(pod, "runc")
        self._node.run_pass()
        try:
            yield pod, container
        finally:
            self._plants.uproot()
            self._node.remove(pod)

    def _found(self, pod: Pod, devices: dict[str, list[int]] | None = None) -> Any:
        """The verdict on a pod's container, without what differs from run to run."""
        self._node.list_pods()
        held = [{"resourceName": "example.com/gpu", "deviceIds": [name]} for name in devices or {}]
        listed = {"name": "app", "devices": held}
        answer = {
            "list": {
                "podResources": [
                    {"namespace": "default", "name": pod.name, "containers": [listed]}
                ]
            },
            "allocatable": {},
        }
        SOCKET.unlink(missing_ok=True)
        began = time.monotonic()
        with kubelet(SOCKET, answer):
            settings = replace(self._node.config, podresources=str(SOCKET))
            verified = verify_once(settings, f"default/{pod.name}")
        (container,) = cast("Any", proofs_json(verified.proofs, verified.failures))["containers"]
        return {
            "verdict": container["verdict"],
            "asked": container["asked"]["has_it"],
            "reasons": {
                each["code"]: (each["cause"] or {}).get("code") for each in container["reasons"]
            },
            "messages": [each["message"] for each in container["reasons"]],
            "memory": {
                name: size >> 20
                for name, size in (container["memory"]["per_node_bytes"] or {}).items()
            },
            "used": container["cpus"]["used"],
            "failures": list(verified.failures),
            "seconds": round(time.monotonic() - began, 2),
        }

    def _plant(self, container: Container, **members: Any) -> int:
        """A process in the container, as `kubectl exec` would start it; its pid."""
        group = container.group
        for nested in group.glob("*/cgroup.procs"):
            group = nested.parent
        return self._plants.plant(groups=[str(group), *self._charged(container)], **members)

    def _charged(self, container: Container) -> list[str]:
        """On v1 memory is charged in a hierarchy of its own, in which runc made the same path."""
        path = container.group.relative_to(self._node.root)
        return [str(MOUNT / "memory" / path)] if self._node.hierarchy == "v1" else []

    def healthy(self) -> Any:
        """CPUs, memory and device beside each other, and a mask that is no narrower."""
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(0,), mib=MIB)
            return self._found(pod, {self._displays[0]: [0]})

    def healthy_far(self) -> Any:
        """The same on the other node, with the memory that the kernel gives by itself."""
        with self._pod("4-7") as (pod, container):
            self._plant(container, mib=MIB)
            return self._found(pod, {self._displays[1]: [1]})

    def cpus_on_the_wrong_node(self) -> Any:
        """Somebody else writes the CPUs of the other node."""
        with self._pod("0-3") as (pod, container):
            for group in (self._node.root / pod.path, container.group):
                for file in sorted(group.rglob("cpuset.cpus"), reverse=True):
                    file.write_text("0-7")
                (group / "cpuset.cpus").write_text("0-7")
            return self._found(pod)

    def memory_on_the_other_node(self) -> Any:
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(1,), mib=MIB)
            return self._found(pod)

    def memory_in_both_nodes(self) -> Any:
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(0,), mib=MIB)
            self._plant(container, policy=INTERLEAVE, nodes=(0, 1), mib=MIB)
            return self._found(pod)

    def memory_from_before_the_binding(self) -> Any:
        """Taken on node 1 while the container shared all CPUs; then it is given node 0."""
        with self._pod(None) as (pod, container):
            self._plant(container, policy=BIND, nodes=(1,), mib=MIB)
            pod.annotations = {ASSIGNMENT: json.dumps({"version": 1, "cpus": "0-3"})}
            self._node.run_pass()
            return self._found(pod)

    def memory_from_before_its_nodes_were_set(self) -> Any:
        """v2 moves the pages of those who run when a cgroup's nodes are set, v1 doesn't."""
        with self._pod("0-3") as (pod, container):
            self._plant(container, policy=BIND, nodes=(1,), mib=MIB)
            (container.group / "cpuset.mems").write_text("0")
            return self._found(pod)

    def memory_spilled_from_a_full_node(self) -> Any:
        """Another process fills the node first."""
        with self._pod("0-3") as (pod, container):
            free = int(_meminfo(0, "MemFree")) >> 10
            self._plants.plant(
                groups=[str(self._node.root)], policy=BIND, nodes=(0,), mib=free - LEFT_MIB
            )
            self._plant(container, policy=DEFAULT, mib=2 * MIB)
            return self._found(pod)

    def a_stray_mask(self) -> Any:
        """A task that keeps itself to one CPU, and one that doesn't."""
        with self._pod("0-3") as (pod, container):
            self._plant(container, cpus=(2,))
            return self._found(pod)

    def a_parent_with_less(self) -> Any:
        """A cgroup above is narrowed by somebody."""
        with self._pod("0-3") as (pod, _):
            above = self._node.root / "kubepods"
            try:
                (above / "cpuset.cpus").write_text("0-1,4-7")
                return self._found(pod)
            finally:
                (above / "cpuset.cpus").write_text("0-7")

    def a_device_behind_the_other_bridge(self) -> Any:
        with self._pod("0-3") as (pod, _):
            return self._found(pod, {self._displays[1]: [1]})

    def a_device_on_each_side(self) -> Any:
        with self._pod("0-3") as (pod, _):
            return self._found(pod, {name: [] for name in self._displays[:2]})

    def a_device_without_a_place(self) -> Any:
        with self._pod("0-3") as (pod, _):
            return self._found(pod, {self._displays[2]: []})

    def decided_across_nodes(self) -> Any:
        """Nothing is wrong: that is what was decided."""
        with self._pod("2-5") as (pod, _):
            return self._found(pod)

    def nobody_asked(self) -> Any:
        """A container that shares what is left."""
        with self._pod(None) as (pod, _):
            return self._found(pod)


def _meminfo(node_id: int, name: str) -> str:
    lines = read(Path(f"/sys/devices/system/node/node{node_id}/meminfo")).splitlines()
    (line,) = (line for line in lines if f" {name}:" in line)
    return line.split()[-2]


def _played(scene: Callable[[], Any]) -> Any:
    began = time.monotonic()
    try:
        seen = scene()
    except Exception:
        seen = {"failed": traceback.format_exc()}
    print(f"{scene.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    return seen


def play(kind: type[Faults]) -> None:
    """Print what each scene of a class found, or how it failed, and the kernel's release."""
    hierarchy = cast("Hierarchy", sys.argv[1])
    with nursery() as plants, node(hierarchy) as here:
        faults = kind(here, plants, sys.argv[2:])
        scenes = [
            getattr(faults, name)
            for name, member in vars(kind).items()
            if not name.startswith("_") and callable(member)
        ]
        seen = {scene.__name__: _played(scene) for scene in scenes}
    json.dump({"release": os.uname().release, **seen}, sys.stdout)


if __name__ == "__main__":
    play(Faults)
