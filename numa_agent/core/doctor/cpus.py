"""CPUs that the kernel or an administrator took out of what everybody may use.

https://docs.kernel.org/admin-guide/kernel-parameters.html (isolcpus, nohz_full)
"""

from numa_agent.core.cpulist import render
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight

_PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"

OFFLINE = Rule(
    code="cpus-offline",
    weight=Weight.NOTE,
    costs="fewer CPUs than are plugged in; kubelet counted those that were online at its start",
    source="https://docs.kernel.org/core-api/cpu_hotplug.html",
)
ISOLATED_SHARED = Rule(
    code="isolated-cpus-allocatable",
    weight=Weight.WARNING,
    costs="kubelet counts isolated CPUs as allocatable, and the kernel puts nothing on them unless"
    " it is told to: pods get less than the node promises",
    source=_PARAMETERS,
)
ISOLATED_RESERVED = Rule(
    code="isolated-cpus-reserved",
    weight=Weight.WARNING,
    costs="the system's daemons are meant for CPUs among which the kernel balances nothing",
    source=_PARAMETERS,
)
NOHZ_SHARED = Rule(
    code="nohz-full-not-isolated",
    weight=Weight.NOTE,
    costs="a CPU that is shared ticks all the same, and each of its system calls is slower",
    source="https://docs.kernel.org/timers/no_hz.html",
)
PARTITIONED = Rule(
    code="cpus-partitioned-off",
    weight=Weight.NOTE,
    costs="a cpuset partition keeps CPUs from everybody else: a pod that is given them runs on"
    " all others of its parent in their place",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset-interface-files",
)


def _offline(seen: Examination) -> Results:
    if not seen.topology.present:
        yield Unseen(source="the CPUs that are present", why="none is known")
    offline = seen.topology.offline
    if offline:
        yield OFFLINE.found(
            f"CPUs {render(offline)}",
            f"present are {render(seen.topology.present)}, online {render(seen.topology.online)}",
            "echo 1 > /sys/devices/system/cpu/cpuN/online brings one back, unless it was taken out"
            " on purpose; then restart kubelet",
        )


def _isolated(seen: Examination) -> Results:
    isolated, settings = seen.topology.isolated, seen.kubelet.settings
    if isolated is None:
        yield Unseen(source="the list of isolated CPUs", why="the kernel doesn't tell it")
        return
    if not isolated:
        return
    if settings.value is None:
        yield settings.unseen
        return
    reserved = settings.value.reserved_cpus or frozenset()
    said = f"reservedSystemCPUs {render(reserved) or 'not set'} in {settings.source}"
    if both := isolated & reserved:
        yield ISOLATED_RESERVED.found(
            f"CPUs {render(both)}",
            f"isolated are {render(isolated)}, {said}",
            "reserve CPUs that isolcpus= doesn't name, so that both lists complete one another",
        )
    if shared := isolated - reserved:
        yield ISOLATED_SHARED.found(
            f"CPUs {render(shared)}",
            f"isolated are {render(isolated)}, {said}",
            "drop isolcpus= from the kernel's command line, since cpusets separate pods without"
            " it; or keep such CPUs for pods that are assigned them with the annotation"
            ' numa-agent.io/allow-isolated: "true"',
        )


def _nohz(seen: Examination) -> Results:
    told = seen.kernel.nohz_full
    if told.value is None:
        yield told.unseen
        return
    shared = told.value - (seen.topology.isolated or frozenset())
    if shared:
        yield NOHZ_SHARED.found(
            f"CPUs {render(shared)}",
            f"{told.source} is {render(told.value)}, isolated are"
            f" {render(seen.topology.isolated or ()) or 'none'}",
            "give nohz_full= the same list as isolcpus=, or drop it",
        )


def _partitions(seen: Examination) -> Results:
    told = seen.cgroups.isolated
    if told.value is None:
        yield told.unseen
        return
    # Since Linux 6.12 the list has what was isolated at boot, which another check tells.
    partitioned = told.value - (seen.topology.isolated or frozenset())
    if partitioned:
        yield PARTITIONED.found(
            f"CPUs {render(partitioned)}",
            f"{told.source} is {render(told.value)}",
            "find the cgroup whose cpuset.cpus.partition isn't member, and assign no such CPUs",
        )


CHECKS = (
    Check(name="offline-cpus", rules=(OFFLINE,), look=_offline),
    Check(name="isolated-cpus", rules=(ISOLATED_RESERVED, ISOLATED_SHARED), look=_isolated),
    Check(name="nohz-full", rules=(NOHZ_SHARED,), look=_nohz),
    Check(name="cpuset-partitions", rules=(PARTITIONED,), look=_partitions),
)
