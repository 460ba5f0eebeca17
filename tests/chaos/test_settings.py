"""The configuration file of a running agent, swapped as kubelet swaps a ConfigMap."""

import re

import pytest

from tests.chaos.daemon import eventually
from tests.chaos.lengthy import Scene, lengthy
from tests.chaos.node import FIRST, Node

pytestmark = pytest.mark.apiserver


def policy(node: Node) -> str | None:
    """The Topology Manager's policy that is published."""
    stored = node.stored() or {"attributes": []}
    values = {each["name"]: each["value"] for each in stored["attributes"]}
    return values.get("topologyManagerPolicy")


@lengthy
def test_a_changed_file_holds_without_a_restart_a_bad_one_changes_nothing_and_is_told(
    scene: Scene,
) -> None:
    node = scene.make_node()
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.running()
    eventually(lambda: policy(node) == "none")
    node.settings.change(topologyPolicy="restricted", lockFile="/run/elsewhere/lock")
    eventually(lambda: policy(node) == "restricted")
    assert agent.says("configuration: changed topologyPolicy")
    restart = r"configuration: .*(restart.*lockFile|lockFile.*restart)"
    eventually(lambda: re.search(restart, agent.said()))

    node.settings.change(topologyPolicy="strict", passSecond=10)
    eventually(lambda: agent.page("/readyz")[0] == 503)
    assert agent.names("the changed configuration can't be used, the one before holds: ")
    assert agent.names("topologyPolicy")
    for mistake in ("strict", "did you mean passSeconds?"):
        assert agent.says(mistake)
    assert agent.page("/healthz")[0] == 200
    assert policy(node) == "restricted"
    assert cpus.read_text() == f"{FIRST}\n"

    node.settings.text("{")
    eventually(lambda: agent.names("isn't YAML"))
    node.settings.repair("passSecond")
    node.settings.change(topologyPolicy="best-effort")
    eventually(agent.quiet)
    eventually(lambda: policy(node) == "best-effort")
