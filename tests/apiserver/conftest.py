"""A real API server for the tests marked `apiserver`, built at the first need."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from numa_agent.cluster.api import Cluster, connect
from tests.apiserver import control_plane as planes
from tests.apiserver.control_plane import ControlPlane

CRD = Path(__file__).parents[2] / "manifests" / "crd" / "noderesourcetopologies.yaml"
DEVICES = Path(__file__).with_name("devices.yaml")
TEST_SECONDS = 180


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Time these tests without their fixtures: building the server takes minutes once.

    The build, the start and the stop are bounded by themselves.
    """
    for item in items:
        if item.get_closest_marker("apiserver") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the built programs; skips where they can't be built, fails if they don't."""
    reason = planes.missing()
    if reason is not None:
        pytest.skip(reason)
    return planes.build()


@pytest.fixture(scope="session")
def crd() -> dict[str, Any]:
    """The project's own definition of NodeResourceTopology."""
    manifest: dict[str, Any] = yaml.safe_load(CRD.read_text())
    return manifest


@pytest.fixture(scope="session")
def device_crd() -> dict[str, Any]:
    """Koordinator's definition of Device, as far as its documented fields go."""
    manifest: dict[str, Any] = yaml.safe_load(DEVICES.read_text())
    return manifest


@pytest.fixture(scope="session")
def control_plane(
    programs: Path, crd: dict[str, Any], device_crd: dict[str, Any]
) -> Iterator[ControlPlane]:
    """One server for the whole session with both CRDs: use names that no other test uses."""
    with ControlPlane(programs) as plane:
        plane.install_crd(crd)
        plane.install_crd(device_crd)
        yield plane


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """The session's server as the agent sees it, with an admin's rights."""
    with closing(connect(control_plane.kubeconfig)) as cluster:
        yield cluster


@pytest.fixture
def bare_control_plane(programs: Path) -> Iterator[ControlPlane]:
    """A server of the test's own, with nothing in it: to look at it empty, or to kill it."""
    with ControlPlane(programs) as plane:
        yield plane
