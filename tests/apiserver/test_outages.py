"""An API server that goes away, comes back with less than it had, or loses its definitions."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from numa_agent.cluster.api import Cluster, connect
from numa_agent.core.publishing import Outcome, publish
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import DEFINITIONS, TOPOLOGIES, Json, topology

pytestmark = pytest.mark.apiserver

CRD_NAME = "noderesourcetopologies.topology.node.k8s.io"


@pytest.fixture
def own(bare_control_plane: ControlPlane, crd: Json) -> ControlPlane:
    """A server of the test's own with the CRD in it."""
    bare_control_plane.install_crd(crd)
    return bare_control_plane


@pytest.fixture
def agent(own: ControlPlane) -> Iterator[Cluster]:
    with closing(connect(own.kubeconfig)) as cluster:
        yield cluster


def test_a_server_that_dies_is_unavailable_and_one_that_is_back_needs_no_write(
    own: ControlPlane, agent: Cluster
) -> None:
    publish(agent, topology("n"))
    own.halt()
    published = publish(agent, topology("n"))
    assert published.outcome is Outcome.UNAVAILABLE
    assert "is the server running" in published.detail
    own.resume()
    assert publish(agent, topology("n")).outcome is Outcome.UNCHANGED
    assert own.requests("n") == ["get", "patch", "get"]


def test_a_server_with_an_older_state_is_given_ours_again(
    own: ControlPlane, agent: Cluster
) -> None:
    publish(agent, topology("n", "8"))
    own.halt()
    older = own.save()
    own.resume()
    publish(agent, topology("n", "7"))
    publish(agent, topology("later"))
    own.halt()
    own.load(older)
    own.resume()
    assert publish(agent, topology("n", "7")).outcome is Outcome.CHANGED
    assert publish(agent, topology("later")).outcome is Outcome.CREATED
    stored = own.ask("GET", f"{TOPOLOGIES}/n")
    assert stored["zones"] == topology("n", "7")["zones"]


def test_an_empty_server_lacks_the_crd_and_then_the_object(
    own: ControlPlane, agent: Cluster, crd: Json
) -> None:
    publish(agent, topology("n"))
    own.halt()
    own.load(None)
    own.resume()
    assert publish(agent, topology("n")).outcome is Outcome.NO_CRD
    own.install_crd(crd)
    assert publish(agent, topology("n")).outcome is Outcome.CREATED


def outcomes_until(wanted: Outcome, agent: Cluster) -> dict[Outcome, str]:
    """What publishing says, every 50 ms for a minute at most, until it says what is wanted."""
    seen: dict[Outcome, str] = {}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        published = publish(agent, topology("n"))
        seen[published.outcome] = published.detail
        if wanted in seen:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"never {wanted}: {seen}")


def test_a_crd_that_is_deleted_and_back_is_lived_through(
    own: ControlPlane, agent: Cluster, crd: Json
) -> None:
    publish(agent, topology("n"))
    own.ask("DELETE", f"{DEFINITIONS}/{CRD_NAME}")
    # A busy server may be ill for a moment.
    allowed = {Outcome.UNCHANGED, Outcome.CREATED, Outcome.NO_CRD, Outcome.UNAVAILABLE}
    for wanted in (Outcome.NO_CRD, Outcome.CREATED, Outcome.UNCHANGED):
        if wanted is Outcome.CREATED:
            own.install_crd(crd)
        seen = outcomes_until(wanted, agent)
        assert {each: seen[each] for each in seen.keys() - allowed} == {}


def test_a_version_that_is_not_served_is_named(own: ControlPlane, agent: Cluster) -> None:
    published = publish(agent, topology("n", version="v1beta1"))
    assert published.outcome is Outcome.NO_CRD
    assert "doesn't serve topology.node.k8s.io/v1beta1" in published.detail


def test_a_definition_without_a_stored_version_can_not_replace_ours_and_ours_may_come_again(
    own: ControlPlane, agent: Cluster, crd: Json
) -> None:
    publish(agent, topology("n"))
    path = f"{DEFINITIONS}/{CRD_NAME}"
    metadata = own.ask("GET", path)["metadata"]
    stored = {
        **crd,
        "metadata": {**crd["metadata"], "resourceVersion": metadata["resourceVersion"]},
    }
    own.ask("PUT", path, stored)
    older_only = [
        {**version, "storage": True}
        for version in crd["spec"]["versions"]
        if version["name"] == "v1alpha1"
    ]
    lacking = {**stored, "spec": {**crd["spec"], "versions": older_only}}
    with pytest.raises(AssertionError, match=r"HTTP 422.*status\.storedVersions"):
        own.ask("PUT", path, lacking)
    assert publish(agent, topology("n")).outcome is Outcome.UNCHANGED
