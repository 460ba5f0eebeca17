"""Telling pods themselves what was decided here, where the admin wants that."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from numa_agent.core.pods import Pod


class Marking(Protocol):
    """Writes on pods what passes say of them; one thread may send while another one speaks."""

    def hear(
        self,
        pods: Sequence[Pod],
        assigned: Mapping[str, str],
        unplaced: Mapping[str, tuple[str, str]],
    ) -> None:
        """Take in what was decided, and the code and sentence of what couldn't be, by pod uid."""

    def troubles(self) -> tuple[str, ...]:
        """Why it can't be written: the same words for as long as that lasts."""

    def due(self) -> float | None:
        """The seconds until something is due, None while nothing is."""

    def send_due(self) -> int:
        """Send what is due; how much that was."""
