"""Alerts on pods' CPUs: whether they have what was decided."""

from tools.monitoring.alerts.alert import Alert

BINDING = (
    Alert(
        name="NumaAgentContainersMisaligned",
        expr='numa_agent_containers{verdict!="aligned"} > 0',
        hold="10m",
        summary="{{ $value }} containers on $NODE are {{ $labels.verdict }}",
        description=(
            "By the kernel's word they don't run on CPUs of one NUMA node as decided: split over"
            " nodes, able to run elsewhere (remote), or not seen (unknown)."
        ),
    ),
    Alert(
        name="NumaAgentBindingsFailing",
        expr='numa_agent_bindings{state="failing"} > 0',
        hold="10m",
        summary="{{ $value }} pods on $NODE don't have the CPUs decided for them",
        description=(
            "The kernel has other CPUs in force for a running container, or it wasn't seen. The"
            " pod's Events say what limits it or which write was refused."
        ),
    ),
    Alert(
        name="NumaAgentBindingImpossible",
        expr="numa_agent_binding_possible == 0",
        hold="10m",
        summary="numa-agent on $NODE can't bind any pod",
        description=(
            "The pods or kubelet's CPUs aren't known, or cgroups can't be written. New pods share"
            " all CPUs meanwhile. /statusz says which under `failures`."
        ),
    ),
    Alert(
        name="NumaAgentAssignmentsRefused",
        expr="numa_agent_assignments_refused > 0",
        hold="5m",
        summary="{{ $value }} assignments on $NODE are refused: {{ $labels.code }}",
        description=(
            "The CPUs that an annotation gives to a pod can't be followed; the pod shares CPUs, or"
            " keeps what it had. The Event CPUSetRefused on the pod quotes the text."
        ),
    ),
    Alert(
        name="NumaAgentCpusetDrift",
        expr="increase(numa_agent_drift_total[30m]) >= 3",
        hold="0m",
        summary="Somebody changes pods' CPUs on $NODE: {{ $labels.writer }}",
        description=(
            "{{ $value | humanize }} times in half an hour a CPU set was found changed and was"
            " written back. After five times in ten minutes it is left as theirs."
        ),
    ),
    Alert(
        name="NumaAgentDriftConflict",
        expr='numa_agent_conditions{code="drift-conflict"} > 0',
        hold="1m",
        summary="numa-agent on $NODE gave up {{ $value }} CPU sets to another writer",
        description=(
            "Two agents write the same cgroups. The pod keeps the other's CPUs until its"
            " assignment changes or the agent restarts; the Event CPUSetConflict names the writer."
        ),
    ),
    Alert(
        name="NumaAgentMemoryNotBound",
        expr='numa_agent_conditions{code=~"mems-(not-set|dropped|away-from-cpus)"} > 0',
        hold="30m",
        severity="info",
        summary="Memory of {{ $value }} pods on $NODE isn't bound: {{ $labels.code }}",
        description=(
            "Their CPUs are bound and their memory nodes aren't, or not as they should be, so that"
            " memory may be remote. Usual for pods that ran before the agent came."
        ),
    ),
    Alert(
        name="NumaAgentContainersThrottled",
        expr="numa_agent_containers_quota_below_cpus > 0",
        hold="30m",
        severity="info",
        summary="{{ $value }} containers on $NODE have a CPU quota below their own CPUs",
        description=(
            "The kernel throttles them although nobody else uses their CPUs. `cpuQuota: lift`"
            " takes such quotas off."
        ),
    ),
)
