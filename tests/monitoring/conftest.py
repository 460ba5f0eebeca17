"""Real runs of the agent, recorded once for all tests."""

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.apiserver.conftest import crd, device_crd, programs
from tests.apiserver.control_plane import ControlPlane
from tests.monitoring.faults import RUN_SECONDS
from tests.monitoring.recording import Agent, agent, copy_of, each_second
from tests.monitoring.scenes import SCENES, Scene
from tests.recorded import ROOT

__all__ = ["crd", "device_crd", "programs"]

CHANGE_AT = 5


def _started(name: str, scene: Scene, folder: Path, stack: ExitStack) -> Agent:
    root = copy_of(scene.machine, folder / name)
    scene.before(root)
    given = scene.settings(root)
    scheme = "https" if "metricsTlsCert" in given else "http"
    return stack.enter_context(agent(root, name, scheme=scheme, **given))


def _second(number: int, scene: Scene, running: Agent) -> None:
    if number == CHANGE_AT:
        scene.then(running)
    if number >= CHANGE_AT:
        scene.again(running)
    running.scrape()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Agent]:
    """Every scene's agent with what it answered in its 45 seconds; none of them runs any more."""
    folder = tmp_path_factory.mktemp("runs")
    # The agents end before the threads that started them.
    with ThreadPoolExecutor(4) as threads, ExitStack() as stack:
        pending = {
            name: threads.submit(_started, name, scene, folder, stack)
            for name, scene in SCENES.items()
        }
        started = {name: each.result() for name, each in pending.items()}
        for number in each_second(RUN_SECONDS):
            for name, running in started.items():
                _second(number, SCENES[name], running)
    return started


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """The rule file that is shipped."""
    return Path(shutil.copy(ROOT / "manifests/monitoring/rules.yml", tmp_path))


@pytest.fixture(scope="module")
def own_plane(programs: Path, crd: dict[str, object]) -> Iterator[ControlPlane]:
    """A real API server of the module's own, which it may halt."""
    with ControlPlane(programs) as plane:
        plane.install_crd(crd)
        yield plane
