"""From the version before this one to this one, and back, with pods bound."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.bench import previous
from tests.e2e.bench.bench import CACHE, Bench
from tests.e2e.bench.images import Build
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.placed import own, uid
from tests.e2e.pods import assigned, container, pod
from tests.e2e.served import WRITES, counted
from tests.e2e.test_assigner import ASKS
from tests.e2e.trouble import Before, TroubleBench, bound, settled
from tests.e2e.watching import Watch
from tests.e2e.waves import moved

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [TroubleBench], indirect=True, scope="session"),
    pytest.mark.timeout(1500, func_only=True),
]

AGENT_S_OWN = 1
"""A new agent's pod is a new pod, which shares what is nobody's own."""

ROLLOUT = ("-n", NAMESPACE, "rollout", "status", "daemonset/numa-agent", "--timeout=180s")


@pytest.fixture
def older(bench: Bench) -> Iterator[Path]:
    """An overlay of the version before, whose image the node has."""
    commit = previous.commit()
    if commit is None:
        pytest.skip("no older version is in this checkout's history")
    tree = previous.tree(commit, CACHE / "e2e" / "sources")
    build = Build(CACHE / "e2e", tree, previous.TAG)
    node = bench.cluster.node
    try:
        shutil.copy(build.archive(), node.share / "previous.tar")
    finally:
        build.stop()
    node.run("ctr -n k8s.io images import /run/share/previous.tar", seconds=150)
    (node.share / "previous.tar").unlink()
    yield bench.own_overlay("previous", manifests=tree / "manifests", tag=previous.TAG)
    bench.deploy()
    bench.cluster.kubectl(*ROLLOUT, seconds=200)


def become(cluster: Cluster, overlay: Path) -> str:
    """Have the agent of an overlay, as docs/upgrade-and-uninstall.md says; its image."""
    cluster.kubectl("apply", "-k", str(overlay))
    cluster.kubectl(*ROLLOUT, seconds=200)
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    return str(agent["spec"]["containers"][0]["image"])


def test_pods_stay_where_they_are_on_the_way_back_and_forth(
    cluster: Cluster, bench: Bench, older: Path
) -> None:
    warned = Before.of(cluster).warned
    bound(cluster)
    before = own(cluster)
    with Watch(cluster.node, "upgrade") as watch:
        assert become(cluster, older).endswith(f":{previous.TAG}")
        settled(cluster, Before(warned=warned, restarts=0))
        assert counted(cluster, WRITES) <= AGENT_S_OWN
        assert own(cluster) == before
        one = container(cpu="1", guaranteed=True)
        cluster.apply(pod("decided-later", annotations=assigned("5", mems="1")))
        cluster.running("decided-later")
        cluster.apply(pod("of-the-older", one, annotations=ASKS))
        cluster.running("of-the-older")
        asked = uid(cluster, "of-the-older")
        cluster.until("it has what it asks for", lambda: asked in own(cluster))
        settled(cluster, Before(warned=warned, restarts=0))
        before = own(cluster)
        assert not become(cluster, bench.own_overlay()).endswith(f":{previous.TAG}")
        settled(cluster, Before(warned=warned, restarts=0))
        assert counted(cluster, WRITES) <= AGENT_S_OWN
        assert own(cluster) == before
        assert moved(watch.changes, before) == []
