"""The pod of docs/examples/train.yaml on a node with cards, and what is seen of it."""

import json
import sys
from pathlib import Path

import yaml

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.gpus import CARDS, MACHINE, RESOURCE
from tests.e2e.bench.images import SHELL
from tests.e2e.cluster import DEFAULT, NAMESPACE, Born, Cluster
from tests.e2e.pods import LOOK, Json
from tests.vm.guest import CHECKOUT

CPUS, SIZE = 3, 2

SCRIPT = f"""\
{LOOK}
read -r now _ </proc/uptime
echo "started at $now"
echo "cards are $NVIDIA_VISIBLE_DEVICES"
look() {{
    while read -r name value; do
        case $name in Cpus_allowed_list:) cpus=$value;; Mems_allowed_list:) mems=$value;; esac
    done </proc/self/status
}}
look
turn=0 before="$cpus $mems"
while [ $turn -lt 200 ]; do
    look
    if [ "$cpus $mems" != "$before" ]; then
        read -r now _ </proc/uptime
        echo "moved at $now from $before to $cpus $mems"
        before="$cpus $mems"
    fi
    turn=$((turn + 1))
    usleep 50000
done
trap 'exit 0' TERM
sleep 100000 &
wait
"""
"""Tells what the first process may use and what it was given, and each change of the first for a
while."""


def train(name: str, memory: str | None = None) -> Json:
    """The example's pod, scaled to the guest, with a shell for a trainer."""
    [made] = yaml.safe_load_all((CHECKOUT / "docs/examples/train.yaml").read_text())
    assert isinstance(made, dict)
    made["metadata"]["name"] = name
    made["spec"] |= {"terminationGracePeriodSeconds": 2, "automountServiceAccountToken": False}
    [main] = made["spec"]["containers"]
    main |= {"image": SHELL, "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", SCRIPT]}
    amounts = {RESOURCE: str(SIZE), "cpu": str(CPUS)} | ({"memory": memory} if memory else {})
    assert main["resources"] == {
        kind: {RESOURCE: "4", "cpu": "24"} for kind in ("limits", "requests")
    }
    main["resources"] = {"limits": amounts, "requests": amounts}
    return made


def offered(cluster: Cluster) -> int:
    """How many cards the Node has to give."""
    node = cluster.find(f"/api/v1/nodes/{cluster.node.name}") or {}
    return int(node["status"]["allocatable"].get(RESOURCE, "0"))


def podresources(cluster: Cluster) -> Json:
    """What kubelet's podresources says."""
    python = Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name
    said = cluster.node.run(f"{python} /run/share/granted.py {CHECKOUT.resolve()}")
    found: Json = json.loads(said)
    return found


def granted(cluster: Cluster, pod: str) -> set[str]:
    """The UUIDs that kubelet's podresources has for a pod."""
    return {
        uuid
        for each in podresources(cluster)["list"]["podResources"]
        if (each["namespace"], each["name"]) == (DEFAULT, pod)
        for container in each["containers"]
        for device in container.get("devices", ())
        if device["resourceName"] == RESOURCE
        for uuid in device["deviceIds"]
    }


def healthy(cluster: Cluster) -> int:
    """How many cards kubelet itself has to give now."""
    devices = podresources(cluster)["allocatable"].get("devices", ())
    return sum(len(each["deviceIds"]) for each in devices if each["resourceName"] == RESOURCE)


def decided(cluster: Cluster, pod: str) -> Json:
    """What the agent's file of decisions has for a pod."""
    manifest = cluster.pod(pod)
    assert manifest is not None
    kept = json.loads(cluster.node.read("/run/numa-agent/decisions.json"))
    found: Json = kept["pods"][manifest["metadata"]["uid"]]
    return found


def requests(cluster: Cluster, pod: str) -> Json:
    """What a pod's only container requests."""
    [main] = (cluster.pod(pod) or {})["spec"]["containers"]
    found: Json = main["resources"]["requests"]
    return found


