"""A pass's report as text: what was published, written and found."""

from collections.abc import Iterable, Iterator, Sequence

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.documents import mapping
from numa_agent.core.report import Report, Write


def lines(report: Report) -> Iterator[str]:
    """The report in the order of the pass; nothing to say about a step is said too."""
    yield from published(report)
    yield from written(report)
    yield from found(report)
    yield from troubles(report)
    yield from notes(report)


def published(report: Report) -> Iterator[str]:
    """What became of each published object."""
    if not report.publications:
        yield "published: nothing"
    for publication in report.publications:
        name = mapping(publication.manifest["metadata"])["name"]
        published = publication.published
        outcome = "not sent (a recorded machine has no cluster)"
        if published is not None:
            outcome = f"{published.outcome}: {published.detail}"
        yield f"published: {publication.manifest['kind']} {name}: {outcome}"


def written(report: Report) -> Iterator[str]:
    """Each cgroup write, before and after."""
    if not report.writes:
        settled = report.looked and all(proof.verdict.kept for proof in report.proofs)
        yield "written: nothing" + (", every cgroup is as it should be" if settled else "")
        return
    yield f"written: {len(report.writes)}"
    for write in report.writes:
        yield from write_lines(write)


def write_lines(write: Write) -> Iterator[str]:
    """One write: whose, what, why, where, and why it failed."""
    step = write.step
    what = "CPUs" if step.file == "cpus" else "memory nodes"
    yield f"  {step.pod}: {what} {_set(step.before)} -> {_set(step.after)}: {step.reason}"
    yield f"    in {step.path}/cpuset.{step.file}"
    if write.error is not None:
        yield f"    FAILED: {write.error}"


def found(report: Report) -> Iterator[str]:
    """The verdict on each container with assigned CPUs, as a table."""
    if not report.looked:
        yield "found: not looked, since the pods or kubelet's CPUs are unknown"
        return
    if not report.proofs:
        yield "found: no running container has assigned CPUs"
        return
    rows = [("POD", "CONTAINER", "VERDICT", "WHY")]
    rows += [
        (
            proof.pod.full_name,
            proof.container.name,
            proof.verdict.alignment,
            "; ".join([proof.verdict.reason, *proof.verdict.notes]),
        )
        for proof in report.proofs
    ]
    yield "found:"
    yield from (f"  {line}" for line in table(rows))


def troubles(report: Report) -> Iterator[str]:
    """Refused assignments, pods left out and sources that failed."""
    for refusal in report.refusals:
        yield f"refused: pod {refusal.pod.full_name}: {refusal.message}"
    for problem in report.problems:
        yield f"left out: {problem}"
    for failure in report.failures:
        yield f"failed: {failure}"


def notes(report: Report) -> Iterator[str]:
    """What sources disagree about and what couldn't be published."""
    for condition in report.conditions:
        yield f"note: {condition.message}"


def table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Rows of text in columns; the last column isn't padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _set(ids: CpuSet) -> str:
    return render(ids) or "(all of its parent's)"
