"""What goes wrong with a copy of a recorded machine, before its agent starts or later."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.monitoring.recording import Agent
from tests.serve.test_tls import make_pair

STATUS = "scheduling.koordinator.sh/resource-status"
POD = "sys/fs/cgroup/kubepods.slice/kubepods-pod275ef510_9903_477e_8b7c_66bbd1930b1f.slice"
KUBELETS_STATE = "var/lib/kubelet/cpu_manager_state"
OTHERS = "0-55,112-167"
"""CPUs that the assigned pod wasn't given."""

RUN_SECONDS = 45
"""How long an agent is scraped."""

Lay = Callable[[Path], None]
Change = Callable[[Agent], None]
Setting = Mapping[str, object]


def memory_bound(root: Path) -> None:
    """The pod began under the agent, so that its memory nodes are set too."""
    _set(root / POD, "mems", "1")


def assigned(cpus: str, pod: str) -> Lay:
    """Gives a pod a CPU set."""
    return annotated(pod, {STATUS: json.dumps({"cpuset": cpus})})


def annotated(pod: str, annotations: Mapping[str, str]) -> Lay:
    """Gives the pod whose name begins so these annotations."""

    def lay(root: Path) -> None:
        memory_bound(root)
        with _pods(root) as pods:
            found = next(each for each in pods if each["metadata"]["name"].startswith(pod))
            found["metadata"]["annotations"] = dict(annotations)

    return lay


@contextmanager
def _pods(root: Path) -> Iterator[list[Any]]:
    """The machine's pods, to be changed."""
    path = root / "answers/pods.json"
    answer = json.loads(path.read_text())
    yield answer["items"]
    path.write_text(json.dumps(answer))


def _set(group: Path, kind: str, ids: str) -> None:
    """Set a cgroup's list as somebody else would, with what the kernel makes of it."""
    written = group.parents[3] / "written"
    for path in (group / f"cpuset.{kind}", *group.rglob(f"cpuset.{kind}.effective")):
        # As with the kernel's files, nobody finds one half-written.
        written.write_text(f"{ids}\n")
        written.replace(path)


def unreadable_pod(agent: Agent) -> None:
    with _pods(agent.root) as pods:
        pods[1]["status"]["containerStatuses"][0]["containerID"] = "containerd://none"


def quota(root: Path) -> None:
    memory_bound(root)
    (root / POD / "cpu.max").write_text("1200000 100000\n")


def unwritable(root: Path) -> None:
    memory_bound(root)
    (root / POD / "cpuset.cpus").unlink()
    (root / POD / "cpuset.cpus").mkdir()


def without_kubelets_state(root: Path) -> None:
    memory_bound(root)
    (root / KUBELETS_STATE).write_text("{")


def broken(path: str) -> Change:
    """Leaves a file that can't be parsed."""

    def change(agent: Agent) -> None:
        (agent.root / path).write_text("{")

    return change


def taken_away(agent: Agent) -> None:
    """Another agent sets the pod's CPUs, whenever they are as decided."""
    group = agent.root / POD
    if (group / "cpuset.cpus").read_text().strip() != OTHERS:
        _set(group, "cpus", OTHERS)


def without_machine(agent: Agent) -> None:
    agent.root.rename(agent.root.with_suffix(".away"))


def restarting(agent: Agent) -> None:
    """It ends as soon as it was seen to be up again, until there is just time to come back."""
    up = all(text is not None for _, text in agent.scrapes[-2:])
    if up and len(agent.scrapes) < RUN_SECONDS - 10:
        agent.restart()


def misspelled(agent: Agent) -> None:
    text = agent.config.read_text()
    agent.config.write_text(text.replace("passSeconds: 5", "passSeconds: soon"))


def certificate(root: Path) -> Setting:
    pair = make_pair(root.parent / f"{root.name}.tls", "tls")
    return {"metricsTlsCert": pair.certificate, "metricsTlsKey": pair.key}


def bad_certificate(agent: Agent) -> None:
    (agent.root.parent / f"{agent.root.name}.tls/tls.crt").write_text("no certificate")
