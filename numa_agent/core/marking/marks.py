"""The two annotations on a pod: what the agent's own assigner decided, and why it couldn't."""

import json
from dataclasses import dataclass

from numa_agent.core.pod_keys import ASSIGNED, MARK_LENGTH, NOT_PLACED
from numa_agent.core.pods import Pod

VERSION = 1
CODE_LENGTH = 64
MESSAGE_LENGTH = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The values of both annotations, None where there is none."""

    assigned: str | None = None
    not_placed: str | None = None

    @property
    def annotations(self) -> dict[str, str]:
        """Those that there are, by their keys."""
        both = {ASSIGNED: self.assigned, NOT_PLACED: self.not_placed}
        return {key: value for key, value in both.items() if value is not None}

    @property
    def code(self) -> str | None:
        """The code in `not_placed`, None where it has none that can be read."""
        try:
            found = json.loads(self.not_placed or "null")
        except (ValueError, RecursionError):
            return None
        code = found.get("code") if isinstance(found, dict) else None
        return code if isinstance(code, str) else None


NONE = Marks()


def marks_on(pod: Pod) -> Marks:
    """What the pod has, as far as it is kept: numa_agent.core.pod_keys."""
    found = pod.annotations
    return Marks(assigned=found.get(ASSIGNED), not_placed=found.get(NOT_PLACED))


def wanted(assigned: str | None, unplaced: tuple[str, str] | None) -> Marks:
    """What a pod should have, given its assignment's text, and code and message of a refusal.

    An assignment that is longer than MARK_LENGTH isn't told: what is cut off couldn't be read.
    """
    told = assigned if assigned is not None and 0 < len(assigned) <= MARK_LENGTH else None
    return Marks(
        assigned=None if told is None else _plain(told),
        not_placed=None if unplaced is None else _not_placed(*unplaced),
    )


def _not_placed(code: str, message: str) -> str:
    content = {
        "version": VERSION,
        "code": _plain(code)[:CODE_LENGTH],
        "message": _plain(message)[:MESSAGE_LENGTH],
    }
    return json.dumps(content, ensure_ascii=False, separators=(", ", ": "))


def _plain(value: str) -> str:
    """The text without what can't be sent: halves of surrogate pairs."""
    return value.encode(errors="replace").decode()
