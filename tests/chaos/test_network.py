"""A network that loses everything for a while, and one that breaks connections."""

import time

import pytest

from tests.chaos.daemon import AT_ONCE, eventually
from tests.chaos.lengthy import Scene, lengthy
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST, SECOND, through

pytestmark = pytest.mark.apiserver

STALL_SECONDS = 20.0


@lengthy
def test_bindings_are_kept_while_the_network_is_lost_and_what_came_meanwhile_follows(
    scene: Scene,
) -> None:
    proxy, plane = scene.proxy, scene.plane
    node = scene.make_node(through(proxy, plane, plane.kubeconfig))
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    eventually(lambda: node.available() == ["110", "88"])
    began = time.monotonic()
    proxy.lose()
    later = node.machine.start(node.pod("b", SECOND))
    while time.monotonic() < began + STALL_SECONDS:
        settle(cpus, ALL_CPUS)
        eventually(holds(cpus, FIRST), AT_ONCE)
        assert agent.page("/healthz")[0] == 200
        assert agent.ready()
        # As often as a person would: drift that comes all the time is a fight, and told as one.
        time.sleep(STALL_SECONDS / 3)
    # A watch may be silent for longer than that: nothing is wrong yet.
    assert agent.quiet()
    assert later.read_text() == f"{ALL_CPUS}\n"
    proxy.forwarding = True
    eventually(holds(later, SECOND), 2 * AT_ONCE)
    eventually(lambda: node.available() == ["110", "64"])
    node.until(agent.quiet)


@lengthy
def test_connections_that_break_all_the_time_lose_no_pod(
    scene: Scene,
) -> None:
    proxy, plane = scene.proxy, scene.plane
    node = scene.make_node(through(proxy, plane, plane.kubeconfig))
    agent = node.running()
    pods = []
    for number in range(5):
        own = f"{60 + 2 * number}-{61 + 2 * number}"
        pods.append((node.machine.start(node.pod(f"p{number}", own)), f"{own}\n"))
        proxy.cut()
        time.sleep(0.2)
    eventually(lambda: all(cpus.read_text() == text for cpus, text in pods))
    node.until(lambda: node.available() == ["110", "102"])
    node.until(agent.quiet)
