"""kubelet's CPU Manager: what it gives out, and where we would meet it.

https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/
"""

from numa_agent.core.cgroups import Version
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight

_CPU_MANAGER = "https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/"

STATIC_BESIDE_ASSIGNER = Rule(
    code="kubelet-assigns-too",
    weight=Weight.WARNING,
    costs="two give CPUs out: pods with CPUs of kubelet's are left alone, and an assignment that"
    " overlaps theirs is refused",
    source=_CPU_MANAGER,
)
STATIC_ON_V1 = Rule(
    code="kubelet-writes-the-same-files",
    weight=Weight.FAULT,
    costs="on cgroup v1 only containers' own files can be bound, and kubelet's static policy sets"
    " those back: no pod is bound here",
    source=_CPU_MANAGER,
)
NOBODY_PINS = Rule(
    code="kubelet-pins-nothing",
    weight=Weight.NOTE,
    costs="Guaranteed pods have CPUs of their own by an annotation alone: an assignment, or one"
    " that asks this agent (docs/assigner.md)",
    source=_CPU_MANAGER,
)
SPREADING = Rule(
    code="static-policy-spreads",
    weight=Weight.WARNING,
    costs="a container that needs several nodes is spread evenly over them in place of filling"
    " one first",
    source=_CPU_MANAGER,
)
SPLITTING = Rule(
    code="static-policy-splits-cores",
    weight=Weight.NOTE,
    costs="two containers may have a hardware thread each of one core",
    source=_CPU_MANAGER,
)


def _cpu_manager(seen: Examination) -> Results:
    settings = seen.kubelet.settings
    if settings.value is None:
        yield settings.unseen
        return
    policy, assigns = settings.value.cpu_manager_policy, seen.scheduler != "kube-scheduler"
    evidence = f"{settings.source} has cpuManagerPolicy: {policy}"
    if policy == "static" and assigns:
        if seen.cgroups.version.value is None:
            yield seen.cgroups.version.unseen
        on_v1 = seen.cgroups.version.value is Version.V1
        rule = STATIC_ON_V1 if on_v1 else STATIC_BESIDE_ASSIGNER
        yield rule.found(
            "kubelet",
            f"{evidence}, and the scheduler ({seen.scheduler}) assigns CPUs",
            "cpuManagerPolicy: none where the scheduler assigns; drain the node, remove"
            " cpu_manager_state and restart kubelet",
        )
    elif policy != "static" and not assigns:
        yield NOBODY_PINS.found(
            "kubelet",
            evidence,
            "cpuManagerPolicy: static with reservedSystemCPUs in kubelet's configuration, or"
            " assignments (docs/assignment.md)",
        )


def _static_options(seen: Examination) -> Results:
    settings = seen.kubelet.settings
    if settings.value is None:
        yield settings.unseen
        return
    if settings.value.cpu_manager_policy != "static":
        return
    options, cores = settings.value.cpu_manager_options, seen.topology.cores
    if seen.several_nodes and options.get("distribute-cpus-across-numa") == "true":
        yield SPREADING.found(
            "kubelet",
            f"{settings.source} has distribute-cpus-across-numa",
            "take distribute-cpus-across-numa out of cpuManagerPolicyOptions",
        )
    if cores is None:
        yield Unseen(source="cores", why="no file tells which CPUs share one")
    threads = max((len(core) for core in cores or ()), default=1)
    if threads > 1 and options.get("full-pcpus-only") != "true":
        yield SPLITTING.found(
            "kubelet",
            f"a core has {threads} threads, and {settings.source} has no full-pcpus-only",
            'cpuManagerPolicyOptions: {full-pcpus-only: "true"} in kubelet\'s configuration;'
            " pods must then ask for whole cores",
        )


CHECKS = (
    Check(
        name="cpu-manager",
        rules=(STATIC_ON_V1, STATIC_BESIDE_ASSIGNER, NOBODY_PINS),
        look=_cpu_manager,
    ),
    Check(name="cpu-manager-options", rules=(SPREADING, SPLITTING), look=_static_options),
)
