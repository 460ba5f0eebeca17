"""One pass over a machine: live, or recorded in a folder."""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from numa_agent.agent import Binder, Mover, News, NodeSources, Ports, run_forever, run_pass
from numa_agent.config import KUBELET_DIR, Config
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Mems, Options, Step
from numa_agent.core.drift import Drift
from numa_agent.core.publishing import Published, publish
from numa_agent.core.report import Report
from numa_agent.core.view import Json, Rendering, View
from numa_agent.host.cgroups import CpusetTree, Put
from numa_agent.host.recorded import RecordedKernel, is_recorded
from numa_agent.wiring.language import Language, language
from numa_agent.wiring.map import AskNvml, asking_nvml
from numa_agent.wiring.sources import node_name, sources
from numa_agent.wiring.watching import CgroupWatch

if TYPE_CHECKING:
    from numa_agent.cluster.api import Cluster

Tell = Callable[[News], None]
"""Hears of each pass and of what is done between them, or why there was no pass."""

EVENT_REASONS = {
    "second-publisher": "SecondPublisher",
    "assignment-refused": "CPUSetRefused",
}


def run_once(config: Config, put: Put | None = None) -> Report:
    """Take one pass over the machine that the configuration names.

    A folder with recorded.yaml answers for every source, and nothing is sent from it. Cgroup files
    go to the kernel on the live machine, by the kernel's rules into a recorded one, or through
    `put`.
    """
    with asking_nvml(config) as ask, reaching(config) as cluster:
        return run_pass(ports_of(config, ask, cluster, put))


def run_on(config: Config, tell: Tell) -> None:
    """Take passes over the machine until SIGTERM or SIGINT, and bind between them."""
    wake, ending = Event(), Event()

    def end(*_: object) -> None:
        ending.set()
        wake.set()

    def wait(seconds: float) -> bool:
        wake.wait(seconds)
        wake.clear()
        return ending.is_set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    threading.excepthook = end_process
    counted = _served(config, tell)
    with ExitStack() as stack:
        ask = stack.enter_context(asking_nvml(config))
        cluster = stack.enter_context(reaching(config))
        ports = ports_of(config, ask, cluster, None)
        tree = CpusetTree(config.host_root, lambda: _cgroup_root(ports.sources))
        watch = CgroupWatch(tree, config.host_root / KUBELET_DIR, wake.set)
        stack.callback(watch.close)
        ports = replace(ports, damaged=_and_degraded(ports.damaged, watch))
        mover = _mover(config, ports) if config.mems == "migrate" else None
        if mover is not None:
            stack.callback(mover.close)
            ports = replace(ports, mover=mover)
        run_forever(
            ports,
            tell=counted,
            wait=wait,
            random=random.random,
            binder=Binder(
                ports.cpusets,
                watch,
                ports.drift,
                ports.options,
                ports.clock,
                ports.sources.cpu_state.read,
            ),
        )


def end_process(error: threading.ExceptHookArgs) -> None:
    """End with a message: kubelet starts a process again, a thread that died nobody does."""
    threading.__excepthook__(error)
    os._exit(70)


def _mover(config: Config, ports: Ports) -> Mover:
    """What moves pods' pages, with a hierarchy of its own: a thread uses no other's."""
    put = RecordedKernel(config.host_root).put if is_recorded(config.host_root) else None
    tree = CpusetTree(config.host_root, lambda: _cgroup_root(ports.sources), put)

    def write(step: Step) -> None:
        # Only what was found may be written.
        tree.parents()
        tree.write(step.path, step.file, step.after)

    return Mover(write)


def _served(config: Config, tell: Tell) -> Tell:
    """Tells of passes to those who scrape as well, where metrics are served."""
    address = config.metrics_address
    if address is None:
        return tell
    from numa_agent.serve.metrics import ReportCollector, serve

    collector = ReportCollector()
    serve(collector, *address)

    def both(found: News) -> None:
        if isinstance(found, Report):
            collector.tell(found)
        tell(found)

    return both


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


def ports_of(config: Config, ask: AskNvml, cluster: "Cluster | None", put: Put | None) -> Ports:
    """What a pass over the machine reads and writes; `put` writes cgroup files, the kernel's else.

    A recorded machine has no cluster, and its own files are written.
    """
    root = config.host_root
    spoken = language(config.scheduler)
    found = sources(config, ask, cluster)
    damaged: list[str] = []
    own_put = None if cluster is not None else RecordedKernel(root).put
    return Ports(
        sources=found,
        render=rendering(config, spoken),
        publish=lambda manifest: _published(config, cluster, spoken, manifest),
        tell=lambda condition: _told(cluster, condition, config.node_name),
        cpusets=CpusetTree(root, lambda: _cgroup_root(found), put or own_put, warn=damaged.append),
        damaged=lambda: _taken(damaged),
        drift=Drift(random.random),
        lift_quota=config.lift_quota,
        options=Options(mems=Mems(config.mems), share=config.shared_pods),
    )


def _and_degraded(
    damaged: Callable[[], Iterable[str]], watch: CgroupWatch
) -> Callable[[], Iterable[str]]:
    """What couldn't be read, and why not everything can be followed."""
    return lambda: [*damaged(), *([watch.degraded] if watch.degraded else [])]


def _taken(sentences: list[str]) -> list[str]:
    found = [*sentences]
    sentences.clear()
    return found


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
