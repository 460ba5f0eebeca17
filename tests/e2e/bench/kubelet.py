"""kubelet's configuration for each policy that a node can have."""

from collections.abc import Mapping
from typing import Any, Literal

from tests.e2e.bench.cgroups import Layout
from tests.vm.guest import SHARE

Policy = Literal["none", "static", "numa"]

STATIC_PODS = "/etc/kubernetes/manifests"
"""Where kubelet looks for static pods' manifests."""

POLICIES: Mapping[Policy, Mapping[str, Any]] = {
    "none": {"cpuManagerPolicy": "none"},
    "static": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,4"},
    "numa": {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0,4",
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "memoryManagerPolicy": "Static",
        # What is reserved of nodes is systemReserved and evictionHard.
        "systemReserved": {"memory": "100Mi"},
        "reservedMemory": [{"numaNode": node, "limits": {"memory": "100Mi"}} for node in (0, 1)],
    },
}


def configuration(policy: Policy, layout: Layout) -> dict[str, Any]:
    """A KubeletConfiguration.

    https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "0.0.0.0",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(SHARE / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": layout.driver,
        **({"failCgroupV1": False} if layout.version == "v1" else {}),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "failSwapOn": False,
        # There is no iptables, and nothing that needs it.
        "makeIPTablesUtilChains": False,
        "resolvConf": "",
        # Nobody answers there; without an address kubelet warns at every pod.
        "clusterDNS": ["10.0.0.10"],
        "nodeStatusUpdateFrequency": "4s",
        "staticPodPath": STATIC_PODS,
        # A container that died again starts anew in a second instead of in up to five minutes.
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        **POLICIES[policy],
    }
