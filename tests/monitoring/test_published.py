"""The alerts on publishing, on series of agents that have a real API server, or lost it."""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.monitoring.cluster import publishing, reader, second_publisher
from tests.monitoring.promtool import firing
from tests.monitoring.recording import Agent, each_second
from tests.monitoring.scenes import fires
from tests.monitoring.series import series_of

pytestmark = [
    pytest.mark.apiserver,
    pytest.mark.timeout(150),
    pytest.mark.skipif(
        shutil.which("promtool") is None,
        reason="the command promtool isn't there: it is in Debian's package prometheus",
    ),
]

RUN_SECONDS = 20
AGE = "numa_agent_publish_age_seconds"

FIRES = {
    "published": fires(),
    "second": fires("SecondPublisher", "PublicationStale"),
    "forbidden": fires("PublishFailing", "PublicationStale"),
    "gone": fires("PublicationStale", "SourceFailing", "SourceOld"),
}
"""By the Node: the alerts on what its agent answers."""


@pytest.fixture(scope="module")
def published(
    own_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Agent]:
    """Agents with a server, then one that has lost it; none of them runs any more."""
    folder = tmp_path_factory.mktemp("p")
    second_publisher(own_plane, "second")
    kubeconfigs = {"forbidden": reader(own_plane, "reader")}
    with ExitStack() as stack:
        agents = {
            node: stack.enter_context(
                publishing(own_plane, folder / node, node, kubeconfigs.get(node))
            )
            for node in FIRES
        }
        for each in agents.values():
            each.wait_for("numa_agent_publications_total")
        lost = agents["gone"]
        _scraped([each for each in agents.values() if each is not lost])
        own_plane.halt()
        _scraped([lost])
    return agents


def _scraped(agents: list[Agent]) -> None:
    """Ask each once a second."""
    for _ in each_second(RUN_SECONDS):
        for each in agents:
            each.scrape()


@pytest.mark.parametrize("node", FIRES)
def test_a_run_fires_exactly_the_alerts_that_tell_of_what_it_published(
    node: str, published: Mapping[str, Agent], rules: Path
) -> None:
    running = published[node]
    # The look that makes a good age young again comes every one to two minutes.
    growing = () if node == "published" else (AGE,)
    assert firing(rules, series_of(running.scrapes, running.labels), growing) == FIRES[node]
