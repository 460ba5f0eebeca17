"""One real API server for all of the chaos, and nodes of its own for each test.

First come the tests that break the server for everybody (`own_plane`); then those that don't, and
beside them the lengthy ones, which are told of last.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.apiserver.conftest import crd, programs
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import Json
from tests.apiserver.proxy import Proxy, proxied
from tests.chaos.lengthy import Beside, Scenario
from tests.chaos.node import Node, Nodes

__all__ = ["crd", "programs"]

TEST_SECONDS = 240


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order these tests, and time them without their fixtures: to build the server takes long."""
    here = Path(__file__).parent
    places = [place for place, item in enumerate(items) if here in item.path.parents]
    ours = sorted((items[place] for place in places), key=_turn)
    for place, item in zip(places, ours, strict=True):
        items[place] = item
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))


def _turn(item: pytest.Item) -> int:
    if "own_plane" in _fixtures(item):
        return 0
    return 1 if _scenario(item) is None else 2


def _fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


def _scenario(item: pytest.Item) -> Scenario | None:
    function = item.function if isinstance(item, pytest.Function) else None
    return getattr(function, "scenario", None)


@pytest.fixture(scope="session")
def plane(programs: Path, crd: Json) -> Iterator[ControlPlane]:
    """The server of all these tests."""
    with ControlPlane(programs) as plane:
        plane.install_crd(crd)
        yield plane


@pytest.fixture
def own_plane(plane: ControlPlane) -> ControlPlane:
    """The server, for a test that breaks it for everybody, and mends it."""
    return plane


@pytest.fixture(scope="session")
def beside(
    plane: ControlPlane, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Beside]:
    """The lengthy tests, which run from now on."""
    found = (_scenario(item) for item in request.session.items)
    scenarios = [each for each in found if each is not None]
    folders = [tmp_path_factory.mktemp("s") for _ in scenarios]
    with Beside(plane, scenarios, folders) as beside:
        yield beside


@pytest.fixture(autouse=True)
def _begun(request: pytest.FixtureRequest) -> None:
    """Begin the lengthy tests when nobody is alone any more."""
    names = _fixtures(request.node)
    if "plane" in names and "own_plane" not in names:
        request.getfixturevalue("beside")


@pytest.fixture
def make_node(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Makes Nodes with a name of their own; what was started on them ends with the test."""
    with Nodes(plane, tmp_path_factory.mktemp("n")) as nodes:
        yield nodes
        # Shown where the test fails.
        print(nodes.said())


@pytest.fixture
def node(make_node: Nodes) -> Node:
    """One node, whose agent has an admin's rights."""
    return make_node()


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """A network between an agent and the server, which can be lost or broken."""
    port = urlsplit(plane.url).port
    assert port is not None
    with proxied(port) as proxy:
        yield proxy
