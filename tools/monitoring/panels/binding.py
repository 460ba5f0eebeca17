"""Panels on pods' CPUs."""

from tools.monitoring.panels.panel import graph, heatmap, table

RATE = "[$__rate_interval]"

BINDING = (
    graph(
        "Containers by verdict",
        "Running containers with CPUs of their own, by what the kernel has in force.",
        {"{{verdict}}": "sum by (verdict) (numa_agent_containers{$SEL})"},
        stacked=True,
    ),
    graph(
        "Bindings by state",
        "Pods with CPUs of their own: in force, failing, or waiting for a container to run.",
        {"{{state}}": "sum by (state) (numa_agent_bindings{$SEL})"},
        stacked=True,
    ),
    heatmap(
        "Binding latency",
        "From when a pod was first seen without the CPUs decided for it to when it had them.",
        f"sum by (le) (increase(numa_agent_binding_latency_seconds_bucket{{$SEL}}{RATE}))",
    ),
    table(
        "Nodes with containers that aren't aligned",
        "How many of which verdict; `kubectl describe pod` has the reason.",
        {
            "containers": (
                'sum by (node, verdict) (numa_agent_containers{$SEL,verdict!="aligned"}) > 0'
            )
        },
        width=8,
    ),
    table(
        "Pods that aren't aligned",
        "By container; only with `metricsContainers: on`, and scraped with honorLabels.",
        {"is so": 'numa_agent_container_verdict{$SEL,verdict!="aligned"}'},
        width=16,
    ),
    graph(
        "Drift by likely writer",
        "How often a CPU set was found changed by somebody else.",
        {"{{writer}}": f"sum by (writer) (increase(numa_agent_drift_total{{$SEL}}{RATE}))"},
    ),
    graph(
        "Writes of cpusets",
        "None on an idle node.",
        {
            "{{file}} {{outcome}}": (
                f"sum by (file, outcome) (rate(numa_agent_cpuset_writes_total{{$SEL}}{RATE}))"
            )
        },
        unit="wps",
    ),
    graph(
        "Refused, left alone, left out",
        "Pods that aren't bound as an annotation says, by code.",
        {
            "refused {{code}}": "sum by (code) (numa_agent_assignments_refused{$SEL})",
            "left alone {{code}}": "sum by (code) (numa_agent_pods_left_alone{$SEL})",
            "left out": "sum(numa_agent_pods_left_out{$SEL})",
        },
    ),
    graph(
        "Throttled by their quota",
        "Containers whose CPU quota is less than their own CPUs.",
        {"{{node}}": "numa_agent_containers_quota_below_cpus{$SEL}"},
    ),
    graph(
        "Binding possible",
        "1 where the last pass could bind.",
        {"{{node}}": "numa_agent_binding_possible{$SEL}"},
    ),
    graph(
        "Conditions",
        "What sources disagree about, or what couldn't be told or done, by code.",
        {"{{code}}": "sum by (code) (numa_agent_conditions{$SEL})"},
    ),
)
