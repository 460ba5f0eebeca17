"""Pods of many kinds: each is born inside its CPUs."""

import base64
import json

import pytest

from tests.e2e.cluster import Born, Cluster
from tests.e2e.pods import LOOK, STAY, assigned, container, pod

pytestmark = pytest.mark.e2e

RUNTIME = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "crun"},
    "handler": "crun",
}


def test_a_container_for_debugging_is_inside_its_pod(cluster: Cluster) -> None:
    cluster.apply(pod("debugged", annotations=assigned("6-7", mems="1")))
    cluster.running("debugged")
    image = ("--image=local/shell:1", "--image-pull-policy=Never", "-c", "looker")
    cluster.kubectl("debug", "debugged", *image, "--", "/bin/sh", "-c", LOOK + STAY)

    def runs() -> bool:
        found = (cluster.pod("debugged") or {})["status"].get("ephemeralContainerStatuses", [])
        return any("running" in each["state"] for each in found)

    cluster.until("it runs", runs)
    assert cluster.born("debugged", "looker") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("debugged") == {"app": "aligned", "looker": "aligned"}


@pytest.mark.parametrize("more", ["hostNetwork", "hostPID", "hostIPC"])
def test_a_pod_with_the_hosts_namespaces_is_born_inside(cluster: Cluster, more: str) -> None:
    manifest = pod("open", annotations=assigned("6-7", mems="1"))
    manifest["spec"][more] = True
    cluster.apply(manifest)
    cluster.running("open")
    assert cluster.born("open") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("open") == {"app": "aligned"}


def test_containers_have_cpus_of_their_own_within_a_pod(cluster: Cluster) -> None:
    before = cluster.available()
    each = {"one": {"cpus": "4", "mems": "1"}, "two": {"cpus": "6-7", "mems": "1"}}
    text = json.dumps({"version": 1, "containers": each})
    both = (container("one"), container("two"), container("rest"))
    cluster.apply(pod("apart", *both, annotations={"numa-agent.io/assignment": text}))
    cluster.running("apart")
    cluster.until(
        "availability drops",
        lambda: cluster.available() == {**before, "node-1": str(int(before["node-1"]) - 3)},
    )

    def has(name: str) -> str:
        status = (cluster.pod("apart") or {})["status"]["containerStatuses"]
        [found] = (each["containerID"] for each in status if each["name"] == name)
        identity = found.partition("://")[2]
        return cluster.cgroup("apart", f"{identity}/cpuset.cpus.effective")

    # The third shares what is nobody's.
    cluster.until(
        "each has its own",
        lambda: (has("one"), has("two"), has("rest")) == ("4", "6-7", "0-3,5"),
    )
    assert cluster.verdicts("apart") | {"rest": ""} == {
        "one": "aligned",
        "two": "aligned",
        "rest": "",
    }
    assert cluster.in_force("apart")[0] == "0-7"


def test_a_pod_of_another_runtime_is_born_inside(cluster: Cluster) -> None:
    cluster.apply(RUNTIME)
    annotations = assigned("6-7", mems="1")
    cluster.apply(pod("crun", annotations=annotations, runtimeClassName="crun"))
    cluster.running("crun")
    identity = (cluster.pod("crun") or {})["status"]["containerStatuses"][0]["containerID"]
    info = cluster.node.run(f"ctr -n k8s.io containers info {identity.partition('://')[2]}")
    options = json.loads(info)["Runtime"]["Options"]["value"]
    assert b"crun" in base64.b64decode(options)
    assert cluster.born("crun") == Born(cpus="6-7", mems="1")
    assert cluster.verdicts("crun") == {"app": "aligned"}
