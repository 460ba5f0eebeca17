"""The cpuset hierarchy: whether it is there, and whether this process may write to it.

https://docs.kernel.org/admin-guide/cgroup-v2.html and
https://kubernetes.io/docs/concepts/architecture/cgroups/
"""

from numa_agent.core.cgroups import Version
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight

_CGROUPS = "https://kubernetes.io/docs/concepts/architecture/cgroups/"
_DRIVER = "https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/configure-cgroup-driver/"

MISSING = Rule(
    code="cpuset-hierarchy-missing",
    weight=Weight.FAULT,
    costs="nothing can be bound, and nobody can be told what containers really have",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html",
)
OLD = Rule(
    code="cgroup-v1",
    weight=Weight.WARNING,
    costs="containers are bound one by one and late, a CPU that goes offline is lost to them, and"
    " kubelet 1.35 and later doesn't start here unless failCgroupV1 is false",
    source=_CGROUPS,
)
READ_ONLY = Rule(
    code="cgroups-read-only",
    weight=Weight.FAULT,
    costs="no pod can be bound",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html#delegation",
)
REFUSED = Rule(
    code="cgroups-not-permitted",
    weight=Weight.FAULT,
    costs="no pod can be bound by this user",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html#delegation",
)
NO_KUBELET = Rule(
    code="kubelet-cgroup-missing",
    weight=Weight.WARNING,
    costs="no pod is found, so that none is bound: kubelet hasn't started, has cgroupsPerQOS"
    " false, or its cgroupRoot is elsewhere",
    source=_DRIVER,
)
TWICE = Rule(
    code="kubelet-cgroups-of-two-drivers",
    weight=Weight.NOTE,
    costs="kubelet left the cgroups of another driver behind; those with processes are believed",
    source=_DRIVER,
)
NOT_HANDED_ON = Rule(
    code="cpuset-not-handed-on",
    weight=Weight.FAULT,
    costs="pods' cgroups have no cpuset files, so that none can be bound",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html#enabling-and-disabling",
)


def _hierarchy(seen: Examination) -> Results:
    version = seen.cgroups.version
    if version.failed:
        yield MISSING.found(version.source, version.why, "mount the host's /sys/fs/cgroup")
    elif version.value is None:
        yield version.unseen
    elif version.value is Version.V1:
        yield OLD.found(
            version.source,
            "the cpuset controller is in a hierarchy of version 1",
            "systemd.unified_cgroup_hierarchy=1 on the kernel's command line, and boot again",
        )


def _writable(seen: Examination) -> Results:
    told, kubepods = seen.cgroups.read_only, seen.cgroups.kubepods
    if told.value is None:
        yield told.unseen
        return
    if told.value:
        yield READ_ONLY.found(
            told.source,
            "statvfs says that it is mounted read-only",
            "mount the host's /sys/fs/cgroup read-write (manifests/ do)",
        )
        return
    for group in kubepods.value or ():
        if group.writable is False:
            yield REFUSED.found(
                group.path,
                f"access(2) refuses to write {told.source}/{group.path}/cpuset.cpus",
                "run it as uid 0 without a user namespace; SELinux: see docs/security.md",
            )


def _kubepods(seen: Examination) -> Results:
    told = seen.cgroups.kubepods
    if told.value is None:
        yield told.unseen
        return
    if not told.value:
        yield NO_KUBELET.found(
            "kubelet",
            f"{told.source} has neither kubepods nor kubepods.slice",
            "systemctl status kubelet; compare cgroupRoot and cgroupsPerQOS in its configuration",
        )
    if len(told.value) > 1:
        populated = [group.path for group in told.value if group.populated]
        yield TWICE.found(
            "kubelet",
            f"{' and '.join(group.path for group in told.value)}; with processes:"
            f" {' and '.join(populated) or 'none'}",
            "boot the node again after a change of cgroupDriver, or rmdir what is empty",
        )
    for group in told.value:
        if group.handed_on is False:
            yield NOT_HANDED_ON.found(
                group.path,
                f"cgroup.subtree_control of {group.path} lacks cpuset",
                "restart kubelet, which enables it, and look for what disables it",
            )


CHECKS = (
    Check(name="cgroup-hierarchy", rules=(MISSING, OLD), look=_hierarchy),
    Check(name="cgroup-permissions", rules=(READ_ONLY, REFUSED), look=_writable),
    Check(name="kubelet-cgroups", rules=(NO_KUBELET, TWICE, NOT_HANDED_ON), look=_kubepods),
)
