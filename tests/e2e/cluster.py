"""The cluster as a scenario uses it: apply, wait, look."""

import copy
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.e2e.bench.cgroups import node_uid
from tests.e2e.bench.guest import CommandError, Guest
from tests.e2e.kubectl import Kubectl, KubectlError
from tests.e2e.pods import Json

T = TypeVar("T")

NAMESPACE = "numa-agent"
"""The agent's."""

DEFAULT = "default"
"""The scenarios'."""

CONFIG = ("--config", "/etc/numa-agent/config.yaml")

TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"

SECONDS = 120
POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Born:
    """What the first process of a container could use when it began, in the kernel's lists."""

    cpus: str
    mems: str


class Cluster(Kubectl):
    """One control plane with its guests. `node` is the one that scenarios look at."""

    def on(self, guest: Guest) -> "Cluster":
        """The same cluster with another guest as `node`."""
        other = copy.copy(self)
        other.node = guest
        return other

    def each_node(self) -> list["Cluster"]:
        """The cluster with each of its guests as `node`, its own first."""
        return [self, *(self.on(guest) for guest in self.guests if guest is not self.node)]

    # What a user does.

    def apply(self, *objects: Json) -> None:
        """`kubectl apply` of the objects, which `clean` deletes when the scenario is over."""
        for each in objects:
            self._applied.append((each["kind"], each["metadata"]["name"]))
        listed = {"kind": "List", "apiVersion": "v1", "items": objects}
        self.kubectl("apply", "-f", "-", data=listed)

    def delete(self, pod: str, *, seconds: float = SECONDS) -> None:
        """Delete a pod and wait until it is gone."""
        self.kubectl("delete", "pod", pod, f"--timeout={seconds}s", seconds=seconds + 10)

    def clean(self, *, force: bool = False) -> None:
        """Delete all that was applied and wait; `force` doesn't ask the node."""
        names = [f"{kind}/{name}" for kind, name in dict.fromkeys(self._applied)]
        self._applied.clear()
        if names:
            how = ("--grace-period=0", "--force") if force else ("--grace-period=1",)
            self.kubectl(
                "delete", "--ignore-not-found", *how, f"--timeout={SECONDS}s", *names, seconds=150
            )

    # Waiting.

    def until(self, what: str, check: Callable[[], T | None], *, seconds: float = SECONDS) -> T:
        """What `check` returns once it is true; a node that can't be asked tells nothing yet.

        AssertionError with what the pods and the agent say if that isn't so in `seconds`;
        GuestHungError if a guest hangs meanwhile.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                if found := check():
                    return found
                why = ""
            except (CommandError, KubectlError) as error:
                why = f"{error}\n"
            if time.monotonic() > deadline:
                self.check_alive()
                raise AssertionError(f"{what}: not within {seconds} s\n{why}{self._overview()}")
            time.sleep(POLL_SECONDS)

    def running(self, *pods: str, seconds: float = SECONDS) -> None:
        """Wait until every container of the pods is ready."""
        for name in pods:
            self.until(f"{name} ready", lambda name=name: self.ready(name), seconds=seconds)  # type: ignore[misc]

    def ready(self, pod: str, namespace: str = DEFAULT) -> bool:
        """Whether a pod is."""
        found = self.pod(pod, namespace) or {}
        return condition(found, "Ready") == "True"

    # Looking.

    def find(self, path: str) -> Json | None:
        """An object of the API server, None where there is none."""
        try:
            return self.plane.ask("GET", path)
        except AssertionError as error:
            if "HTTP 404" in str(error):
                return None
            raise

    def pod(self, name: str, namespace: str = DEFAULT) -> Json | None:
        """A pod, None where there is none."""
        return self.find(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def started(self, pod: str, namespace: str = DEFAULT) -> str:
        """When the pod's first container that runs now was started, empty while none runs."""
        found = self.pod(pod, namespace) or {"status": {}}
        statuses = found["status"].get("containerStatuses", [])
        moments = (each["state"].get("running", {}).get("startedAt", "") for each in statuses)
        return min(filter(None, moments), default="")

    def events(self, pod: str, namespace: str = DEFAULT) -> dict[str, str]:
        """The last message of each reason that there is an Event with; of this pod, not of one
        before it under its name.
        """
        metadata = (self.pod(pod, namespace) or {"metadata": {}})["metadata"]
        selector = f"fieldSelector=involvedObject.name={pod}"
        found = self.plane.ask("GET", f"/api/v1/namespaces/{namespace}/events?{selector}")
        return {
            each["reason"]: each["message"]
            for each in found["items"]
            if each["involvedObject"].get("uid") in (metadata.get("uid"), node_uid(metadata))
        }

    def logs(self, pod: str, container: str = "app", *more: str) -> str:
        """What a container said."""
        return self.kubectl("logs", pod, "-c", container, *more)

    def born(self, pod: str, container: str = "app") -> Born:
        """What a container's first process could use when it began: pods.LOOK."""

        def said() -> dict[str, str]:
            lines = (line.split() for line in self.logs(pod, container).splitlines())
            return {words[0]: words[1] for words in lines if len(words) == 2}

        both = self.until(f"{pod} says what it may use", lambda: found(said(), 2), seconds=30)
        return Born(cpus=both["Cpus_allowed_list:"], mems=both["Mems_allowed_list:"])

    def group(self, pod: str, container: str = "") -> str:
        """The folder of the pod's own cgroup, or of one of its containers'."""
        manifest = self.pod(pod)
        assert manifest is not None, f"no pod {pod}"
        layout = self.node.layout
        return layout.container(manifest, container) if container else layout.pod(manifest)

    def cgroup(self, pod: str, file: str, container: str = "") -> str:
        """A file of the pod's own cgroup, or of one of its containers'."""
        return self.node.read(f"{self.group(pod, container)}/{file}")

    def in_force(self, pod: str, container: str = "") -> tuple[str, str]:
        """The CPUs and memory nodes that the kernel holds a pod to, in its lists.

        Or one of its containers: on cgroup v1 it is those that are held.
        """
        cpus, mems = (self.cgroup(pod, file, container) for file in self.node.layout.effective)
        return cpus, mems

    # The agent.

    def agents(self) -> list[str]:
        """The names of the agent's pods on `node`: one, or none yet."""
        selector = "labelSelector=app.kubernetes.io%2Fname%3Dnuma-agent"
        pods = self.plane.ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?{selector}")["items"]
        return [
            each["metadata"]["name"]
            for each in pods
            if each["spec"].get("nodeName") == self.node.name
            and "deletionTimestamp" not in each["metadata"]
        ]

    @property
    def agent(self) -> str:
        """The name of the agent's pod on `node`; AssertionError unless there is one."""
        names = self.agents()
        assert len(names) == 1, f"agents on {self.node.name}: {names}"
        return names[0]

    def ask_agent(self, *words: str, seconds: float = SECONDS) -> bytes:
        """What `numa-agent WORDS` says in the agent's pod, whatever its exit code."""
        command = ("exec", "-n", NAMESPACE, self.agent, "--", "numa-agent", *words, *CONFIG)
        done = self.done(*command, seconds=seconds)
        if not done.stdout:
            why = done.stderr.decode(errors="replace")
            raise KubectlError(f"numa-agent {' '.join(words)} in the agent's pod: {why}")
        return done.stdout

    def verify(self, pod: str) -> dict[str, Json]:
        """What `numa-agent verify -o json` says of a pod's containers, by their names."""
        return {each["container"]: each for each in self._verified(pod)["containers"]}

    def verdicts(self, pod: str) -> dict[str, str]:
        """The verdict on each container of a pod."""
        return {name: each["verdict"] for name, each in self.verify(pod).items()}

    def zones(self) -> dict[str, Json]:
        """The zones of the node's published object by name, none while there is no object."""
        found = self.find(f"{TOPOLOGIES}/{self.node.name}") or {"zones": []}
        return {zone["name"]: zone for zone in found["zones"]}

    def idle(self) -> bool:
        """Whether each node's published object says that no pod holds a CPU."""
        return all(
            each.zones() and each.available() == each.available(field="allocatable")
            for each in self.each_node()
        )

    def available(self, resource: str = "cpu", *, field: str = "available") -> dict[str, str]:
        """How much of a resource each published zone has available, or another field of it."""
        return {
            name: each[field]
            for name, zone in self.zones().items()
            for each in zone["resources"]
            if each["name"] == resource
        }

    def _verified(self, pod: str, tries: int = 3) -> Json:
        """What it says, asked again where a source failed: of that nothing can be said."""
        try:
            answer: Json = json.loads(self.ask_agent("verify", f"{DEFAULT}/{pod}", "-o", "json"))
            if tries == 1 or not answer["failures"]:
                return answer
            print(f"verify {pod}: {answer['failures']}")
        except KubectlError as error:
            if tries == 1 or "Traceback" in str(error):
                raise
            print(f"verify {pod}: {error}")
        return self._verified(pod, tries - 1)

    def _overview(self) -> str:
        pods = self.kubectl("get", "pods", "-A", "-o", "wide", check=False)
        events = self.kubectl("get", "events", "-A", "--sort-by=.lastTimestamp", check=False)
        return f"{pods}\n" + "\n".join(events.splitlines()[-20:])


def found(said: dict[str, str], count: int) -> dict[str, str] | None:
    """What was said, None while that isn't all."""
    return said if len(said) == count else None


def condition(thing: Any, kind: str) -> str:
    """The status of an object's condition, empty while it has none."""
    conditions = thing.get("status", {}).get("conditions", [])
    return next((each["status"] for each in conditions if each["type"] == kind), "")
