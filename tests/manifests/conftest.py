"""The manifests as kustomize and helm make them, and an API server that has them."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.apiserver.conftest import bare_control_plane, crd, device_crd, programs
from tests.apiserver.control_plane import ControlPlane
from tests.manifests import container
from tests.manifests import programs as tools
from tests.manifests.assigning import make_assigner, make_developer
from tests.manifests.container import Container
from tests.manifests.installing import container_of, kubelet_folder
from tests.manifests.objects import MANIFESTS, Json, apply, documents
from tests.manifests.person import Person

__all__ = ["bare_control_plane", "crd", "device_crd", "programs"]

Build = Callable[[str], list[Json]]
"""The objects that a folder below manifests/ makes."""


@pytest.fixture(scope="session")
def kustomize() -> Path:
    return _program("kustomize")


@pytest.fixture(scope="session")
def helm() -> Path:
    return _program("helm")


def _program(name: str) -> Path:
    reason = tools.missing()
    if reason is not None:
        pytest.skip(reason)
    return tools.build(name)


@pytest.fixture(scope="session")
def built(kustomize: Path) -> Build:
    """What `kustomize build` makes of a folder below manifests/."""

    @cache
    def build(folder: str) -> list[Json]:
        text = tools.run(kustomize, "build", str(MANIFESTS / folder))
        return list(yaml.safe_load_all(text))

    return build


@pytest.fixture(scope="package")
def plane(programs: Path, crd: Json, device_crd: Json, built: Build) -> Iterator[ControlPlane]:
    """A server with Koordinator's profile and the right to ACK's ConfigMap of GPUs."""
    with ControlPlane(programs) as plane:
        plane.install_crd(crd)
        plane.install_crd(device_crd)
        apply(plane, built("overlays/koordinator"))
        folder = MANIFESTS / "components" / "gputopo"
        for file in ("rbac.yaml", "own-config.yaml"):
            apply(plane, documents(folder / file))
        yield plane


@pytest.fixture(scope="package")
def developer(plane: ControlPlane) -> Person:
    """An ordinary user, once the policy holds."""
    return make_developer(plane)


@pytest.fixture(scope="package")
def assigner(plane: ControlPlane, developer: Person) -> Person:
    """A user who was given numa-agent-assigner in the developer's namespace."""
    del developer
    return make_assigner(plane)


@pytest.fixture
def kubelet_dir(tmp_path: Path) -> Iterator[Path]:
    """A folder in the place of kubelet's, with a server on its socket."""
    with kubelet_folder(tmp_path / "kubelet") as folder:
        yield folder


@pytest.fixture
def box(built: Build, kubelet_dir: Path, tmp_path: Path) -> Container:
    """The container of the profile for kube-scheduler."""
    reason = container.missing()
    if reason is not None:
        pytest.skip(reason)
    return container_of(built("overlays/kube-scheduler"), tmp_path, kubelet_dir)
