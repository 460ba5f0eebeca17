"""A publisher as many are: it lists the pods each 10 s and puts its whole object each 3 s.

    python -m benchmarks.daemon.naive KUBECONFIG NODE

It uses the official client, as agents in Python do, reads the map by no file at all and binds
nothing: what it costs is the polling alone.
"""

import sys
import time
from typing import Any

from benchmarks.publishing.__main__ import NAIVE_SECONDS, manifest

LIST_SECONDS = 10.0
AGENT = "naive-publisher"
KIND = ("topology.node.k8s.io", "v1alpha2", "noderesourcetopologies")


def main() -> None:
    """Publish until it is ended."""
    from kubernetes import client, config

    config.load_kube_config(sys.argv[1])
    node = sys.argv[2]
    api = client.ApiClient()
    api.user_agent = AGENT
    core, objects = client.CoreV1Api(api), client.CustomObjectsApi(api)
    wanted = manifest(f"{node}-naive", 100)
    stored: Any = objects.create_cluster_custom_object(*KIND, wanted)
    listed = 0.0
    while True:
        now = time.monotonic()
        if now - listed >= LIST_SECONDS:
            listed = now
            core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}")
        stored = objects.replace_cluster_custom_object(*KIND, f"{node}-naive", stored)
        time.sleep(NAIVE_SECONDS)


if __name__ == "__main__":
    main()
