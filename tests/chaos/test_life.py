"""The daemon on a good day: it starts, binds, follows, ends, and starts again."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import TOPOLOGIES
from tests.apiserver.proxy import Proxy
from tests.chaos.daemon import AT_ONCE, ENDS_SECONDS, Daemon, eventually
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST, SECOND, Node, Nodes, through
from tests.podresources.servers import raw_server

pytestmark = pytest.mark.apiserver


def test_it_is_ready_soon_after_its_start_with_the_pod_bound_and_the_object_published(
    node: Node,
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.agent()
    seconds = eventually(agent.ready)
    print(f"ready after {seconds:.2f} s")
    assert cpus.read_text() == f"{FIRST}\n"
    eventually(lambda: node.available() == ["110", "88"])
    eventually(agent.quiet)
    (container,) = agent.report()["containers"]
    assert container["effective"] == container["decided"]
    eventually(lambda: node.events("CPUSetBind"))


def test_before_its_first_pass_it_lives_and_says_why_it_is_not_ready(node: Node) -> None:
    node.kubelet_down()
    with silent(node):
        agent = node.agent()
        said = "not ready\nno full pass is done yet\n"
        eventually(lambda: agent.page("/readyz") == (503, said))
        assert agent.page("/healthz")[0] == 200
        eventually(agent.ready)
        assert agent.names("podresources: no answer for 2 s")
        agent.close()


def test_a_pod_that_comes_and_one_whose_assignment_changes_are_bound_without_a_pass(
    node: Node,
) -> None:
    agent = node.agent()
    eventually(agent.quiet)
    passes = taken(agent)
    pod = node.pod("late", FIRST)
    cpus = node.machine.start(pod)
    eventually(holds(cpus, FIRST), AT_ONCE)
    eventually(lambda: taken(agent) > passes)
    passes = taken(agent)
    node.assign(pod, SECOND)
    eventually(holds(cpus, SECOND), AT_ONCE)
    settle(cpus, ALL_CPUS)
    eventually(holds(cpus, SECOND), AT_ONCE)
    assert taken(agent) <= passes + 2


def taken(agent: Daemon) -> float:
    """How many passes it has taken."""
    return sum(
        agent.metric(f'numa_agent_passes_total{{outcome="{outcome}"}}')
        for outcome in ("good", "faulty", "failed")
    )


def test_it_ends_at_once_when_it_is_told_to(node: Node) -> None:
    agent = node.agent()
    eventually(agent.quiet)
    assert agent.ends() < ENDS_SECONDS
    assert agent.process.returncode == 0


@pytest.mark.parametrize("after", [0.3, 0.6, 1.2])
def test_it_ends_at_once_in_its_first_pass_while_the_api_server_says_nothing(
    after: float, make_node: Nodes, plane: ControlPlane, proxy: Proxy
) -> None:
    node = make_node(through(proxy, plane, plane.kubeconfig))
    proxy.forwarding = False
    agent = node.agent()
    eventually(lambda: agent.page("/healthz")[0] == 200)
    with pytest.raises(AssertionError):
        eventually(lambda: False, after)
    assert agent.ends() < ENDS_SECONDS


def test_it_ends_at_once_while_the_network_is_lost(
    make_node: Nodes, plane: ControlPlane, proxy: Proxy
) -> None:
    node = make_node(through(proxy, plane, plane.kubeconfig))
    agent = node.agent()
    eventually(agent.quiet)
    proxy.forwarding = False
    # Another pass, and an object that can't be sent.
    node.machine.start(node.pod("a", FIRST))
    settle(node.machine.cpu_state, node.machine.cpu_state.read_text())
    assert agent.ends() < ENDS_SECONDS
    assert agent.process.returncode == 0


def test_it_ends_at_once_while_kubelet_says_nothing(node: Node) -> None:
    node.kubelet_down()
    with silent(node):
        agent = node.agent()
        eventually(lambda: agent.page("/healthz")[0] == 200)
        assert agent.ends() < ENDS_SECONDS
        assert agent.process.returncode == 0
        assert "ended in the middle of a pass" in agent.said()


def test_a_second_agent_on_the_node_is_refused_and_works_once_the_first_is_gone(
    node: Node,
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    first = node.agent()
    eventually(first.quiet)
    second = node.agent()
    assert second.wait() == 2
    assert "another numa-agent runs on this node and holds" in second.said()
    assert f"(pid {first.process.pid} " in second.said()
    eventually(first.quiet)
    first.ends(signal.SIGKILL)
    settle(cpus, ALL_CPUS)
    third = node.agent()
    eventually(third.quiet)
    assert cpus.read_text() == f"{FIRST}\n"
    third.ends()
    fourth = node.agent()
    eventually(fourth.quiet)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_without_a_change_writes_nothing_to_the_machine_or_the_api_server(
    number: signal.Signals, node: Node, plane: ControlPlane
) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.agent()
    eventually(agent.quiet)
    eventually(lambda: node.available() == ["110", "88"])
    eventually(lambda: node.events("CPUSetBind"))
    agent.ends(number)
    before = (cpus.stat().st_mtime_ns, node.version())
    asked, told = plane.requests(node.name), node.events("CPUSetBind")
    agent = node.agent()
    eventually(agent.quiet)
    eventually(lambda: agent.metric(UNCHANGED) == 1)
    assert agent.report()["writes"] == []
    assert (cpus.stat().st_mtime_ns, node.version()) == before
    assert plane.requests(node.name)[len(asked) :] == ["get"]
    # Repeated, it would be another version.
    assert node.events("CPUSetBind") == told


UNCHANGED = 'numa_agent_publications_total{kind="NodeResourceTopology",outcome="unchanged"}'


def test_once_and_the_daemon_write_and_say_the_same(node: Node, plane: ControlPlane) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    node.pod("refused", "4000")
    once = node.agent("--once", "-o", "json")
    assert once.wait() == 1
    written = cpus.read_text()
    stored = node.stored()
    settle(cpus, ALL_CPUS)
    plane.ask("DELETE", f"{TOPOLOGIES}/{node.name}")
    daemon = node.agent("-o", "json")
    eventually(daemon.ready)
    eventually(lambda: node.stored() is not None)
    assert cpus.read_text() == written == f"{FIRST}\n"
    assert without_server(node.stored()) == without_server(stored)
    assert told(daemon.report()) == told(printed(once))


def without_server(stored: dict[str, Any] | None) -> dict[str, Any]:
    """An object without what the server adds."""
    assert stored is not None
    return {key: value for key, value in stored.items() if key != "metadata"}


def printed(once: Daemon) -> dict[str, Any]:
    """The report among what was said: an object of many lines that begins one."""
    said = once.said()
    found: dict[str, Any] = json.JSONDecoder().raw_decode(said[said.index("{\n") :])[0]
    return found


def told(report: dict[str, Any]) -> dict[str, Any]:
    """A report without ages, times and what became of publishing, which is sent later."""
    manifests = [each["object"] for each in report["publications"]]
    sources = [(each["source"], each["error"]) for each in report["sources"]]
    apart = {"times": None, "publications": manifests, "sources": sources, "good": None}
    return {**report, **apart}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("passSecond: 10\nscheduler: volcano\n", ("did you mean passSeconds?", "volcano")),
        ("{", ("isn't YAML",)),
        ("", ("which Node is this?",)),
    ],
)
def test_mistakes_in_the_configuration_end_it_at_its_start_with_each_named(
    content: str, said: tuple[str, ...], node: Node
) -> None:
    node.settings.text(content)
    agent = node.agent()
    assert agent.wait() == 2
    for each in said:
        assert each in agent.said()


def test_a_kubeconfig_that_is_not_there_ends_it_at_its_start(node: Node) -> None:
    node.settings.change(kubeconfig="/nowhere/kubeconfig")
    agent = node.agent()
    assert agent.wait() == 2
    assert "no kubeconfig at /nowhere/kubeconfig" in agent.said()


@contextmanager
def silent(node: Node) -> Iterator[None]:
    """A kubelet that takes connections and never answers."""

    def keep(connection: Any) -> None:
        while connection.recv(4096):
            pass

    with raw_server(node.machine.socket, keep):
        yield
