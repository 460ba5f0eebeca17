"""kubelet's Topology Manager: whether it aligns, and whether it can be switched on at all.

https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/
"""

from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight

MOST_NODES = 8
"""The NUMA nodes that the Topology Manager takes unless max-allowable-numa-nodes says more."""

_TOPOLOGY_MANAGER = "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"
_OPTION = "max-allowable-numa-nodes"

TOO_MANY_NODES = Rule(
    code="topology-manager-too-many-nodes",
    weight=Weight.FAULT,
    costs="kubelet doesn't start: its Topology Manager weighs every combination of nodes and"
    " refuses a machine with more of them than it is allowed",
    source="https://github.com/kubernetes/enhancements/tree/master/keps/sig-node"
    "/4622-topologymanager-max-allowable-numa-nodes",
)
WOULD_NOT_START = Rule(
    code="topology-manager-would-not-start",
    weight=Weight.NOTE,
    costs=f"another policy than none couldn't be switched on here without the option {_OPTION}",
    source=TOO_MANY_NODES.source,
)
NOT_ALIGNING = Rule(
    code="topology-manager-not-aligning",
    weight=Weight.WARNING,
    costs="kube-scheduler's NodeResourceTopologyMatch passes every pod here, since it filters by"
    " single-numa-node alone; with the policy none kubelet gives CPUs and devices of any node",
    source=_TOPOLOGY_MANAGER,
)
CONTAINER_SCOPE = Rule(
    code="topology-manager-by-container",
    weight=Weight.NOTE,
    costs="the containers of one pod may be put on different nodes",
    source=_TOPOLOGY_MANAGER,
)
ADMITS_TOO = Rule(
    code="kubelet-admits-too",
    weight=Weight.WARNING,
    costs="kubelet chooses CPUs and devices once more and refuses pods (TopologyAffinityError)"
    " that the scheduler had placed by a choice of its own",
    source=_TOPOLOGY_MANAGER,
)


def _node_limit(seen: Examination) -> Results:
    settings, nodes = seen.kubelet.settings, len(seen.topology.nodes)
    yield from seen.mapless
    if nodes <= MOST_NODES:
        return
    if settings.value is None:
        yield settings.unseen
        return
    policy = settings.value.topology_manager_policy
    given = settings.value.topology_manager_options.get(_OPTION, str(MOST_NODES))
    plain = given.isascii() and given.isdecimal() and len(given) < 6
    most = int(given) if plain else MOST_NODES
    if nodes <= most:
        return
    rule = WOULD_NOT_START if policy == "none" else TOO_MANY_NODES
    default = "" if _OPTION in settings.value.topology_manager_options else " (default)"
    yield rule.found(
        "kubelet",
        f"{nodes} NUMA nodes are online, and {settings.source} has topologyManagerPolicy: {policy}"
        f" with {_OPTION} {most}{default}",
        f'topologyManagerPolicyOptions: {{{_OPTION}: "{nodes}"}} in kubelet\'s configuration'
        " (Kubernetes 1.31 and later), or leave the policy none and let a scheduler assign",
    )


def _alignment(seen: Examination) -> Results:
    settings = seen.kubelet.settings
    yield from seen.mapless
    if not seen.several_nodes:
        return
    if settings.value is None:
        yield settings.unseen
        return
    policy, scope = settings.value.topology_manager_policy, settings.value.topology_manager_scope
    told = seen.own_policy or policy
    if seen.scheduler == "kube-scheduler" and "single-numa-node" not in (policy, told):
        yield NOT_ALIGNING.found(
            "kubelet",
            f"{settings.source} has topologyManagerPolicy: {policy}",
            "topologyManagerPolicy: single-numa-node with cpuManagerPolicy: static and"
            " memoryManagerPolicy: Static in kubelet's configuration, then drain the node, remove"
            " cpu_manager_state and memory_manager_state, and restart kubelet",
        )
    if seen.scheduler != "kube-scheduler" and policy in ("restricted", "single-numa-node"):
        yield ADMITS_TOO.found(
            "kubelet",
            f"{settings.source} has topologyManagerPolicy: {policy}, and the scheduler"
            f" ({seen.scheduler}) places pods on NUMA nodes",
            "topologyManagerPolicy: none or best-effort where the scheduler decides",
        )
    if policy != "none" and scope == "container":
        yield CONTAINER_SCOPE.found(
            "kubelet",
            f"{settings.source} has topologyManagerPolicy: {policy} with topologyManagerScope:"
            " container",
            "topologyManagerScope: pod in kubelet's configuration, where the containers of a pod"
            " work together",
        )


CHECKS = (
    Check(
        name="topology-manager-nodes", rules=(TOO_MANY_NODES, WOULD_NOT_START), look=_node_limit
    ),
    Check(
        name="topology-manager", rules=(NOT_ALIGNING, ADMITS_TOO, CONTAINER_SCOPE), look=_alignment
    ),
)
