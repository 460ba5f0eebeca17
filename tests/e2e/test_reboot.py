"""The node is switched off while pods are bound, and comes back."""

import pytest

from tests.e2e.bench.bench import Bench
from tests.e2e.cluster import Cluster
from tests.e2e.pods import assigned, pod

pytestmark = pytest.mark.e2e


def test_a_pod_is_inside_again_when_its_node_has_rebooted(cluster: Cluster, bench: Bench) -> None:
    cluster.apply(pod("survivor", annotations=assigned("6-7", mems="1")))
    cluster.running("survivor")
    before = cluster.started("survivor")
    bench.reboot("before-reboot")
    cluster.until("started anew", lambda: cluster.started("survivor") not in (before, ""))
    cluster.running("survivor")
    # kubelet starts all pods of a node at once, of which the agent is one. Memory that is taken
    # already stays where it is: docs/binding.md.
    cluster.until("inside", lambda: cluster.in_force("survivor")[0] == "6-7")
