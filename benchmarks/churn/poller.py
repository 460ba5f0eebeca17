"""The agent to compare with: it polls, and writes containers' cgroups only.

    python poller.py [SECONDS]

What is usual today, done straight: each 10 s it lists its node's pods, reads the sets of every
running container, writes those that differ and none else, keeps containers without CPUs of their
own off those of others, and puts its NodeResourceTopology. One connection, the standard library.
- koordlet takes kubelet's pods each 10 s (`kubelet-sync-interval`) and reconciles cgroups each
  10 s (`runtime-hooks-reconcile-interval`), containers' and sandboxes' and not pods':
  https://github.com/koordinator-sh/koordinator/blob/main/pkg/koordlet/statesinformer/impl/config.go
  https://github.com/koordinator-sh/koordinator/blob/main/pkg/koordlet/runtimehooks/config.go
  It hears earlier of new pods by inotify, and with a runtime that has NRI it sets the CPUs before
  a container starts: this is koordlet without those two.
- kubelet's own CPU manager reconciles each 10 s (`cpuManagerReconcilePeriod`):
  https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
- nfd-topology-updater and resource-topology-exporter write the whole object each 60 s by default
  (`sleep-interval`), whether it changed or not:
  https://kubernetes-sigs.github.io/node-feature-discovery/stable/reference/topology-updater-commandline-reference.html
  https://github.com/k8stopologyawareschedwg/resource-topology-exporter/blob/main/pkg/config/defaults.go
  Here that comes with every poll: a scheduler decides by it.
"""

import http.client
import json
import os
import re
import ssl
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SECONDS = 10.0
ASSIGNMENT = "numa-agent.io/assignment"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CGROUPS = Path("/host/sys/fs/cgroup")
NODES = Path("/sys/devices/system/node")
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
KIND = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
USER_AGENT = "polling-agent"

Json = dict[str, Any]
Sets = dict[str, str]
"""What the files cpuset.cpus and cpuset.mems of a cgroup should hold; one may be missing."""


class Api:
    """The API server, with the pod's ServiceAccount, over one connection."""

    def __init__(self) -> None:
        context = ssl.create_default_context(cafile=ACCOUNT / "ca.crt")
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        port = int(os.environ["KUBERNETES_SERVICE_PORT"])
        self._connection = http.client.HTTPSConnection(host, port, timeout=10, context=context)

    def ask(self, verb: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        """Status and answer; OSError or HTTPException where there is none."""
        headers = {
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "User-Agent": USER_AGENT,
            "Content-Type": "application/json",
        }
        data = None if body is None else json.dumps(body)
        try:
            self._connection.request(verb, path, data, headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            raise


def numbers(text: str) -> set[int]:
    """The ids of a kernel list."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def listed(ids: Iterable[int]) -> str:
    """Ids as a kernel list without ranges, which the kernel takes as well."""
    return ",".join(map(str, sorted(ids)))


def assigned(pod: Json) -> Sets:
    """What a pod's annotation gives its containers; nothing where it has none."""
    text = pod["metadata"].get("annotations", {}).get(ASSIGNMENT)
    if text is None or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return {}
    said = json.loads(text)
    return {name: said[name] for name in ("cpus", "mems") if name in said}


def owned(pods: list[Json]) -> list[set[int]]:
    """The CPUs of each pod that has its own."""
    return [numbers(sets["cpus"]) for sets in map(assigned, pods) if "cpus" in sets]


def leaves(pod: Json) -> Iterator[Path]:
    """The cgroups of its running containers, with kubelet's driver cgroupfs."""
    kind = pod["status"].get("qosClass", "BestEffort").lower()
    levels = ["kubepods", *([] if kind == "guaranteed" else [kind])]
    own = CGROUPS.joinpath(*levels, f"pod{pod['metadata']['uid']}")
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in pod["status"].get(field, []):
            if "running" in each["state"]:
                yield own / each["containerID"].rpartition("/")[2]


def wanted(pods: list[Json], online: set[int]) -> dict[Path, Sets]:
    """What each running container's cgroup should hold."""
    shared = {"cpus": listed(online.difference(*owned(pods)) or online)}
    return {leaf: assigned(pod) or shared for pod in pods for leaf in leaves(pod)}


class Poller:
    """One node's agent. `writes` counts those to cgroups that the kernel took."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node
        self._object: Json | None = None
        self.writes = 0
        self._zones = {
            each.name: numbers((each / "cpulist").read_text())
            for each in sorted(NODES.iterdir())
            if re.fullmatch(r"node\d+", each.name)
        }

    def poll(self) -> None:
        """List, write what differs, publish."""
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self._node}"
        status, answer = self._api.ask("GET", path)
        if status != 200:
            raise OSError(f"pods: HTTP {status}")
        pods = answer["items"]
        online = set().union(*self._zones.values())
        for leaf, sets in wanted(pods, online).items():
            for name, value in sets.items():
                self._write(leaf / f"cpuset.{name}", value)
        self._publish(online.difference(*owned(pods)))

    def _write(self, file: Path, value: str) -> None:
        try:
            if numbers(file.read_text()) == numbers(value):
                return
            # Not write_text, which truncates first.
            with os.fdopen(os.open(file, os.O_WRONLY), "w") as out:
                out.write(value)
            self.writes += 1
        except FileNotFoundError:
            return  # The container has ended since.
        except OSError as error:
            print(f"{file}: {error}", flush=True)

    def _publish(self, free: set[int]) -> None:
        zones = []
        for name, cpus in self._zones.items():
            every, available = str(len(cpus)), str(len(cpus & free))
            cpu = {"name": "cpu", "capacity": every, "allocatable": every, "available": available}
            zone = f"node-{name.removeprefix('node')}"
            zones.append({"name": zone, "type": "Node", "resources": [cpu]})
        path = f"{TOPOLOGIES}/{self._node}"
        if self._object is None:
            status, self._object = self._api.ask("GET", path)
            if status == 404:
                bare = {**KIND, "metadata": {"name": self._node}, "topologyPolicies": ["None"]}
                _, self._object = self._api.ask("POST", TOPOLOGIES, {**bare, "zones": zones})
                return
        status, stored = self._api.ask("PUT", path, {**self._object, "zones": zones})
        self._object = stored if status == 200 else None


def main() -> None:
    """Poll until it is ended."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    poller = Poller(Api(), os.environ["NODE_NAME"])
    following = time.monotonic()
    while True:
        try:
            poller.poll()
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            print(f"not polled: {error!r}", flush=True)
        print(f"writes {poller.writes}", flush=True)
        following = max(following + seconds, time.monotonic())
        time.sleep(max(0.0, following - time.monotonic()))


if __name__ == "__main__":
    main()
