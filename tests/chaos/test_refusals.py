"""An API server that takes away rights, no longer knows a token, or has had enough of requests.

Each ends with the right state and nothing lost, and the agent says what happened.
"""

import pytest

from tests.chaos.account import RIGHTS
from tests.chaos.daemon import AT_ONCE, eventually
from tests.chaos.lengthy import Scene, lengthy
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST, SECOND

pytestmark = pytest.mark.apiserver

RECONNECTS = 60.0
MOST_ASKED = 8


@lengthy
def test_rights_that_are_taken_away_and_given_back_are_named_and_cost_no_binding(
    scene: Scene,
) -> None:
    account = scene.account("chaos-rights")
    node = scene.make_node(account.kubeconfig)
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    account.forbid("noderesourcetopologies")
    late = node.machine.start(node.pod("b", SECOND))
    node.until(lambda: "forbidden" in agent.outcomes())
    assert agent.says("needs the RBAC rights to")
    eventually(holds(late, SECOND))
    account.forbid(*RIGHTS)
    scene.proxy.cut()
    node.until(lambda: agent.names("needs the RBAC rights to list and watch pods"))
    settle(cpus, ALL_CPUS)
    eventually(holds(cpus, FIRST), AT_ONCE)
    assert agent.ready()
    account.forbid()
    eventually(lambda: node.available() == ["110", "64"], RECONNECTS)
    node.until(agent.quiet, RECONNECTS)


@lengthy
def test_a_token_that_is_renewed_in_time_costs_nothing_and_one_that_is_late_is_named_until_it_is(
    scene: Scene,
) -> None:
    renewed, late = scene.account("chaos-renewed"), scene.account("chaos-late")
    nodes = [scene.make_node(each.kubeconfig) for each in (renewed, late)]
    agents = [node.running() for node in nodes]
    for account in (renewed, late):
        account.revoke()
    old = late.token.read_text()
    eventually(lambda: not late.valid())
    renewed.sign_in()
    scene.proxy.cut()
    pods = [node.machine.start(node.pod("a", FIRST)) for node in nodes]
    eventually(lambda: pods[0].read_text() == f"{FIRST}\n")
    eventually(lambda: nodes[0].available() == ["110", "88"])
    nodes[1].until(lambda: agents[1].names("HTTP 401"), RECONNECTS)
    assert agents[1].names("the token or certificate is expired")
    assert agents[1].ready()
    late.sign_in()
    assert late.token.read_text() != old
    eventually(lambda: pods[1].read_text() == f"{FIRST}\n", RECONNECTS)
    eventually(lambda: nodes[1].available() == ["110", "88"])
    nodes[1].until(agents[1].quiet)
    assert agents[1].says("HTTP 401")
    assert "HTTP 401" not in agents[0].said()


@lengthy
def test_a_server_that_refuses_everything_for_its_load_is_named_and_asked_little(
    scene: Scene,
) -> None:
    account = scene.account("chaos-load")
    node = scene.make_node(account.kubeconfig)
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    account.throttle()
    asked = len(scene.plane.pod_requests(account.user))
    try:
        scene.proxy.cut()
        node.until(lambda: agent.names("HTTP 429"), RECONNECTS)
        node.machine.start(node.pod("b", SECOND))
        settle(cpus, ALL_CPUS)
        eventually(holds(cpus, FIRST), AT_ONCE)
        assert agent.ready()
        assert len(scene.plane.pod_requests(account.user)) <= asked + MOST_ASKED
    finally:
        account.release()
    eventually(lambda: node.available() == ["110", "64"], RECONNECTS)
    node.until(agent.quiet, RECONNECTS)
