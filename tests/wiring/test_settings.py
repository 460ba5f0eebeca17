"""A changed configuration file: what is told, what holds, and what keeps the agent from ready."""

import errno
from pathlib import Path

import pytest

from numa_agent.config.reload import Reload
from numa_agent.serve.board import Board
from numa_agent.wiring.settings import LOOK_SECONDS, Following


class Scene:
    """A configuration file that is swapped as a whole, and who follows it."""

    def __init__(self, folder: Path, text: str) -> None:
        self._folder = folder
        self.file = folder / "config.yaml"
        self.file.write_text(text)
        self.board = Board(period=1.0)
        self.said: list[str] = []
        self.following = Following(Reload(self.file, {}, {}), self.board, self.said.append)

    def swap(self, text: str) -> None:
        fresh = self._folder / "fresh"
        fresh.write_text(text)
        fresh.rename(self.file)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, "passSeconds: 30\n")


def test_while_nothing_changes_nothing_is_said(scene: Scene) -> None:
    assert not scene.following.look()
    assert scene.said == []
    assert scene.following.patience(1.5) == 1.5
    # Though nothing else may happen for a long time.
    assert scene.following.patience(60.0) == LOOK_SECONDS <= 5


def test_what_may_change_holds_at_once_and_the_rest_after_a_restart(scene: Scene) -> None:
    scene.swap("passSeconds: 10\nmetricsContainers: 'on'\nscheduler: koordinator\n")
    assert scene.following.look()
    assert scene.following.config().pass_seconds == 10
    assert scene.following.config().scheduler == "kube-scheduler"
    assert (scene.board.period, scene.board.per_container) == (15.0, True)
    assert scene.said == [
        "configuration: changed metricsContainers, passSeconds",
        "configuration: after a restart only: scheduler",
    ]


def test_a_file_that_can_t_be_used_changes_nothing_and_keeps_the_agent_from_ready(
    scene: Scene,
) -> None:
    scene.swap("passSecond: 10\nscheduler: foo\n")
    assert not scene.following.look()
    assert scene.following.config().pass_seconds == 30
    assert len(scene.said) == 2
    assert "passSeconds" in scene.said[0]
    assert scene.board.fatal is not None
    assert "passSecond" in scene.board.fatal
    scene.swap("passSeconds: 30\n")
    scene.following.look()
    assert scene.board.fatal is None


def test_a_file_that_is_being_written_is_looked_at_again_soon(scene: Scene) -> None:
    scene.file.write_text("")
    assert not scene.following.look()
    assert scene.following.patience(20.0) == 1.0
    assert scene.following.config().pass_seconds == 30
    assert scene.following.look()
    assert scene.following.config().pass_seconds == 60


def test_a_change_holds_though_the_log_can_t_be_written(scene: Scene) -> None:
    def full(_: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    scene.following = Following(Reload(scene.file, {}, {}), scene.board, full)
    scene.swap("passSeconds: 10\n")
    assert scene.following.look()
    assert scene.following.config().pass_seconds == 10
    assert scene.board.unsaid == "the log can't be written: No space left on device"
