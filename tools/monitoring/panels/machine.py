"""Panels on the machines: their NUMA nodes, what is free where, and their GPUs."""

from tools.monitoring.panels.panel import graph, stat, table, worse_from

_BYTES = 'resource=~"memory|hugepages-.+"'
_COUNTS = 'resource!~"memory|hugepages-.+"'
_GPU = 'resource=~".+/.*gpu.*"'
_BY = "node, instance"


def _zones(which: str) -> dict[str, str]:
    return {
        name: f"sum by (node, numa_node, resource) (numa_agent_zone_{name}{{$SEL,{which}}})"
        for name in ("capacity", "allocatable", "available")
    }


def _fragmented(which: str, by: str) -> str:
    available = f"numa_agent_zone_available{{$SEL,{which}}}"
    return f"1 - max by ({by}) ({available}) / (sum by ({by}) ({available}) > 0)"


OVERVIEW = (
    stat(
        "Agents ready",
        "Agents whose first pass is done and whose configuration can be used.",
        "sum(numa_agent_ready{$SEL})",
    ),
    stat(
        "Agents that don't answer",
        "Targets that can't be scraped.",
        "count(up{$TARGET,$SEL} == 0) or vector(0)",
        steps=worse_from(1),
    ),
    stat(
        "Containers not aligned",
        "Running containers with CPUs of their own that aren't within one NUMA node as decided.",
        'sum(numa_agent_containers{$SEL,verdict!="aligned"})',
        steps=worse_from(1),
    ),
    stat(
        "Assignments refused",
        "Pods whose assignment isn't followed.",
        "sum(numa_agent_assignments_refused{$SEL}) or vector(0)",
        steps=worse_from(1),
    ),
    stat(
        "Oldest publication",
        "The longest since an object was last seen to be as wanted; an idle node looks every"
        " one to two minutes.",
        "max(numa_agent_publish_age_seconds{$SEL})",
        unit="s",
        steps=worse_from(600),
    ),
    stat(
        "GPUs without a place",
        "GPUs whose NUMA node no source tells.",
        'sum(numa_agent_gpus{$SEL,numa_node="unknown"}) or vector(0)',
        steps=worse_from(1, "orange"),
    ),
)

NUMA_MAP = (
    table(
        "Zones: CPUs and devices",
        "What each NUMA node has, what pods may get of it, and what no pod holds.",
        _zones(_COUNTS),
    ),
    table(
        "Zones: memory and hugepages",
        "What each NUMA node has, what pods may get of it, and what no pod holds.",
        _zones(_BYTES),
        unit="bytes",
    ),
    graph(
        "CPUs by use",
        "Every online CPU once: pods' own, kubelet's exclusive, reserved, isolated, shared.",
        {
            "{{node}} {{numa_node}} {{use}}": (
                "sum by (node, numa_node, use) (numa_agent_cpus{$SEL})"
            )
        },
        stacked=True,
    ),
    table(
        "GPUs by place and health",
        "`several` where sources name more than one NUMA node, `unknown` where none does.",
        {"GPUs": "sum by (node, numa_node, health) (numa_agent_gpus{$SEL})"},
        width=8,
    ),
    table(
        "NUMA nodes by kind",
        "Nodes with CPUs, with memory only (CXL, HBM, GPU memory), with neither.",
        {"NUMA nodes": "sum by (node, kind) (numa_agent_numa_nodes{$SEL}) > 0"},
        width=8,
    ),
    table(
        "Warnings of the map",
        "Facts that are missing, odd or contradicted; `numa-agent topology` has the sentences.",
        {"warnings": "sum by (node, code) (numa_agent_map_warnings{$SEL})"},
        width=24,
    ),
)

FRAGMENTATION = (
    graph(
        "Slots",
        "How many more pods of each shape would get all that they ask for of one NUMA node.",
        {"{{node}} {{shape}}": f"sum by ({_BY}, shape) (numa_agent_slots{{$SEL}})"},
    ),
    graph(
        "Slots lost to fragmentation",
        "The share of the slots that there would be if all that is free were on one NUMA node.",
        {"{{node}} {{shape}}": f"max by ({_BY}, shape) (numa_agent_fragmentation{{$SEL}})"},
        unit="percentunit",
    ),
    graph(
        "Fragmentation of free CPUs",
        "The share of a node's free CPUs that lies outside its freest NUMA node: 0 where one NUMA"
        " node has them all.",
        {"{{node}}": _fragmented('resource="cpu"', _BY)},
        unit="percentunit",
    ),
    graph(
        "Largest free CPU set in one NUMA node",
        "The most CPUs that a pod can still have within one NUMA node.",
        {"{{node}}": f'max by ({_BY}) (numa_agent_zone_available{{$SEL,resource="cpu"}})'},
    ),
    graph(
        "Fragmentation of free GPUs",
        "The same share for GPUs.",
        {"{{node}} {{resource}}": _fragmented(_GPU, f"{_BY}, resource")},
        unit="percentunit",
    ),
    graph(
        "Stranded GPUs",
        "Free GPUs whose NUMA node has no free CPU.",
        {
            "{{node}} {{numa_node}}": (
                f"sum by ({_BY}, numa_node) (numa_agent_zone_available{{$SEL,{_GPU}}})"
                f" * on ({_BY}, numa_node)"
                ' (numa_agent_zone_available{$SEL,resource="cpu"} == bool 0)'
            )
        },
    ),
    graph(
        "Free share by zone",
        "What no pod holds of what pods may get.",
        {
            "{{node}} {{numa_node}} {{resource}}": (
                "numa_agent_zone_available{$SEL} / (numa_agent_zone_allocatable{$SEL} > 0)"
            )
        },
        unit="percentunit",
        width=16,
    ),
)
