"""One pass over a machine: live, or recorded in a folder."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from numa_agent.agent import NodeSources, Ports, run_forever, run_pass
from numa_agent.config import Config
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import SourceError
from numa_agent.core.publishing import Published, publish
from numa_agent.core.report import Report
from numa_agent.core.view import Json, Rendering, View
from numa_agent.host.cgroupfs import CgroupFs, Put, put_to_kernel
from numa_agent.host.recorded import RecordedKernel, is_recorded
from numa_agent.wiring.language import Language, language
from numa_agent.wiring.map import AskNvml, asking_nvml
from numa_agent.wiring.sources import node_name, sources

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster

EVENT_REASONS = {"second-publisher": "SecondPublisher"}


def run_once(config: Config, put: Put | None = None) -> Report:
    """Take one pass over the machine that the configuration names.

    A folder with recorded.yaml answers for every source, and nothing is sent from it. Cgroup files
    go to the kernel on the live machine, by the kernel's rules into a recorded one, or through
    `put`.
    """
    with asking_nvml(config) as ask, reaching(config) as cluster:
        return run_pass(_ports(config, ask, cluster, put))


def run_on(config: Config, tell: Callable[[Report | SourceError], None]) -> None:
    """Take passes over the machine until SIGTERM or SIGINT."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with asking_nvml(config) as ask, reaching(config) as cluster:
        run_forever(
            _ports(config, ask, cluster, None),
            tell=tell,
            wait=stop.wait,
            clock=time.monotonic,
            random=random.random,
        )


@contextmanager
def reaching(config: Config) -> Iterator["Cluster | None"]:
    """The live machine's cluster; a recorded machine has none."""
    if is_recorded(config.host_root):
        yield None
        return
    node_name(config)
    with connected(config) as cluster:
        yield cluster


@contextmanager
def connected(config: Config) -> Iterator["Cluster"]:
    """The cluster that the configuration names. Raises SourceError where there is none."""
    # The client is heavy, so that only a pass that needs it loads it.
    from numa_agent.cluster.api import connect

    with closing(connect(config.kubeconfig)) as cluster:
        yield cluster


def rendering(config: Config, spoken: Language) -> Callable[[View], Rendering]:
    """The view in the language that the configuration names, with what the operator set."""

    def render(view: View) -> Rendering:
        return spoken.publish(
            replace(
                view,
                topology_policy=_own(config.topology_policy),
                topology_scope=_own(config.topology_scope),
                memory_zones=config.memory_zones,
                fingerprint_method=config.pod_fingerprint,
                fingerprint_pods=config.pod_fingerprint_pods,
            )
        )

    return render


def _own(setting: str) -> str | None:
    return None if setting == "kubelet" else setting


def _ports(config: Config, ask: AskNvml, cluster: "Cluster | None", put: Put | None) -> Ports:
    root = config.host_root
    spoken = language(config.scheduler)
    found = sources(config, ask, cluster)
    own_put = put_to_kernel if cluster is not None else RecordedKernel(root).put
    return Ports(
        sources=found,
        render=rendering(config, spoken),
        publish=lambda manifest: _published(config, cluster, spoken, manifest),
        tell=lambda condition: _told(cluster, condition, config.node_name),
        cgroups=CgroupFs(root, lambda: _cgroup_root(found), put or own_put),
    )


def _cgroup_root(found: NodeSources) -> str:
    """kubelet's cgroupRoot by the settings that the pass has read."""
    settings = found.settings.last
    return settings[0][0].cgroup_root if settings and settings[0] else ""


def _published(
    config: Config, cluster: "Cluster | None", spoken: Language, manifest: Json
) -> Published | None:
    if cluster is None:
        return None
    return publish(
        cluster,
        manifest,
        adopt=spoken.adopt,
        takeover=config.takeover,
        companions=spoken.companions,
    )


def _told(cluster: "Cluster | None", condition: Condition, node: str | None) -> None:
    reason = EVENT_REASONS.get(condition.code)
    if cluster is not None and node is not None and reason is not None:
        cluster.record_event(node, reason=reason, message=condition.message)
