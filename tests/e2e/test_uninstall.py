"""The agent is removed by the commands of docs/upgrade-and-uninstall.md, and leaves no trace."""

import pytest

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.placed import by_group, online
from tests.e2e.pods import Json, assigned, pod
from tests.e2e.trouble import Before, TroubleBench, agent_process, bound, restarts, settled
from tests.vm.guest import CHECKOUT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [TroubleBench], indirect=True, scope="session"),
]

PAGE = CHECKOUT / "docs" / "upgrade-and-uninstall.md"
RESTORE, EXITS, DELETE, HELM, OBJECTS = range(5)


def documented() -> list[str]:
    """The commands of the page's chapter on uninstalling, each in one line."""
    chapter = PAGE.read_text().partition("\n## Uninstall\n")[2]
    lines = [line.strip() for line in chapter.splitlines() if line.startswith("       ")]
    return "\n".join(lines).replace("\\\n", "").splitlines()


def with_overlay(command: str, named: str, own: str) -> str:
    """The command with the user's own overlay in place of the one that the page names."""
    assert f"-k {named}" in command
    return command.replace(named, own)


def exits(cluster: Cluster, command: str) -> dict[str, list[str]]:
    """What the page's command shows for each node: what runs there, and its exit code."""
    lines = [line.split() for line in cluster.shell(command).splitlines()]
    # There is none between the old pod's end and the new one's coming.
    assert not lines or lines[0] == ["NODE", "DOES", "EXIT"]
    return {node: shown for node, *shown in lines[1:]}


def annotations(cluster: Cluster) -> dict[str, Json]:
    """What is written on the scenario's pods."""
    pods = cluster.plane.ask("GET", "/api/v1/namespaces/default/pods")["items"]
    return {each["metadata"]["name"]: each["metadata"].get("annotations", {}) for each in pods}


def traces(cluster: Cluster) -> list[str]:
    """What is left of the agent but the definition: objects, files, narrowed cgroups."""
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    kinds = [kind for kind in kinds if not kind.startswith("events")]
    shown = cluster.kubectl("get", ",".join(kinds), "-A", "-o", "name").split()
    found = [name for name in shown if "numa-agent" in name]
    found += [name for name in shown if name.startswith("noderesourcetopolog")]
    whole, node = online(cluster.node), cluster.node
    found += [
        f"{group}: {cpulist.render(cpus)}"
        for group, cpus in by_group(node).items()
        if cpus != whole
    ]
    mems = "find /sys/fs/cgroup/kubepods -name cpuset.mems.effective -exec cat {} +"
    found += sorted({*node.run(mems, check=False).split()} - {"0-1"})
    found += sorted({*node.run("ls -A /run/numa-agent").split()} - {"lock"})
    node.run("flock -n /run/numa-agent/lock true")
    return found


def end_agent(cluster: Cluster) -> None:
    """Have the agent end by itself once, and wait until it is started again.

    From then on its pod has the exit code of that, as `restore` has one.
    """
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    before = restarts(cluster)
    cluster.node.run(f"kill {agent_process(cluster, agent['metadata']['uid'])}")
    cluster.until("the agent is started again", lambda: restarts(cluster) == before + 1)


def test_the_documented_steps_leave_no_trace(cluster: Cluster, bench: Bench) -> None:
    node, commands = cluster.node, documented()
    bound(cluster)
    end_agent(cluster)
    cluster.until("the agent is ready again", bench.has_agent)
    warned, annotated = Before.of(cluster).warned, annotations(cluster)
    own = bench.own_overlay("restore", components=["restore"])
    try:
        cluster.shell(with_overlay(commands[RESTORE], "manifests/overlays/restore", str(own)))
        done = {node.name: ["restore", "0"]}
        cluster.until("restored", lambda: exits(cluster, commands[EXITS]) == done)
        cluster.shell(
            with_overlay(commands[DELETE], "manifests/overlays/kube-scheduler", str(own))
        )
        cluster.shell(commands[OBJECTS])
        assert traces(cluster) == []
        assert annotations(cluster) == annotated
        cluster.apply(pod("later", annotations=assigned("5", mems="1")))
        cluster.running("later")
        assert traces(cluster) == []
        assert cluster.cgroup("later", "cpuset.cpus") == ""
    finally:
        bench.deploy()
    cluster.until("the agent is ready", bench.has_agent)
    # Memory of pods that run isn't bound: docs/binding.md.
    settled(cluster, Before(warned=warned, restarts=0), expected=["MemoryNotBound"])
