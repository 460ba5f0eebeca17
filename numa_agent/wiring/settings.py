"""The configuration of a running agent, and what a change of its file changes."""

from collections.abc import Callable
from functools import partial

from numa_agent.config import Config
from numa_agent.config.reload import Reload, Reloaded
from numa_agent.serve.board import Board
from numa_agent.wiring.serving import logged

PENDING_SECONDS = 1.0
"""Until a file that is being written is looked at again."""

LOOK_SECONDS = 2.0
"""Until the file is looked at again, which costs one stat; kubelet takes a minute to swap it."""


class Following:
    """Follows the configuration file, and says what became of its changes."""

    def __init__(self, reload: Reload, board: Board, say: Callable[[str], None]) -> None:
        """Take the file; `say` hears of what was taken over and of what can't be used."""
        self._reload = reload
        self._board = board
        self._say = say
        self._board.per_container = reload.config.metrics_containers

    def config(self) -> Config:
        """What holds now."""
        return self._reload.config

    def patience(self, seconds: float) -> float:
        """The seconds to wait at most, where so many were wanted."""
        return min(seconds, PENDING_SECONDS if self._reload.pending else LOOK_SECONDS)

    def look(self) -> bool:
        """Look at the file; whether something else holds now."""
        found = self._reload.look()
        if found is None:
            return False
        self._board.fatal = _fatal(found)
        self._board.per_container = found.config.metrics_containers
        self._board.period = found.config.pass_seconds * 1.5
        for said in _sentences(found):
            logged(self._board, partial(self._say, said))
        return bool(found.changed)


def _fatal(found: Reloaded) -> str | None:
    if not found.mistakes:
        return None
    return f"the changed configuration can't be used, the one before holds: {found.mistakes[0]}"


def _sentences(found: Reloaded) -> list[str]:
    said = [f"configuration: {mistake}; what held before holds" for mistake in found.mistakes]
    if found.changed:
        said.append(f"configuration: changed {', '.join(found.changed)}")
    if found.restart:
        said.append(f"configuration: after a restart only: {', '.join(found.restart)}")
    return said
