"""A static pod: kubelet's own, from a file, which the API server has a mirror of."""

import base64
import json

import pytest

from tests.e2e.bench.kubelet import STATIC_PODS
from tests.e2e.cluster import NAMESPACE, Born, Cluster
from tests.e2e.pods import Json, assigned, pod
from tests.e2e.seed import ready_agent, writes

pytestmark = pytest.mark.e2e


def place(cluster: Cluster, manifest: Json) -> str:
    """Put a manifest where kubelet looks; the name that the mirror gets."""
    name = manifest["metadata"]["name"]
    text = base64.b64encode(json.dumps(manifest).encode()).decode()
    # As a whole, since kubelet reads it as soon as it is there.
    cluster.node.run(f"echo {text} | base64 -d >/run/{name}")
    cluster.node.run(f"mv /run/{name} {STATIC_PODS}/{name}.json")
    return f"{name}-{cluster.node.name}"


def test_a_static_pod_is_bound_by_its_mirror_until_its_file_goes(cluster: Cluster) -> None:
    before = cluster.available()
    less = {**before, "node-1": str(int(before["node-1"]) - 2)}
    try:
        mirror = place(cluster, pod("static", annotations=assigned("6-7", mems="1")))
        cluster.running(mirror)
        metadata = (cluster.pod(mirror) or {})["metadata"]
        assert metadata["annotations"]["kubernetes.io/config.hash"] != metadata["uid"]
        assert cluster.born(mirror) == Born(cpus="6-7", mems="1")
        assert cluster.in_force(mirror) == ("6-7", "1")
        assert cluster.verdicts(mirror) == {"app": "aligned"}
        cluster.until("availability drops", lambda: cluster.available() == less)
        cluster.until("told", lambda: "CPUSetBind" in cluster.kubectl("describe", "pod", mirror))

        first = cluster.agent
        cluster.until("said", lambda: writes(cluster, mirror))
        cluster.kubectl("delete", "pod", "-n", NAMESPACE, first, seconds=60)
        cluster.until("another agent", lambda: ready_agent(cluster) not in ("", first))
        assert writes(cluster, mirror) == []
        assert cluster.verdicts(mirror) == {"app": "aligned"}
        assert cluster.available() == less

        # Who deletes the mirror alone deletes nothing: kubelet makes it again.
        cluster.kubectl("delete", "pod", mirror, "--wait=false")
        cluster.until(
            "mirrored again",
            lambda: (
                (cluster.pod(mirror) or metadata | {"metadata": metadata})["metadata"]["uid"]
                != metadata["uid"]
            ),
        )
        assert cluster.in_force(mirror) == ("6-7", "1")
        cluster.running(mirror)
        assert cluster.verdicts(mirror) == {"app": "aligned"}
        assert cluster.available() == less
    finally:
        cluster.node.run(f"rm -f {STATIC_PODS}/static.json")
    cluster.until("the mirror goes", lambda: cluster.pod(mirror) is None)
    cluster.until("given back", lambda: cluster.available() == before)
