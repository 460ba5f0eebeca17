"""An API server that dies, forgets, goes back in time, or no longer knows a definition.

Each ends with the right state and nothing lost, and the agent says what happened.
"""

import os
import signal

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import DEFINITIONS, TOPOLOGIES, Json
from tests.chaos.daemon import AT_ONCE, Daemon, eventually
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST, SECOND, Node

pytestmark = pytest.mark.apiserver

CRD_NAME = "noderesourcetopologies.topology.node.k8s.io"
RECONNECTS = 60.0


def back(plane: ControlPlane) -> None:
    """Start the servers again and wait until the objects are served, too."""
    plane.resume()
    eventually(lambda: not fault(plane))


def filled(node: Node, count: int = 60) -> None:
    """Take the server's resourceVersion further than that of a fresh one."""
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(count):
        metadata = {"name": f"{node.name}-{number}"}
        node.plane.ask(
            "POST", path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        )


def test_an_api_server_that_is_killed_and_back_costs_no_binding_and_no_write(
    node: Node, own_plane: ControlPlane
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    eventually(lambda: node.available() == ["110", "88"])
    version = node.version()
    try:
        for each in own_plane.process_ids:
            os.kill(each, signal.SIGKILL)
        node.until(lambda: agent.names("is the server running, and its address right?"))
        settle(cpus, ALL_CPUS)
        eventually(holds(cpus, FIRST), AT_ONCE)
        assert agent.ready()
        assert agent.page("/healthz")[0] == 200
    finally:
        own_plane.halt()
        back(own_plane)
    node.until(agent.quiet, RECONNECTS)
    assert agent.says("is the server running")
    assert node.version() == version
    late = node.machine.start(node.pod("b", SECOND))
    eventually(holds(late, SECOND), 3 * AT_ONCE)


def test_an_api_server_on_an_empty_etcd_takes_no_cpus_away_and_gets_the_object_again(
    node: Node, own_plane: ControlPlane, crd: Json
) -> None:
    filled(node)
    pod = node.pod("a", FIRST)
    cpus = node.machine.start(pod)
    agent = node.running()
    eventually(lambda: node.available() == ["110", "88"])
    own_plane.halt()
    own_plane.load(None)
    own_plane.resume()
    own_plane.install_crd(crd)
    node.make()
    node.until(lambda: "1 pods run here that the API server no longer has" in lost(agent))
    assert f"default/{node.name}-a" in lost(agent)
    settle(cpus, ALL_CPUS)
    eventually(holds(cpus, FIRST), AT_ONCE)
    other = node.machine.start(node.pod("b", SECOND))
    eventually(holds(other, SECOND), AT_ONCE)
    # Of both: what still runs isn't free.
    eventually(lambda: node.available() == ["110", "64"])
    node.machine.end(pod)
    node.until(lambda: lost(agent) == "")
    eventually(lambda: node.available() == ["110", "88"])
    assert agent.says("no longer has")


def test_an_api_server_with_an_older_state_is_told_of_today_s(
    node: Node, own_plane: ControlPlane
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    eventually(lambda: node.available() == ["110", "88"])
    own_plane.halt()
    older = own_plane.save()
    back(own_plane)
    node.until(agent.quiet, RECONNECTS)
    filled(node)
    late = node.pod("b", SECOND)
    later = node.machine.start(late)
    eventually(holds(later, SECOND))
    eventually(lambda: node.available() == ["110", "64"])
    own_plane.halt()
    own_plane.load(older)
    back(own_plane)
    assert node.available() == ["110", "88"]
    node.until(lambda: f"default/{node.name}-b" in lost(agent), RECONNECTS)
    assert "went back from resourceVersion" in lost(agent)
    for each, text in ((cpus, FIRST), (later, SECOND)):
        settle(each, ALL_CPUS)
        eventually(holds(each, text), AT_ONCE)
    node.pod("c", None)
    eventually(lambda: node.available() == ["110", "64"])
    node.machine.end(late)
    node.until(lambda: lost(agent) == "")


def lost(agent: Daemon) -> str:
    """What it says of pods that the server lacks."""
    found = (each for each in agent.report()["conditions"] if each["code"] == "pods-lost")
    return "".join(each["message"] for each in found)


def test_a_definition_that_is_removed_and_back_has_the_object_again(
    node: Node, own_plane: ControlPlane, crd: Json
) -> None:
    agent = node.running()
    own_plane.ask("DELETE", f"{DEFINITIONS}/{CRD_NAME}")
    try:
        eventually(lambda: "HTTP 404" in fault(own_plane))
        cpus = node.machine.start(node.pod("a", FIRST))
        eventually(holds(cpus, FIRST), AT_ONCE)
        node.until(lambda: "no-crd" in agent.outcomes())
        assert agent.page("/healthz")[0] == 200
    finally:
        own_plane.install_crd(crd)
    eventually(lambda: node.available() == ["110", "88"])
    node.until(lambda: {*agent.outcomes()} <= {"created", "unchanged"})
    assert agent.says("kubectl apply -f manifests/crd")


def fault(plane: ControlPlane) -> str:
    """Why the objects aren't served, "" where they are."""
    try:
        plane.ask("GET", TOPOLOGIES)
    except AssertionError as error:
        return str(error)
    return ""
