"""One pass over a machine: live, or recorded in a folder."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from numa_agent.agent import Assigning, NodeSources, Ports, Standing, Teller, run_pass
from numa_agent.config import Config
from numa_agent.core.assigner import Mode, Setting
from numa_agent.core.cpusets import Mems, Options
from numa_agent.core.drift import Drift
from numa_agent.core.publishing import Published, publish
from numa_agent.core.report import Report
from numa_agent.core.shape import parse_shape
from numa_agent.core.telling import Due
from numa_agent.core.view import Json, Rendering, View
from numa_agent.host.cgroups import CpusetTree, Put
from numa_agent.host.decisions import DecisionsFile
from numa_agent.host.recorded import RecordedKernel, is_recorded
from numa_agent.wiring.distances import with_measured
from numa_agent.wiring.language import Language, language
from numa_agent.wiring.lock import only_one
from numa_agent.wiring.map import AskNvml, asking_nvml
from numa_agent.wiring.marks import Marks
from numa_agent.wiring.sources import node_name, sources

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster
    from numa_agent.cluster.watch import PodWatch


def run_once(config: Config, put: Put | None = None) -> Report:
    """Take one pass over the machine that the configuration names.

    A folder with recorded.yaml answers for every source, and nothing is sent from it. Cgroup files
    go to the kernel on the live machine, by the kernel's rules into a recorded one, or through
    `put`.
    """
    with ExitStack() as stack:
        if not is_recorded(config.host_root):
            node_name(config)
            stack.enter_context(only_one(config.lock_path))
        ask = stack.enter_context(asking_nvml(config))
        cluster = stack.enter_context(reaching(config))
        ports = ports_of(config, ask, cluster, put)
        report = run_pass(ports)
        if ports.marking is not None:
            ports.marking.send_due()
        if ports.teller is None:
            return report
        ports.teller.send_due()
        return ports.teller.with_troubles(report)


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

    return with_measured(config, render)


def _own(setting: str) -> str | None:
    return None if setting == "kubelet" else setting


def ports_of(
    config: Config,
    ask: AskNvml,
    cluster: "Cluster | None",
    put: Put | None,
    pods: "PodWatch | None" = None,
    now: Callable[[], Config] | None = None,
) -> Ports:
    """What a pass over the machine reads and writes; `put` writes cgroup files, the kernel's else.

    A recorded machine has no cluster, and its own files are written. With `pods` the pods are
    followed, and nobody is waited for. `now` is the configuration as it holds later.
    """
    root = config.host_root
    current = now or (lambda: config)
    spoken = language(config.scheduler)
    found = sources(config, ask, cluster, pods)
    damaged: list[str] = []
    own_put = None if cluster is not None else RecordedKernel(root).put
    ports = Ports(
        sources=found,
        render=rendering(config, spoken),
        publish=lambda manifest: _published(current(), cluster, spoken, manifest),
        teller=_teller(config, cluster, current),
        marking=None if cluster is None else Marks(cluster, current),
        cpusets=CpusetTree(root, lambda: cgroup_root(found), put or own_put, warn=damaged.append),
        damaged=lambda: _taken(damaged),
        more=tuple if pods is None else pods.conditions,
        drift=Drift(random.random),
    )
    return with_settings(ports, config)


def with_settings(ports: Ports, config: Config) -> Ports:
    """The same with the settings that may change while the agent runs."""
    return replace(
        ports,
        sources=replace(ports.sources, trusted_managers=config.trusted_managers),
        render=rendering(config, language(config.scheduler)),
        lift_quota=config.lift_quota,
        options=Options(
            mems=Mems(config.mems),
            share=config.shared_pods,
            borrow=config.scheduler == "koordinator",
        ),
        period=float(config.pass_seconds),
        standing=_standing(ports, float(config.verify_seconds)),
        assigning=_assigning(ports, config),
        shapes=tuple(map(parse_shape, config.shapes)),
    )


def _standing(ports: Ports, seconds: float) -> Standing:
    """The verdicts that stand, which a change of settings keeps."""
    found = ports.standing or Standing(seconds, ports.clock)
    found.seconds = seconds
    return found


def _assigning(ports: Ports, config: Config) -> Assigning:
    """What is decided here, which a change of settings keeps."""
    # kube-scheduler tells no pod its CPUs, so that nobody is waited for.
    decides = config.scheduler != "kube-scheduler"
    setting = Setting(
        mode=Mode(config.assigner), grace=config.assigner_grace_seconds if decides else 0.0
    )
    found = ports.assigning or Assigning(DecisionsFile(config.decisions_path), setting)
    found.setting = setting
    return found


def _taken(sentences: list[str]) -> list[str]:
    found = [*sentences]
    sentences.clear()
    return found


def cgroup_root(found: NodeSources) -> str:
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


def _teller(
    config: Config, cluster: "Cluster | None", current: Callable[[], Config]
) -> Teller | None:
    """What makes Events, where they are wanted and there is a Node to tell of."""
    name = config.node_name
    if cluster is None or name is None:
        return None

    def record(due: Due) -> int | None:
        return cluster.record_event(due, host=name) if current().events else None

    return Teller(record, name, random.random)
