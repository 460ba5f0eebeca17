"""A pod that asks for alignment, with a scheduler that knows nothing of NUMA: docs/assigner.md."""

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.pods import container, pod

pytestmark = pytest.mark.e2e

ASKS = {
    "cpuset-scheduler": "required",
    "scheduling.alibabacloud.com/numa-topology-spec": (
        '{"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"}'
    ),
}


@pytest.mark.smoke
def test_a_pod_that_asks_gets_cpus_of_one_node_by_the_plain_scheduler(cluster: Cluster) -> None:
    before = cluster.available()
    cluster.apply(pod("asks", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("asks")
    cluster.until("NUMAAssigned", lambda: cluster.events("asks").get("NUMAAssigned"))
    told = cluster.verify("asks")["app"]
    assert (told["verdict"], told["asked"]["has_it"]) == ("aligned", True), told
    cpus = told["cpus"]["decided"]
    assert cluster.in_force("asks")[0] == cpus
    born = cluster.born("asks")
    assert born.cpus == cpus
    zone = f"node-{born.mems}"
    less = {**before, zone: str(int(before[zone]) - 2)}
    cluster.until("the published availability drops", lambda: cluster.available() == less)