def seen(cluster: Cluster, pod: str) -> int:
    """Assert that a pod that runs has cards, CPUs and memory of one NUMA node; which one."""
    cluster.running(pod)
    assigned = cluster.until("NUMAAssigned", lambda: cluster.events(pod).get("NUMAAssigned"))
    cards = granted(cluster, pod)
    assert len(cards) == SIZE
    [node] = {CARDS[uuid] for uuid in cards}
    told = cluster.verify(pod)["main"]
    assert (told["verdict"], told["asked"]["has_it"]) == ("aligned", True), told
    cpus = told["cpus"]["decided"]
    chosen = cpulist.parse(cpus)
    assert len(chosen) == CPUS
    assert chosen <= set(MACHINE.nodes[node].cpus)
    assert cpus in assigned
    # Memory is bound where there is an amount that must fit: docs/binding.md.
    mems = str(node) if "memory" in requests(cluster, pod) else "0-1"
    assert cluster.in_force(pod) == (cpus, mems)
    assert cluster.born(pod, "main") == Born(cpus=cpus, mems=mems)
    if mems == "0-1":
        cluster.until("MemoryNotAsked", lambda: cluster.events(pod).get("MemoryNotAsked"))
    else:
        assert "MemoryNotAsked" not in cluster.events(pod)
    keep = decided(cluster, pod)
    assert cpulist.parse(keep["cpus"]) == chosen, keep
    story = cluster.ask_agent("explain", f"{DEFAULT}/{pod}").decode()
    assert "numa-agent's assigner" in story

    def named() -> list[str]:
        said = cluster.logs(pod, "main").splitlines()
        return [line.removeprefix("cards are ") for line in said if line.startswith("cards are ")]

    [line] = cluster.until("it says what it was given", named)
    assert set(line.split(",")) == cards
    return node


def left(cluster: Cluster) -> tuple[dict[str, str], dict[str, str]]:
    """The CPUs and the cards that each published zone has available."""
    return cluster.available(), cluster.available(RESOURCE)


def without(before: dict[str, str], node: int, count: int) -> dict[str, str]:
    """An availability with so much less on one node."""
    zone = f"node-{node}"
    return {**before, zone: str(int(before[zone]) - count)}


def keep(bench: Bench, cluster: Cluster, pod: str) -> None:
    """Leave what users see of a pod in the run's folder."""
    folder = bench.folder / "seed-pod"
    folder.mkdir(exist_ok=True)
    for word in ("verify", "explain"):
        (folder / f"{word}-{pod}.txt").write_bytes(cluster.ask_agent(word, f"{DEFAULT}/{pod}"))
    (folder / f"describe-{pod}.txt").write_text(cluster.kubectl("describe", "pod", pod))
    (folder / f"log-{pod}.txt").write_text(cluster.logs(pod, "main"))
    shown = cluster.kubectl("get", "noderesourcetopologies", "-o", "yaml")
    (folder / f"published-with-{pod}.yaml").write_text(shown)
    agent = cluster.kubectl("logs", "-n", NAMESPACE, cluster.agent)
    (folder / f"agent-with-{pod}.log").write_text(agent)
    # When it was decided, in seconds since 1970, and both clocks now: the log has the other one's.
    clocks = cluster.node.run("date +%s.%N; cat /proc/uptime")
    (folder / f"times-{pod}.txt").write_text(f"decided {decided(cluster, pod)['at']}\n{clocks}")


def ready_agent(cluster: Cluster) -> str:
    """The running agent's pod, empty while there is none or it isn't ready."""
    try:
        name = cluster.agent
    except AssertionError:
        return ""
    return name if cluster.ready(name, NAMESPACE) else ""


def writes(cluster: Cluster, pod: str) -> list[str]:
    """What the running agent says that it wrote to a pod's cgroups, once it says anything.

    It is ready, and what it bound is published, a moment before it says so.
    """

    def lines() -> list[str]:
        said = cluster.kubectl("logs", "-n", NAMESPACE, cluster.agent)
        return said.splitlines() if "written: " in said else []

    said = cluster.until("the agent says what it wrote", lines)
    return [line for line in said if f"{DEFAULT}/{pod}: " in line and " -> " in line]
