"""What of the passes is news: the log says a thing once, until it changes."""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from numa_agent.agent import News, Seen
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Proof, Publication, Report, Write

_AGE = re.compile(r"\d+(?:\.\d+)?(?= (?:s|times)\b)")
"""A number that grows while nothing else happens."""


class Says(Protocol):
    """Writes the log."""

    def report(self, report: Report, indent: int | None) -> None:
        """A whole report."""
        ...

    def trouble(self, sentence: str) -> None:
        """One sentence."""
        ...

    def write(self, write: Write) -> None:
        """What was written between passes."""
        ...


class Changes:
    """Tells of the passes that did something, or say something else than the one before.

    What is told between passes is told again when a pass has seen that it was over meanwhile.
    """

    def __init__(self, say: Says) -> None:
        """Take who writes the log."""
        self._say = say
        self._last: object = None
        self._said: set[object] = set()

    def tell(self, found: News) -> None:
        """Print what is news of it."""
        if isinstance(found, Seen):
            self._tell_between(found)
        elif isinstance(found, SourceError):
            if self._is_new(_aged(str(found))):
                self._say.trouble(str(found))
        else:
            self._said = {*_sentences(found.failures), *_conditions(found.conditions)}
            if self._is_new(facts(found)) or found.writes:
                self._say.report(found, indent=None)

    def _is_new(self, news: object) -> bool:
        before, self._last = self._last, news
        return news != before

    def _tell_between(self, seen: Seen) -> None:
        told = [
            *zip(_sentences(seen.failures), seen.failures, strict=True),
            *zip(_conditions(seen.conditions), (e.message for e in seen.conditions), strict=True),
        ]
        for key, sentence in told:
            if key not in self._said:
                self._said.add(key)
                self._say.trouble(sentence)
        for write in seen.writes:
            self._say.write(write)


def facts(report: Report) -> object:
    """What of a report is news where it is another: no ages, no counts, nothing that went well."""
    return (
        report.looked,
        frozenset(_publications(report.publications)),
        frozenset(_conditions(report.conditions)),
        frozenset((each.pod.uid, each.code, each.message) for each in report.refusals),
        frozenset((each.pod.uid, each.code) for each in report.left_alone),
        frozenset(_proofs(report.proofs)),
        frozenset((each.pod.uid, each.cpus) for each in report.bindings),
        frozenset(_sentences(report.problems)),
        frozenset(_sentences(report.failures)),
        frozenset((each.source, _aged(each.error or "")) for each in report.sources),
        (report.reserved, report.kubelet_exclusive),
    )


def _aged(sentence: str) -> str:
    return _AGE.sub("N", sentence)


def _sentences(found: Iterable[str]) -> list[str]:
    return [_aged(each) for each in found]


def _conditions(found: Iterable[Condition]) -> list[object]:
    return [(each.code, each.subject, _aged(each.message)) for each in found]


def _publications(found: Iterable[Publication]) -> Iterator[object]:
    for each in found:
        said = None
        if each.published is not None and not each.good:
            said = each.published.outcome, _aged(each.published.detail)
        yield str(each.manifest.get("kind")), said


def _proofs(found: Iterable[Proof]) -> Iterator[object]:
    """The verdicts; how many tasks and how much memory a container has is its own business."""
    for each in found:
        verdict = each.verdict
        reasons = tuple(
            (reason.code, None if reason.cause is None else reason.cause.code)
            for reason in verdict.reasons
        )
        sets = verdict.decided, verdict.effective
        yield each.pod.uid, each.container.name, verdict.alignment, sets, reasons, each.cpu_quota
