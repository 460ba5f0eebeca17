"""Where the pages of a pod's processes are."""

import json
from typing import Any

from numa_agent.core.own_assignment import ASSIGNMENT
from numa_agent.core.schedulers.koordinator import RESOURCE_STATUS
from tests.vm.containers import Container
from tests.vm.scripts.attempt import read
from tests.vm.scripts.node import Node, Pod, mems_of

MIB = 4


def memory(node: Node) -> Any:
    """Pods with memory nodes start, with a sandbox as always; then they take memory."""
    near = {"cpuset": "0-1", "numaNodeResources": [{"node": 1, "resources": {"memory": "64Mi"}}]}
    pods = {
        "koordinator": Pod(name="koordinator", annotations={RESOURCE_STATUS: json.dumps(near)}),
        "own": Pod(name="own", qos="Burstable", driver="systemd", annotations=_own("4-5", "2")),
        "by cpus": Pod(name="by-cpus", qos="Burstable", annotations=_own("6-7", "")),
    }
    for pod in pods.values():
        pod.memory = "64Mi"
        node.admit(pod)
    seen: dict[str, Any] = {"admitted": node.run_pass()}
    node.start(pods["koordinator"], "crun", name="sandbox", listed=False)
    seen["sandbox"] = node.run_pass()["writes"]
    started = {
        "koordinator": node.start(pods["koordinator"], "runc", mib=MIB),
        "own": node.start(pods["own"], "crun", mib=MIB, nested=True),
        "by cpus": node.start(pods["by cpus"], "runc", mib=MIB),
    }
    seen["first reads"] = {name: each.first[1] for name, each in started.items()}
    seen["running"] = node.run_pass()
    seen["mems"] = {name: mems_of(pod) for name, pod in pods.items()}
    for container in started.values():
        container.take_memory()
    seen["pages"] = {name: _where(node, each) for name, each in started.items()}
    seen["idle"] = node.run_pass()["writes"]
    node.remove(*pods.values())
    return seen


def later(node: Node) -> Any:
    """A pod that runs gets another memory node."""
    pod = Pod(name="late", memory="64Mi", annotations=_own("0-1", "0"))
    node.admit(pod)
    node.run_pass()
    container = node.start(pod, "runc", mib=MIB)
    node.run_pass()
    container.take_memory()
    seen: dict[str, Any] = {"before": _where(node, container)}
    pod.annotations = _own("4-5", "1")
    seen["told"] = node.run_pass()
    seen["after"] = [mems_of(pod), _where(node, container)]
    seen["idle"] = node.run_pass()["writes"]
    seen["migrated"] = node.run_pass(mems="migrate")["writes"]
    seen["at last"] = [mems_of(pod), _where(node, container)]
    seen["idle at last"] = node.run_pass(mems="migrate")["writes"]
    node.remove(pod)
    return seen


def _own(cpus: str, mems: str) -> dict[str, str]:
    said = {"version": 1, "cpus": cpus} | ({"mems": mems} if mems else {})
    return {ASSIGNMENT: json.dumps(said)}


def _where(node: Node, container: Container) -> dict[str, Any]:
    """The nodes of the memory that it took, by the process's map and by its cgroup."""
    pages = container.pages()
    return {"pages": pages, "cgroup": _charged(container) if node.hierarchy == "v2" else {}}


def _charged(container: Container) -> dict[str, int]:
    """The MiB of anonymous memory by node.

    https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.numa_stat)
    """
    lines = read(container.group / "memory.numa_stat").splitlines()
    [counts] = (line.split()[1:] for line in lines if line.startswith("anon "))
    found = (count.split("=") for count in counts)
    return {node: int(size) >> 20 for node, size in found}
