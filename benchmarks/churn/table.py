"""The comparison: one row a figure, as text and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.churn.accounting import Figures, Since, at
from benchmarks.churn.agents import Requests, Used
from benchmarks.churn.watching import Watched

SINCE: dict[Since, str] = {
    "start": "container's start to binding",
    "assignment": "assignment of a running pod to binding",
    "foreign write": "foreign write to binding",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One churn with one agent; `load` is this computer's in it."""

    figures: Figures
    used: Used
    watched: Watched
    seconds: float
    clock_error: float
    load: float


def rows(result: Result) -> dict[str, str]:
    """What is printed of a churn, by its rows' names."""
    figures, used = result.figures, result.used
    found = {
        "containers born inside their CPUs": f"{figures.born_inside} of {figures.born}",
        "born on their memory node": f"{figures.born_on_mems} of {figures.born_with_mems}",
    }
    for since, name in SINCE.items():
        waits = [each for each in figures.bindings if each.since == since]
        values = [each.seconds for each in waits]
        shown = " / ".join(f"{at(values, percent):.2f}" for percent in (50, 99, 100))
        never = sum(not each.bound for each in waits)
        counted = f"of {len(waits)}" + (f", {never} never" if never else "")
        found[f"{name}, s: p50 / p99 / most"] = f"{shown} ({counted})"
    own, shared = figures.own_seconds, figures.shared_seconds
    out, over = figures.outside_seconds, figures.intruding_seconds
    found |= {
        "outside their CPUs, container-seconds": f"{out:.1f} of {own:.0f} ({_share(out, own)})",
        "others on assigned CPUs, container-seconds": (
            f"{over:.1f} of {shared:.0f} ({_share(over, shared)})"
        ),
        "requests to the API server": shown_requests(used.requests),
        "KiB from and to the API server": f"{used.received / 1024:.0f} / {used.sent / 1024:.0f}",
        "sets written, by its own count": str(used.writes),
        "writes of sets in the kernel, by command": shown_counts(result.watched.writers),
        "CPU of the agent, s (emulated)": f"{used.cpu:.1f}",
        "churn, s / load": f"{result.seconds:.0f} / {result.load:.1f}",
        "sampler's period, ms: p50 / p99 / most": " / ".join(
            f"{at(result.watched.periods, percent) * 1e3:.0f}" for percent in (50, 99, 100)
        ),
    }
    return found


def text(title: str, results: Sequence[tuple[str, Result]]) -> str:
    """The Markdown table."""
    columns = [rows(result) for _, result in results]
    names = list(dict.fromkeys(name for column in columns for name in column))
    lines = [
        f"| {title} | {' | '.join(name for name, _ in results)} |",
        "|---" * (len(results) + 1) + "|",
        *(
            f"| {name} | {' | '.join(column.get(name, '') for column in columns)} |"
            for name in names
        ),
    ]
    return "\n".join(lines)


def document(result: Result) -> dict[str, Any]:
    """The same and every single wait, for programs."""
    used = asdict(result.used)
    used["requests"] = {f"{verb} {what}": n for (verb, what), n in result.used.requests.items()}
    periods = result.watched.periods
    return {
        "figures": asdict(result.figures),
        "used": used,
        "writers": dict(result.watched.writers),
        "seconds": result.seconds,
        "load": result.load,
        "clock_error_seconds": result.clock_error,
        "sampler_seconds": {str(percent): at(periods, percent) for percent in (50, 99, 100)},
    }


def _share(part: float, whole: float) -> str:
    return f"{part / whole * 100:.2f} %" if whole else "none"


def shown_requests(found: Requests) -> str:
    """Requests by verb and resource."""
    each = (f"{verb} {resource} {count}" for (verb, resource), count in sorted(found.items()))
    return ", ".join(each) or "none"


def shown_counts(found: dict[str, int]) -> str:
    """Counts by name, the largest first."""
    return ", ".join(f"{name} {n}" for name, n in sorted(found.items(), key=lambda e: -e[1]))
