"""How fast CPUs run, and what moves interrupts or sets settings back.

https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from numa_agent.core.cpulist import render
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight

_GOVERNORS = "https://docs.kernel.org/admin-guide/pm/cpufreq.html"

SLOWEST = Rule(
    code="cpu-governor-slowest",
    weight=Weight.WARNING,
    costs="these CPUs stay at their lowest frequency",
    source=_GOVERNORS,
)
GOVERNORS_DIFFER = Rule(
    code="cpu-governors-differ",
    weight=Weight.WARNING,
    costs="the same work takes another time on another CPU, which looks like locality and isn't",
    source=_GOVERNORS,
)
BALANCED = Rule(
    code="irqbalance-running",
    weight=Weight.NOTE,
    costs="it moves interrupts onto bound pods' CPUs too; it spares isolated and nohz_full CPUs"
    " alone by itself",
    source="https://github.com/Irqbalance/irqbalance",
)
TUNED = Rule(
    code="tuned-running",
    weight=Weight.NOTE,
    costs="it sets governors, huge pages and sysctls back by its profile at its next start",
    source="https://tuned-project.org/",
)

_SCALING_POWERSAVE = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Drivers whose governor of that name scales with the load, as their documents say."""


def _governors(seen: Examination) -> Results:
    told, driver = seen.kernel.governors, seen.kernel.cpu_driver
    if told.value is None:
        yield told.unseen
        return
    by_name = sorted(told.value.items())
    words = ", ".join(f"{name} on CPUs {render(cpus)}" for name, cpus in by_name)
    evidence = f"{told.source}: {words}"
    if len(by_name) > 1:
        yield GOVERNORS_DIFFER.found(
            "CPUs", evidence, "cpupower frequency-set -g performance on all of them"
        )
    slow = told.value.get("powersave")
    if slow and driver.value is None:
        yield driver.unseen
    elif slow and driver.value not in _SCALING_POWERSAVE:
        yield SLOWEST.found(
            f"CPUs {render(slow)}",
            f"{evidence}, by the driver {driver.value}",
            "cpupower frequency-set -g performance",
        )


def _services(seen: Examination) -> Results:
    told, profile = seen.kernel.services, seen.kernel.tuned_profile
    if told.value is None:
        yield told.unseen
        return
    where = told.value.get("irqbalance")
    if where is not None:
        yield BALANCED.found(
            "irqbalance",
            f"it runs: {where}",
            "IRQBALANCE_BANNED_CPULIST= with the CPUs of bound pods in its environment file, or"
            " systemctl disable --now irqbalance and fixed affinities",
        )
    where = told.value.get("tuned")
    if where is not None:
        named = f", with the profile {profile.value}" if profile.value else ""
        yield TUNED.found(
            "tuned",
            f"it runs: {where}{named}",
            "make such changes in its profile (tuned-adm active names it)",
        )


CHECKS = (
    Check(name="cpu-governors", rules=(GOVERNORS_DIFFER, SLOWEST), look=_governors),
    Check(name="irqbalance-and-tuned", rules=(BALANCED, TUNED), look=_services),
)
