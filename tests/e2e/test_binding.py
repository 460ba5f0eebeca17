"""A pod with a decision: born inside its CPUs and memory node, through all that befalls it."""

import pytest

from tests.e2e.cluster import Born, Cluster
from tests.e2e.pods import LOOK, assigned, container, pod

pytestmark = pytest.mark.e2e


@pytest.mark.smoke
def test_a_pod_is_born_inside_its_cpus_and_memory_node(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("born", annotations=assigned("6-7", mems="1")))
    cluster.running("born")
    assert cluster.born("born") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("born") == {"app": "aligned"}
    less = {**before, "node-1": str(int(before["node-1"]) - 2)}
    cluster.until("the published availability drops", lambda: cluster.available() == less)
    cluster.delete("born")
    cluster.until("it comes back", lambda: cluster.available() == before)


def test_a_container_that_restarts_stays_inside(cluster: Cluster) -> None:
    cluster.apply(pod("restarting", annotations=assigned("2-3", mems="0")))
    cluster.running("restarting")
    # The command dies with its container.
    cluster.kubectl("exec", "restarting", "--", "kill", "1", check=False)

    def restarted() -> bool:
        [status] = (cluster.pod("restarting") or {})["status"]["containerStatuses"]
        return bool(status["restartCount"] == 1 and status["ready"])

    cluster.until("restarted", restarted)
    assert cluster.born("restarting") == Born(cpus="2-3", mems="0")
    assert cluster.verdicts("restarting") == {"app": "aligned"}


def test_init_and_sidecar_containers_are_born_inside(cluster: Cluster) -> None:
    first = container("first", script=LOOK)
    sidecar = container("sidecar", restartPolicy="Always")
    annotations = assigned("6-7", mems="1")
    cluster.apply(pod("several", annotations=annotations, init=[first, sidecar]))
    cluster.running("several")
    for name in ("first", "sidecar", "app"):
        assert cluster.born("several", name) == Born(cpus="6-7", mems="1"), name
    assert cluster.verdicts("several") == {"app": "aligned", "sidecar": "aligned"}


def test_a_pod_made_again_under_its_name_gets_what_it_then_asks_for(cluster: Cluster) -> None:
    cluster.apply(pod("again", annotations=assigned("2-3", mems="0")))
    cluster.running("again")
    assert cluster.born("again") == Born(cpus="2-3", mems="0")
    cluster.delete("again")
    cluster.apply(pod("again", annotations=assigned("6-7", mems="1")))
    cluster.running("again")
    assert cluster.born("again") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("again") == {"app": "aligned"}
