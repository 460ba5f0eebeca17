"""What the whole node's object says beside its zones, in kubelet's own words.

An attribute is named after kubelet's option in camelCase and has its value verbatim
(https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/noderesourcetopology).
"""

import re
from collections.abc import Mapping, Sequence

from numa_agent.core import cpulist
from numa_agent.core.conditions import Condition
from numa_agent.core.fingerprint import fingerprint, fingerprinted
from numa_agent.core.schedulers.kube_scheduler.zones import node_zones, resource_names
from numa_agent.core.view import Json, View

POLICY = "topologyManagerPolicy"
SCOPE = "topologyManagerScope"

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")

MOST_BY_DEFAULT = 8
"""The zones that the plugin expects unless topologyManagerMaxNUMANodes says more."""


def attributes(view: View, zones: Sequence[Json]) -> dict[str, str]:
    """All of them by name. The policy and scope are ours where this agent keeps one itself."""
    settings = view.settings
    named = {
        **_options("cpuManagerOption", settings.cpu_manager_options),
        **_options("topologyManagerOption", settings.topology_manager_options),
        "cpuManagerPolicy": settings.cpu_manager_policy,
        "memoryManagerPolicy": settings.memory_manager_policy,
        **_topology_manager(view),
        "nodeTopologyPodsFingerprint": fingerprint(fingerprinted(view, resource_names(zones))),
        "nodeTopologyPodsFingerprintMethod": view.fingerprint_method,
    }
    if view.reserved:
        named["reservedSystemCPUs"] = cpulist.render(view.reserved)
    if settings.reserved_memory:
        named["reservedMemory"] = _reserved_memory(settings.reserved_memory)
    if (count := node_zones(zones)) > MOST_BY_DEFAULT:
        # Without it, a pod over nine zones gets a score below 0, which fails its scheduling.
        named["topologyManagerMaxNUMANodes"] = str(count)
    return named


def unread(named: Mapping[str, str]) -> list[Condition]:
    """The policy and scope that the plugin doesn't know and so passes over."""
    return [
        Condition(
            code="topology-manager-unknown",
            subject=attribute,
            message=f"{attribute} is {named[attribute]!r}, none of {', '.join(words)}: the"
            f" scheduler takes it for {words[0]}",
        )
        for attribute, words in ((POLICY, POLICIES), (SCOPE, SCOPES))
        if attribute in named and named[attribute] not in words
    ]


def _topology_manager(view: View) -> dict[str, str]:
    """The policy and scope; not kubelet's defaults where its configuration isn't known."""
    kubelets = view.settings if view.settings_known else None
    said = {
        POLICY: view.topology_policy or (kubelets and kubelets.topology_manager_policy),
        SCOPE: view.topology_scope or (kubelets and kubelets.topology_manager_scope),
    }
    return {name: value for name, value in said.items() if value}


def _options(prefix: str, options: Mapping[str, str]) -> dict[str, str]:
    """`prefer-closest-numa-nodes` is `topologyManagerOptionPreferClosestNumaNodes`."""
    return {prefix + _camel(name): value for name, value in sorted(options.items())}


def _camel(name: str) -> str:
    words = re.split(r"[^0-9A-Za-z]+", name)
    return "".join(word[:1].upper() + word[1:] for word in words)


def _reserved_memory(reserved: Mapping[int, Mapping[str, int]]) -> str:
    """The form of kubelet's --reserved-memory, in bytes: `0:hugepages-2Mi=0,memory=1024;1:...`."""
    return ";".join(
        f"{node_id}:" + ",".join(f"{kind}={size}" for kind, size in sorted(kinds.items()))
        for node_id, kinds in sorted(reserved.items())
    )
