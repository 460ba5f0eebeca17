"""One pass over a machine: live, or recorded in a folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from numa_agent.agent import Ports, run_pass
from numa_agent.config import CGROUP_DIR, Config, ConfigError
from numa_agent.core.documents import Document, mapping, text
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import parse_pods
from numa_agent.core.report import Report
from numa_agent.core.schedulers.kube_scheduler import NodeIdentity
from numa_agent.host.cgroupfs import CgroupFs, put_to_kernel
from numa_agent.host.kubelet import read_cgroup_root, read_exclusive_cpus
from numa_agent.host.recorded import RecordedKernel, is_kernel_cgroup, is_recorded, read_answer
from numa_agent.wiring.map import read_map

NOT_SENT = "not sent (a recorded machine has no cluster)"


def run_once(config: Config) -> Report:
    """Take one pass over the machine that the configuration names.

    A folder with recorded.yaml answers for every source. Else the machine must be the live one,
    whose Node must be named, so that the API server can be asked for its pods.
    """
    with _ports(config) as ports:
        return run_pass(ports)


@contextmanager
def _ports(config: Config) -> Iterator[Ports]:
    if is_recorded(config.host_root):
        yield _recorded_ports(config)
        return
    if not config.live:
        raise ConfigError(
            f"{config.host_root} is a map only: it has no recorded.yaml and isn't the live machine"
            f" (liveRoot: {config.live_root}). `numa-agent topology` shows it"
        )
    if config.node_name is None:
        raise ConfigError("which Node is this? set --node-name, nodeName or NODE_NAME")
    # The client is heavy, so that only a live pass loads it.
    from numa_agent.cluster.api import connect

    cluster = connect(config.kubeconfig)
    name = config.node_name
    try:
        yield Ports(
            topology=lambda: read_map(config),
            identity=lambda: _identity(cluster.node(name), f"node {name}"),
            pods=lambda: parse_pods(cluster.pods_on(name)),
            kubelet_exclusive=lambda: read_exclusive_cpus(config.host_root),
            publish=lambda manifest: cluster.apply(manifest).outcome,
            cgroups=CgroupFs(config.host_root, read_cgroup_root(config.host_root)),
        )
    finally:
        cluster.close()


def _recorded_ports(config: Config) -> Ports:
    root = config.host_root
    # A recorded folder may link to a live kernel's cgroups; plain files need its rules played.
    mounts = (root / CGROUP_DIR, root / CGROUP_DIR / "cpuset")
    live_cgroups = any(is_kernel_cgroup(mount) for mount in mounts)
    return Ports(
        topology=lambda: read_map(config),
        identity=lambda: _identity(read_answer(root, "node"), f"{root}/answers/node.json"),
        pods=lambda: parse_pods(read_answer(root, "pods")),
        kubelet_exclusive=lambda: read_exclusive_cpus(root),
        publish=_not_sent,
        cgroups=CgroupFs(
            root,
            read_cgroup_root(root),
            put_to_kernel if live_cgroups else RecordedKernel(root).put,
        ),
    )


def _identity(node: Document, source: str) -> NodeIdentity:
    metadata = mapping(node.get("metadata"))
    name = text(metadata.get("name"))
    if name is None:
        raise SourceError(f"{source}: a v1 Node with metadata.name was expected")
    return NodeIdentity(name=name, uid=text(metadata.get("uid")))


def _not_sent(_manifest: Mapping[str, object]) -> str:
    return NOT_SENT
