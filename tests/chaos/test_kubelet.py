"""kubelet that restarts, writes its state half, loses it, or gives out CPUs of its own."""

import json

import pytest

from tests.chaos.daemon import AT_ONCE, MEANWHILE, Daemon, eventually
from tests.chaos.machine import ALL_CPUS, KUBELET, NO_POLICY, holds, settle
from tests.chaos.node import FIRST, SECOND, Node

pytestmark = pytest.mark.apiserver

NO_CPUS = "no CPU is given out: "

# Equally long, so that each can follow the other in a plain file; together they are all CPUs.
OWN, REST = "60,100-108,222-223", "0-59,61-99,109-221"


@pytest.fixture
def agent(node: Node) -> Daemon:
    node.settings.change(passSeconds=5)
    agent = node.agent()
    eventually(agent.quiet)
    return agent


def test_kubelet_s_socket_that_is_gone_and_back_costs_no_binding_and_no_wrong_number(
    node: Node, agent: Daemon
) -> None:
    eventually(lambda: node.stored() is not None)
    node.kubelet_down()
    cpus = node.machine.start(node.pod("a", FIRST))
    eventually(holds(cpus, FIRST), AT_ONCE)
    node.until(lambda: agent.names("podresources: "))
    assert agent.names("nothing is published: podresources is ")
    assert agent.ready()
    assert node.available() == ["110", "112"]
    node.kubelet_up()
    node.until(lambda: node.available() == ["110", "88"])
    eventually(agent.quiet)
    assert agent.says(str(node.machine.socket))


@pytest.mark.parametrize("half", ["", NO_POLICY[:20], "\0" * 40])
def test_a_state_that_is_half_written_stops_binding_until_it_is_whole(
    half: str, node: Node, agent: Daemon
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    eventually(holds(cpus, FIRST))
    node.machine.state(half)
    eventually(lambda: agent.names(f"{NO_CPUS}kubelet's state isn't of now"))
    assert agent.names(str(node.machine.cpu_state))
    settle(cpus, ALL_CPUS)
    late = node.machine.start(node.pod("b", SECOND))
    with pytest.raises(AssertionError):
        eventually(lambda: late.read_text() != f"{ALL_CPUS}\n", MEANWHILE)
    assert cpus.read_text() == f"{ALL_CPUS}\n"
    assert agent.page("/healthz")[0] == 200
    node.machine.state(NO_POLICY)
    eventually(lambda: (cpus.read_text(), late.read_text()) == (f"{FIRST}\n", f"{SECOND}\n"))
    eventually(agent.quiet)
    assert agent.says(NO_CPUS)


def test_a_state_that_is_gone_stops_binding_where_kubelet_may_be_giving_cpus_out(
    node: Node, agent: Daemon
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    eventually(holds(cpus, FIRST))
    settings = node.machine.root / KUBELET / "config.yaml"
    settings.write_text(settings.read_text().replace("Policy: none", "Policy: static", 1))
    node.machine.cpu_state.unlink()
    eventually(lambda: agent.names(f"{NO_CPUS}kubelet's cpu_manager_state isn't there"))
    settle(cpus, ALL_CPUS)
    with pytest.raises(AssertionError):
        eventually(lambda: cpus.read_text() != f"{ALL_CPUS}\n", MEANWHILE)
    node.machine.state(NO_POLICY)
    eventually(holds(cpus, FIRST))


def test_cpus_that_kubelet_begins_to_give_out_are_left_to_it_and_the_overlap_is_refused(
    node: Node, agent: Daemon
) -> None:
    cpus = node.machine.start(node.pod("a", OWN))
    eventually(holds(cpus, OWN))
    # kubelet restarted with another policy, and decides before it makes a pod's cgroup.
    given = node.pod("b", None)
    node.machine.state(static({given["metadata"]["uid"]: OWN}))
    eventually(lambda: agent.report()["cpus"]["kubelet_exclusive"] == OWN)
    (refusal,) = agent.report()["refusals"]
    assert refusal["pod"] == f"default/{node.name}-a"
    assert cpus.read_text() == f"{REST}\n"
    kubelets = node.machine.start(given)
    settle(kubelets, OWN)
    with pytest.raises(AssertionError):
        eventually(lambda: kubelets.read_text() != f"{OWN}\n", MEANWHILE)
    assert agent.says(f"belong to kubelet's CPU manager, for pod default/{node.name}-b")
    node.machine.state(NO_POLICY)
    eventually(lambda: (cpus.read_text(), kubelets.read_text()) == (f"{OWN}\n", f"{REST}\n"))
    eventually(agent.quiet)


def static(given: dict[str, str]) -> str:
    """The state of a static policy that gave CPUs to pods' one container."""
    entries = {uid: {"main": cpus} for uid, cpus in given.items()}
    state = {"policyName": "static", "defaultCpuSet": REST, "entries": entries}
    return json.dumps({**state, "checksum": 1})
