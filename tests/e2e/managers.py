"""Nodes whose kubelet hands out CPUs and memory itself, and what is seen of it."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.kubelet import Policy, configuration
from tests.e2e.cluster import DEFAULT, Cluster
from tests.e2e.pods import Json, container, pod
from tests.e2e.served import PASSES, WRITES, Served, counted

KUBELET = "/var/lib/kubelet"
STATES = ("cpu_manager_state", "memory_manager_state")
PYTHON = Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name


class StaticBench(Bench):
    """kubelet's static CPU manager, which keeps CPUs 0 and 4 for the system."""

    def __init__(self) -> None:
        super().__init__(policy="static")


class NumaBench(Bench):
    """The static memory manager as well, and pods on one NUMA node or not at all."""

    def __init__(self) -> None:
        super().__init__(policy="numa")


def exclusive(name: str, cpus: int = 2) -> Json:
    """A pod that kubelet's static CPU manager gives CPUs of its own."""
    return pod(name, container(cpu=str(cpus), guaranteed=True))


STOP = """\
pid=$(cat /run/kubelet.pid)
tr '\\0' '\\n' </proc/$pid/cmdline >/run/kubelet.words
kill $pid
while [ -d /proc/$pid ]; do sleep 0.1; done
mv /run/share/kubelet.log /run/share/kubelet-before-$pid.log
"""

START = """\
set --
while read -r word; do set -- "$@" "$word"; done </run/kubelet.words
"$@" >/run/share/kubelet.log 2>&1 </dev/null &
echo $! >/run/kubelet.pid
"""


def restart_kubelet(cluster: Cluster, policy: Policy | None = None) -> None:
    """End kubelet and start it again, with another policy as its documentation says, and wait.

    Without its state, since it doesn't start with that of another policy; pods go on meanwhile:
    https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/
    """
    node = cluster.node
    node.run(f"set -e\n{STOP}")
    if policy is not None:
        new = node.share / f"config-{policy}.yaml"
        new.write_text(json.dumps(configuration(policy, node.layout)))
        states = " ".join(f"{KUBELET}/{name}" for name in STATES)
        node.run(f"rm -f {states} && cp /run/share/{new.name} {KUBELET}/config.yaml")
    before = heard(cluster)
    node.run(f"set -e\n{START}")
    cluster.until("kubelet is back", lambda: heard(cluster) not in ("", before))


def heard(cluster: Cluster) -> str:
    """When kubelet last said that its node is ready, empty where it isn't."""
    found = cluster.find(f"/api/v1/nodes/{cluster.node.name}") or {"status": {}}
    conditions = found["status"].get("conditions", [])
    return next(
        (
            each["lastHeartbeatTime"]
            for each in conditions
            if (each["type"], each["status"]) == ("Ready", "True")
        ),
        "",
    )


def given(cluster: Cluster) -> dict[str, str]:
    """The CPUs that kubelet's state gives each container, by `pod/container`; `` is shared."""
    state = json.loads(cluster.node.read(f"{KUBELET}/cpu_manager_state"))
    pods = {
        each["metadata"]["uid"]: each["metadata"]["name"]
        for each in cluster.plane.ask("GET", f"/api/v1/namespaces/{DEFAULT}/pods")["items"]
    }
    found = {
        f"{pods.get(uid, uid)}/{name}": cpus
        for uid, entry in state.get("entries", {}).items()
        for name, cpus in entry.items()
    }
    return {**found, "": state["defaultCpuSet"]}


def group(cluster: Cluster, pod: str) -> str:
    """The folder of a pod's own cgroup, below that of kubelet's."""
    manifest = cluster.pod(pod)
    assert manifest is not None
    kind = manifest["status"]["qosClass"].lower()
    own = f"pod{manifest['metadata']['uid']}"
    return own if kind == "guaranteed" else f"{kind}/{own}"


def container_cpus(cluster: Cluster, pod: str, file: str = "cpuset.cpus") -> set[str]:
    """What the cgroups of a pod's containers say, its sandbox's too."""
    folder = f"/sys/fs/cgroup/kubepods/{group(cluster, pod)}"
    return set(cluster.node.run(f"cat {folder}/*/{file}").splitlines())


def uses(cluster: Cluster, pod: str) -> set[str]:
    """The CPUs that are in force for a pod's containers, its sandbox's too."""
    return container_cpus(cluster, pod, "cpuset.cpus.effective")


def held(cluster: Cluster, pod: str) -> frozenset[int]:
    """The CPUs that the kernel holds a pod's own cgroup to."""
    return cpulist.parse(cluster.in_force(pod)[0])


# What the agent says of itself.


def status(cluster: Cluster) -> Json:
    """The agent's last report."""
    return Served.by(cluster).report()


def writes(cluster: Cluster) -> dict[str, int]:
    """How many cpusets the agent has written since it started."""
    return Served.by(cluster).series(WRITES)


def passes(cluster: Cluster) -> int:
    """How many passes the agent has made."""
    return counted(cluster, PASSES)


def quarrels(cluster: Cluster) -> dict[str, object]:
    """All signs of a fight that the agent gives: nothing where there is none."""
    report = status(cluster)
    signs = {
        "drift": {who: count for who, count in report["drift"].items() if count},
        "conditions": [each for each in report["conditions"] if each["code"].startswith("drift-")],
        "refused": {key: n for key, n in writes(cluster).items() if "refused" in key and n},
        "events": [
            each["message"]
            for each in cluster.plane.ask("GET", "/api/v1/events")["items"]
            if each["reason"] in ("CPUSetDrift", "CPUSetConflict", "CPUSetWriteFailed")
        ],
    }
    return {name: found for name, found in signs.items() if found}


@contextmanager
def watched(cluster: Cluster, pod: str) -> Iterator[Path]:
    """Have each write to pods' cpusets told in a file, and what `pod` may use, in the block.

    The file is whole when the block ends.
    """
    share, folder = cluster.node.share, f"/sys/fs/cgroup/kubepods/{group(cluster, pod)}"
    name = f"cpusets-{pod}"
    (share / name).write_text("")
    (share / f"{name}.stop").unlink(missing_ok=True)
    words = shlex.join([str(PYTHON), "/run/share/watch_cpusets.py", f"/run/share/{name}.stop"])
    cluster.node.run(f"{words} {folder} >/run/share/{name} 2>&1 </dev/null &")
    cluster.until("the watch is on", lambda: "began" in (share / name).read_text())
    try:
        yield share / name
    finally:
        (share / f"{name}.stop").touch()
        cluster.until("the watch is over", lambda: "ended" in (share / name).read_text())
