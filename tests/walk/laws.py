"""What holds of a node whatever happens, and what holds once the agent has passed."""

from itertools import combinations

from numa_agent.core.cgroups import File
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.cpusets import PodTarget
from tests.machine_tree import container_id, uid
from tests.walk.agent import Pass
from tests.walk.node import LiveContainer, LivePod, Node


def check_always(node: Node) -> None:
    """Every task has CPUs, online ones."""
    for task, allowed in node.tasks().items():
        assert allowed & node.online, f"task {task} may run on {set(allowed)}"


def check_writes(node: Node, writes: list[tuple[str, str]]) -> None:
    """Only pods' sets are written, never to nothing; on cgroup v1 not those of pods themselves."""
    pods = tuple(f"{pod.path}/" for pod in node.pods.values())
    leaves = tuple(
        f"{live.path}/" for pod in node.pods.values() for live in pod.containers.values()
    )
    for path, text in writes:
        assert path.startswith(leaves if node.v1 else pods), path
        assert path.rpartition("/")[2] in ("cpuset.cpus", "cpuset.mems")
        assert text.strip(), f"{path} was emptied"


def check_disjoint(found: Pass) -> None:
    """No CPU is two pods' own, be it by an assignment or from kubelet."""
    if found.planned is None:
        return
    inputs = found.planned.inputs
    own = dict(found.planned.desired.assigned)
    if inputs.kubelet is not None:
        for of, cpus in inputs.kubelet.by_pod.items():
            own[of] = own.get(of, CpuSet()) | cpus
    for (one, its), (other, theirs) in combinations(sorted(own.items()), 2):
        assert not its & theirs, f"{one} and {other} both own {set(its & theirs)}"


def check_on_the_way(found: Pass) -> None:
    """After any write each task has what it had and keeps, and at most what it had or gets."""
    old, new = found.states[0], found.states[-1]
    for state in found.states:
        for task, allowed in state.items():
            assert old[task] & new[task] <= allowed <= old[task] | new[task]


def check_rights(node: Node, found: Pass) -> None:
    """Each pod that the agent may write has what was decided for it, and no more."""
    if found.planned is None:
        return
    assigned = found.planned.desired.assigned
    borrow = found.planned.options.borrow
    borrowers = found.planned.inputs.borrowers if borrow else frozenset[str]()
    for target in found.planned.desired.targets:
        own = target.pod.uid
        others = CpuSet().union(*(cpus for of, cpus in assigned.items() if of != own))
        if own not in borrowers:
            assert not (target.cpus or CpuSet()) & others, target
        pod = next((each for each in node.pods.values() if uid(each.number) == own), None)
        # Without the API server the agent knows pods that have gone.
        if (
            pod is not None
            and pod.there
            and target.pod.full_name not in found.held_back | found.failed
        ):
            _check_pod(node, pod, target)


def _check_pod(node: Node, pod: LivePod, target: PodTarget) -> None:
    files: tuple[tuple[File, str], ...] = (("cpus", "cpuset.cpus"), ("mems", "cpuset.mems"))
    for kind, file in files:
        asked = target.cpus if kind == "cpus" else target.mems
        around = pod.path if node.v1 else pod.path.rpartition("/")[0]
        inside = (asked or CpuSet()) & node.effective(around, file)
        if not inside:
            continue
        if not node.v1:
            assert node.effective(pod.path, file) == inside, (pod.path, file)
        for live in pod.containers.values():
            own = target.containers.get(container_id(live.number))
            wish = None if own is None else own.cpus if kind == "cpus" else own.mems
            _check_container(node, live, file, inside, wish, exact=not target.pod_level_only)


def _check_container(
    node: Node, live: LiveContainer, file: str, inside: CpuSet, wish: CpuSet | None, *, exact: bool
) -> None:
    held = node.effective(live.path, file)
    want = (wish or inside) & inside
    if exact and want:
        assert held == want, (live.path, file)
    assert held <= inside, (live.path, file)
    if file == "cpuset.cpus":
        for task in live.tasks:
            if node.kernel.group_of(task).startswith(live.path):
                allowed = node.kernel.task_allowed(task) & node.online
                assert allowed <= held, f"task {task} of {live.path}: {allowed}"


def in_force(node: Node) -> dict[str, tuple[CpuSet, CpuSet]]:
    """What is in force for every pod and container.

    What is nested in a container isn't among them: after a crash between the writes of the two it
    looks like a part that the container's owner took.
    """
    paths = [
        path
        for pod in node.pods.values()
        if pod.there
        for path in (pod.path, *(live.path for live in pod.containers.values()))
    ]
    return {
        path: (node.effective(path, "cpuset.cpus"), node.effective(path, "cpuset.mems"))
        for path in paths
    }
