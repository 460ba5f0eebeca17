"""A node's pods from the first to the last: some with CPUs of their own, some that share."""

import json
from pathlib import Path
from typing import Any

from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS
from tests.vm.scripts.attempt import cpus_allowed, read, wait_for_hotplug, write
from tests.vm.scripts.node import Node, Pod, cpus_of, mems_of

SYSTEM = Path("/sys/devices/system/cpu")


class Life:
    """The scenes, in the order in which they are played."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.shared = Pod(name="shared", qos="Burstable")
        self.besteffort = Pod(name="besteffort", qos="BestEffort", driver="systemd")
        self.first = Pod(
            name="first", annotations={RESOURCE_STATUS: json.dumps({"cpuset": "4-5"})}
        )
        own = json.dumps({"version": 1, "cpus": "2-3"})
        self.second = Pod(
            name="second", qos="Burstable", driver="systemd", annotations={ASSIGNMENT: own}
        )

    def start(self) -> Any:
        """Shared pods run; then pods with CPUs of their own come."""
        node = self.node
        node.admit(self.shared, self.besteffort)
        node.start(self.shared, "crun")
        node.start(self.besteffort, "runc")
        seen: dict[str, Any] = {"alone": self._now(node.run_pass())}
        node.admit(self.first, self.second)
        seen["planned"] = node.plan()
        seen["admitted"] = self._now(node.run_pass())
        node.start(self.first, "crun", name="sandbox", listed=False)
        seen["sandbox"] = node.run_pass()["writes"]
        first = [node.start(self.first, "crun"), node.start(self.first, "runc", name="side")]
        second = [
            node.start(self.second, "crun", nested=True),
            node.start(self.second, "runc", name="side"),
        ]
        seen["first reads"] = {
            "first": [each.first[0] for each in first],
            "second": [each.first[0] for each in second],
        }
        seen["nested"] = [each.name for each in second[0].group.iterdir() if each.is_dir()]
        seen["running"] = self._now(node.run_pass())
        return seen | self._idle()

    def restart(self) -> Any:
        """A container ends and starts anew, with another id, before the agent hears of it."""
        self.node.stop(self.first)
        old = self.first.listed["app"]
        container = self.node.start(self.first, "runc")
        self.first.listed["app"] = old
        seen = {"first reads": container.first[0], "unheard": self._now(self.node.run_pass())}
        self.first.listed["app"] = container.id
        return {**seen, "heard": self._now(self.node.run_pass())} | self._idle()

    def drift(self) -> Any:
        """Somebody else writes the cgroups of a pod and of its container."""
        pod, leaf = self.first.path, self.first.leaf(self.first.running["app"].id)
        seen: dict[str, Any] = {}
        for name, changes in {
            "container": {leaf: "4"},
            "elsewhere": {leaf: "0-1"},
            "both": {pod: "0-7", leaf: "0-7"},
            "pod": {pod: "0-3"} if self.node.hierarchy == "v2" else {},
        }.items():
            wrote = [write(self.node.root / at / "cpuset.cpus", to) for at, to in changes.items()]
            before = cpus_of(self.first)
            after = self._now(self.node.run_pass())
            seen[name] = {"wrote": wrote, "before": before, "after": after} | self._idle()
        return seen

    def unplug(self) -> Any:
        """A CPU of a pod, and one that is shared, go and come back."""
        seen: dict[str, Any] = {}
        self._online("0", 5, 6)
        seen["gone"] = self._cpus()
        seen["while gone"] = self._now(self.node.run_pass())
        self._online("1", 5, 6)
        seen["back"] = self._cpus()
        seen["after"] = self._now(self.node.run_pass())
        return seen | self._rescued() | self._idle()

    def unplug_all(self) -> Any:
        """All CPUs of a pod go and come back."""
        seen: dict[str, Any] = {}
        self._online("0", 4, 5)
        seen["gone"] = self._where()
        seen["while gone"] = self._now(self.node.run_pass())
        self._online("1", 4, 5)
        seen["back"] = self._where()
        seen["after"] = self._now(self.node.run_pass())
        seen |= self._rescued()
        seen["at last"] = self._where()
        for name in list(self.first.running):
            self.node.stop(self.first, name)
            self.node.start(self.first, "runc", name=name)
        seen["restarted"] = self._now(self.node.run_pass())
        return seen | self._idle()

    def restore(self) -> Any:
        """Everything is taken back by the command; then a pass comes, as it would of an agent."""
        seen: dict[str, Any] = {"told": self.node.restore(), "cpus": self._cpus()}
        seen["mems"] = {pod.name: mems_of(pod) for pod in self._pods()}
        seen["sets"] = [self.node.set_of(pod.path) for pod in self._pods()]
        seen["again"] = self.node.restore()["printed"]
        seen["bound"] = self._now(self.node.run_pass())
        return seen | self._idle()

    def end(self) -> Any:
        """The pods with CPUs of their own end, one after the other."""
        self.node.remove(self.first)
        seen: dict[str, Any] = {"one left": self._now(self.node.run_pass())}
        self.node.remove(self.second)
        seen["none left"] = self._now(self.node.run_pass())
        seen |= self._idle()
        self.node.remove(self.shared, self.besteffort)
        return seen

    def _pods(self) -> list[Pod]:
        return [pod for pod in self.node.pods if pod.running]

    def _cpus(self) -> dict[str, str]:
        """The CPUs that tasks may use, by pod and container."""
        return {
            f"{pod.name}/{name}": cpus_of(pod, name)
            for pod in self._pods()
            for name in pod.running
        }

    def _where(self) -> dict[str, tuple[bool, str]]:
        """Whether a pod's first processes are in their container's cgroup, and their CPUs."""
        return {
            name: (each.pid in each.tasks(), cpus_allowed(each.pid))
            for name, each in self.first.running.items()
        }

    def _now(self, told: dict[str, Any]) -> dict[str, Any]:
        """What a pass told, and what tasks may use now."""
        return {**told, "cpus": self._cpus()}

    def _idle(self) -> dict[str, Any]:
        """What a pass writes when nothing has happened."""
        return {"idle": self.node.run_pass()["writes"]}

    def _online(self, state: str, *cpus: int) -> None:
        """Take CPUs away or give them back, and wait until the kernel has told all cpusets."""
        for cpu in cpus:
            (SYSTEM / f"cpu{cpu}/online").write_text(state)
        wait_for_hotplug(self.node.root)

    def _rescued(self) -> dict[str, Any]:
        """On v1: what a pass does once somebody has given the pods' parents all CPUs again."""
        if self.node.hierarchy == "v2":
            return {}
        for pod in self._pods():
            group = self.node.root
            for name in pod.path.split("/"):
                group = group / name
                write(group / "cpuset.cpus", read(SYSTEM / "online"))
        return {"parents whole": self._now(self.node.run_pass())}
