"""Where pods of a node run, and where they should, by the kernel and by what was decided."""

import json

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from tests.e2e.bench.guest import CommandError, Guest
from tests.e2e.cluster import Cluster
from tests.e2e.pods import Json

ASSIGNMENT = "numa-agent.io/assignment"
DECISIONS = "/run/numa-agent/decisions.json"
LOOK = (
    "find /sys/fs/cgroup/kubepods -path '*/pod*' -name cpuset.cpus.effective -exec grep -H . {} +"
)


def by_group(node: Guest) -> dict[str, CpuSet]:
    """The CPUs in force in each pod's and container's cgroup, by its path below kubepods."""
    # One that ends meanwhile has grep complain, and is no line of its output.
    lines = node.run(LOOK, check=False).splitlines()
    found = {}
    for path, _, cpus in (line.partition(":") for line in lines):
        if path.endswith("/cpuset.cpus.effective"):
            group = path.removeprefix("/sys/fs/cgroup/kubepods/").rpartition("/")[0]
            found[group] = cpulist.parse(cpus)
    return found


def uid_of(group: str) -> str:
    """The uid of the pod that a cgroup below kubepods belongs to."""
    return next(part[3:] for part in group.split("/") if part.startswith("pod"))


def uid(cluster: Cluster, name: str) -> str:
    """A pod's uid."""
    found = cluster.pod(name)
    assert found is not None
    return str(found["metadata"]["uid"])


def running(cluster: Cluster) -> dict[str, Json]:
    """Every pod that is on the node and isn't on its way out, by uid."""
    query = f"fieldSelector=spec.nodeName={cluster.node.name}"
    pods = cluster.plane.ask("GET", f"/api/v1/pods?{query}")["items"]
    alive = (each for each in pods if "deletionTimestamp" not in each["metadata"])
    return {each["metadata"]["uid"]: each for each in alive}


def kept(node: Guest) -> dict[str, CpuSet]:
    """The CPUs that the agent's assigner gave to pods, by uid, as it wrote them down."""
    try:
        pods = json.loads(node.read(DECISIONS))["pods"]
    except CommandError:
        return {}
    return {uid: cpulist.parse(each["cpus"]) for uid, each in pods.items()}


def own(cluster: Cluster) -> dict[str, CpuSet]:
    """The CPUs that pods have for themselves, by uid: by annotation, else by the assigner."""
    found = kept(cluster.node)
    for uid, each in running(cluster).items():
        if text := each["metadata"].get("annotations", {}).get(ASSIGNMENT):
            found[uid] = cpulist.parse(json.loads(text)["cpus"])
    return found


def online(node: Guest) -> CpuSet:
    """The node's CPUs that are online."""
    return cpulist.parse(node.read("/sys/devices/system/cpu/online"))


def outside(cluster: Cluster) -> list[str]:
    """Each cgroup that isn't held to exactly its CPUs: its pod's own, or what nobody has."""
    pods, owned, there = running(cluster), own(cluster), online(cluster.node)
    taken = frozenset().union(*owned.values())
    found = []
    seen = by_group(cluster.node)
    for group, cpus in seen.items():
        pod = pods.get(uid_of(group))
        if pod is not None and cpus != (wanted := owned.get(uid_of(group), there - taken) & there):
            name = pod["metadata"]["name"]
            found.append(f"{name}: {group}: {cpulist.render(cpus)}, not {cpulist.render(wanted)}")
    bound = {uid_of(group) for group in seen}
    found += [f"{uid}: has no cgroup" for uid in pods.keys() - bound]
    found += [f"{uid}: is gone and its CPUs are kept" for uid in owned.keys() - pods.keys()]
    return found
