"""How long pods wait for the CPUs decided for them.

Only pods with CPUs of their own count, each once in its life: what somebody else changes later is
drift. Nothing here knows a clock: moments are seconds of one that never goes back.
"""

from collections.abc import Iterable

from numa_agent.core.histogram import Histogram
from numa_agent.core.report import Report, Write

BOUNDS = (0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
MOST = 1024
"""Pods remembered; a kubelet takes 110 by default, and further ones aren't timed."""


class BindingLatency:
    """Times each pod from the look that first saw it lack its CPUs to the one that saw it right.

    A pod that has its CPUs when it is first seen, say after a restart, isn't counted.
    """

    def __init__(self) -> None:
        """Start without a pod."""
        self.histogram = Histogram.of(*BOUNDS)
        self._uids: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._done: set[str] = set()

    def saw(self, report: Report, began: float, now: float) -> None:
        """Take in a pass that began, and had bound and proved, at these moments."""
        if not report.looked:
            return
        bound = {each.pod.full_name: each.pod.uid for each in report.bindings[:MOST]}
        self._keep(bound)
        proofs = [each for each in report.proofs if each.pod.uid in bound.values()]
        bad = {each.pod.uid for each in proofs if each.verdict.effective != each.verdict.decided}
        written, failed = self._written(report.writes)
        self._want(written | bad, began)
        self._settle((written | {each.pod.uid for each in proofs}) - failed - bad, now)

    def wrote(self, writes: Iterable[Write], began: float, now: float) -> None:
        """Take in what was written between passes in a look of these moments."""
        written, failed = self._written(writes)
        self._want(written, began)
        self._settle(written - failed, now)

    def _keep(self, bound: dict[str, str]) -> None:
        """Forget every pod but these."""
        self._uids = bound
        uids = set(bound.values())
        self._done &= uids
        self._since = {uid: began for uid, began in self._since.items() if uid in uids}

    def _written(self, writes: Iterable[Write]) -> tuple[set[str], set[str]]:
        """The uids of the known pods whose CPUs were written, and of those where that failed."""
        written, failed = set[str](), set[str]()
        for write in writes:
            uid = self._uids.get(write.step.pod)
            if uid is not None and write.step.file == "cpus":
                written.add(uid)
                if write.error is not None:
                    failed.add(uid)
        return written, failed

    def _want(self, lacking: set[str], began: float) -> None:
        """These pods lacked their CPUs at that moment; what comes after their first is drift."""
        for uid in lacking - self._done:
            self._since.setdefault(uid, began)

    def _settle(self, right: set[str], now: float) -> None:
        """These pods have their CPUs."""
        for uid in sorted(right - self._done):
            began = self._since.pop(uid, None)
            if began is not None:
                self.histogram = self.histogram.plus(now - began)
            self._done.add(uid)
