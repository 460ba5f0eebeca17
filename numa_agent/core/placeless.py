"""What has no place on a machine, so that nobody is far from it.

The files that a virtual machine or an unprivileged file system opens are the kernel's own, and
CPUs and memory are looked at themselves. Whatever isn't here may have a place: where nobody tells
it, it is unknown. A recording keeps these words, so that it says the same.
"""

NAMES = frozenset(
    {
        *("kvm", "sev", "fuse", "tun", "net_tun", "input", "uinput"),
        *("vhost-net", "vhost_net", "vhost-vsock", "vhost_vsock"),
    }
)
"""Files below /dev as device plugins name their resources, behind a domain of their own:
https://kubevirt.io/user-guide/architecture/ has `devices.kubevirt.io/kvm`, for one."""

DRIVERS = frozenset({"dra.cpu", "dra.memory", "compute-domain.nvidia.com"})
"""Drivers of dynamic resource allocation that give CPUs, memory, or channels between nodes:
https://github.com/kubernetes-sigs/dra-driver-cpu and
https://github.com/NVIDIA/k8s-dra-driver-gpu."""


def placeless(resource: str) -> bool:
    """Whether the units of an extended resource have no place."""
    _, slash, name = resource.partition("/")
    return bool(slash) and name in NAMES
