"""Whether the daemon lives and is ready, in the words of kubelet's probes.

https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/. A source that
fails is told and changes neither: a restart wouldn't bring the API server back, and would take
away the agent that binds without it.
"""

from dataclasses import dataclass

from numa_agent.core.report import Report

MISSED_BEATS = 3
"""Periods without a beat after which the loop is taken for stuck."""

LEAST_SECONDS = 300.0
"""No less than this: a pass may wait for one time-out of the API server after another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The answer of a probe; `reasons` say why not, or what fails nevertheless."""

    good: bool
    reasons: tuple[str, ...] = ()


def liveness(now: float, beat: float, period: float) -> Health:
    """Whether the loop beats: `beat` is when it last did, `period` the seconds between passes."""
    allowed = max(MISSED_BEATS * period, LEAST_SECONDS)
    silent = now - beat
    if silent <= allowed:
        return Health(good=True)
    said = f"the loop hasn't moved for {silent:.0f} s; {allowed:.0f} s are allowed"
    return Health(good=False, reasons=(said,))


def readiness(
    report: Report | None, failure: str | None, fatal: str | None, *, looked: bool | None = None
) -> Health:
    """Whether a full pass is done and the configuration can be used.

    `failure` is why the last pass gave no report, `fatal` what of the configuration can't be used.
    `looked` says whether any pass since the start knew the pods and kubelet's CPUs, as a new agent
    without its rights never does; without a word it is that of the report.
    """
    told = [each for each in (fatal, failure) if each is not None]
    if report is None:
        return Health(good=False, reasons=("no full pass is done yet", *told))
    told += [f"{each.source}: {each.error}" for each in report.sources if each.error is not None]
    told += [each for each in report.failures if not any(each in line for line in told)]
    if not (report.looked if looked is None else looked):
        return Health(good=False, reasons=("no pass has known the pods and their CPUs yet", *told))
    return Health(good=fatal is None, reasons=tuple(told))
