"""One pass over a machine: live, or recorded in a folder."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from numa_agent.agent import Ports, run_pass
from numa_agent.config import Config, ConfigError
from numa_agent.core.documents import Document, mapping, text
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import parse_pods
from numa_agent.core.report import Report
from numa_agent.core.schedulers.kube_scheduler import NodeIdentity
from numa_agent.host.boot import read_boot_id
from numa_agent.host.cgroupfs import CgroupFs, Put, put_to_kernel
from numa_agent.host.kubelet import read_cgroup_root, read_exclusive_cpus
from numa_agent.host.recorded import RecordedKernel, is_recorded, read_answer
from numa_agent.wiring.map import AskNvml, asking_nvml, assembled

NOT_SENT = "not sent (a recorded machine has no cluster)"


def run_once(config: Config, put: Put | None = None) -> Report:
    """Take one pass over the machine that the configuration names.

    A folder with recorded.yaml answers for every source. Else the machine must be the live one,
    whose Node must be named, so that the API server can be asked for its pods. Cgroup files go to
    the kernel on the live machine, by the kernel's rules into a recorded one, or through `put`.
    """
    with asking_nvml(config) as ask, _ports(config, ask, put) as ports:
        return run_pass(ports)


@contextmanager
def _ports(config: Config, ask: AskNvml, put: Put | None) -> Iterator[Ports]:
    root = config.host_root
    if is_recorded(root):
        yield Ports(
            topology=lambda: assembled(config, ask),
            identity=lambda: _identity(read_answer(root, "node"), f"{root}/answers/node.json"),
            pods=lambda: parse_pods(read_answer(root, "pods")),
            kubelet_exclusive=lambda: read_exclusive_cpus(root),
            publish=_not_sent,
            cgroups=CgroupFs(
                root, lambda: read_cgroup_root(root), put or RecordedKernel(root).put
            ),
        )
        return
    if not config.live:
        raise ConfigError(
            f"{root} is a map only: it has no recorded.yaml and isn't the live machine"
            f" (liveRoot: {config.live_root}). `numa-agent topology` shows it"
        )
    if config.node_name is None:
        raise ConfigError("which Node is this? set --node-name, nodeName or NODE_NAME")
    # The client is heavy, so that only a live pass loads it.
    from numa_agent.cluster.api import connect

    name = config.node_name
    with closing(connect(config.kubeconfig)) as cluster:
        yield Ports(
            topology=lambda: assembled(config, ask),
            identity=lambda: _own_identity(cluster.node(name), name, root),
            pods=lambda: parse_pods(cluster.pods_on(name)),
            kubelet_exclusive=lambda: read_exclusive_cpus(root),
            publish=lambda manifest: cluster.apply(manifest).outcome,
            cgroups=CgroupFs(root, lambda: read_cgroup_root(root), put or put_to_kernel),
        )


def _own_identity(node: Document, name: str, root: Path) -> NodeIdentity:
    """The Node's identity, if it is this machine: both know the id drawn at boot."""
    theirs = text(mapping(mapping(node.get("status")).get("nodeInfo")).get("bootID"))
    ours = read_boot_id(root)
    if theirs is not None and ours is not None and theirs != ours:
        raise SourceError(
            f"node {name} is another machine or has booted since: its boot id is {theirs}, ours"
            f" {ours}; compare --node-name with the Node that this runs on"
        )
    return _identity(node, f"node {name}")


def _identity(node: Document, source: str) -> NodeIdentity:
    metadata = mapping(node.get("metadata"))
    name = text(metadata.get("name"))
    if name is None:
        raise SourceError(f"{source}: a v1 Node with metadata.name was expected")
    return NodeIdentity(name=name, uid=text(metadata.get("uid")))


def _not_sent(_manifest: Mapping[str, object]) -> str:
    return NOT_SENT
