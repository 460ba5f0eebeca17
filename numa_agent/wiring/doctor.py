"""What the doctor looks at, gathered from the machine, the cluster and a pass's own reading.

Everything is read and nothing is written: the lock isn't tried, and the API server is asked
questions that it doesn't store.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from numa_agent.config import BOOT_ID, CGROUP_DIR, Config
from numa_agent.core.conditions import Condition
from numa_agent.core.doctor import Diagnosis, Examination, Told, diagnose
from numa_agent.core.doctor.facts import AgentFacts, ClusterFacts, KubeletFacts, RivalSeen
from numa_agent.core.documents import Document
from numa_agent.host.boot import read_boot_id
from numa_agent.host.cgroups.standing import read_standing
from numa_agent.host.locks import read_held
from numa_agent.host.recorded import is_recorded
from numa_agent.host.settings import read_settings
from numa_agent.wiring.consulting import consulted, nobody_asked, recorded
from numa_agent.wiring.facts import shortened, tell
from numa_agent.wiring.kubelets import read_kubelet
from numa_agent.wiring.map import read_map
from numa_agent.wiring.renders import Rendered, compared, render_once

_TOLD_ALREADY = ("policy-differs", "kubelet-setting-unread", "kubelet-settings-unknown")
"""Conditions of a pass that checks of kubelet's files tell with more words."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What sort of machine is looked at, and what a missing file of it means."""

    live: bool
    recorded: bool

    @property
    def absent(self) -> str:
        if self.live:
            return "isn't there, or isn't mounted here"
        return "not recorded" if self.recorded else "not in this folder"


def doctor_once(config: Config) -> Diagnosis:
    """What hurts locality or the agent on the machine that the configuration names.

    Raises SourceError without a map, and ConfigError for unusable settings.
    """
    return diagnose(examine(config))


def examine(config: Config) -> Examination:
    """Everything that the checks look at."""
    recorded_one = is_recorded(config.host_root)
    kind = _Kind(live=config.live and not recorded_one, recorded=recorded_one)
    topology = read_map(config)
    root = config.host_root
    cluster, configz = _cluster(config, kind)
    kubelet = read_kubelet(config, kind.absent, configz)
    root_of_pods = "" if kubelet.settings.value is None else kubelet.settings.value.cgroup_root
    boot_id = read_boot_id(root)
    agent, rivals = _pass(config, kind, cluster, kubelet)
    return Examination(
        scheduler=config.scheduler,
        own_policy=None if config.topology_policy == "kubelet" else config.topology_policy,
        topology=topology,
        nvml_asked=config.nvml != "off" and (kind.live or kind.recorded),
        kernel=read_settings(root, topology.online, absent=kind.absent, whole=kind.live),
        cgroups=read_standing(
            root,
            root_of_pods,
            absent=kind.absent,
            live=kind.live,
            there=(root / CGROUP_DIR).is_dir(),
        ),
        kubelet=kubelet,
        boot_id=Told(source=BOOT_ID, value=boot_id, why=kind.absent),
        cluster=replace(cluster, rivals=rivals),
        agent=agent,
    )


def _cluster(config: Config, kind: _Kind) -> tuple[ClusterFacts, Callable[[], Document] | None]:
    if kind.live:
        return consulted(config)
    return (recorded if kind.recorded else _mapped)(config, kind.absent), None


def _mapped(_config: Config, absent: str) -> ClusterFacts:
    return nobody_asked(absent)


def _pass(
    config: Config, kind: _Kind, cluster: ClusterFacts, kubelet: KubeletFacts
) -> tuple[AgentFacts, Told[tuple[RivalSeen, ...]]]:
    """What a pass would be short of, and who else writes what it would publish."""
    running: Told[bool] = Told(source=config.lock_file, why=kind.absent)
    if kind.live:
        running = read_held(config.lock_path, config.lock_file)
    if not (kind.live or kind.recorded):
        return _unasked(running, kind.absent), cluster.rivals
    if kind.live and not cluster.answers:
        return _unasked(running, "a pass needs the API server"), cluster.rivals
    rendered = tell(config, "pass", lambda: render_once(config))
    if rendered.value is None:
        return _unasked(running, rendered.why), replace(cluster.rivals, why=rendered.why)
    agent = AgentFacts(
        running=running,
        failures=Told(source="pass", value=_failures(config, rendered.value, kubelet)),
        conditions=Told(source="pass", value=_conditions(rendered.value)),
    )
    if not kind.live:
        return agent, cluster.rivals
    found = rendered.value
    return agent, tell(config, "API server", lambda: _rivals(config, found))


def _unasked(running: Told[bool], why: str) -> AgentFacts:
    return AgentFacts(
        running=running,
        failures=Told(source="pass", why=why),
        conditions=Told(source="pass", why=why),
    )


def _failures(config: Config, rendered: Rendered, kubelet: KubeletFacts) -> tuple[str, ...]:
    """The sources that failed, but for what has a check of its own: kubelet's files, the Node."""
    told = {kubelet.cpu_state.why, kubelet.memory_state.why, kubelet.settings.why}
    other = f"node {config.node_name} is another machine"
    shown = (shortened(config, failure) for failure in rendered.failures)
    return tuple(each for each in shown if each not in told and not each.startswith(other))


def _conditions(rendered: Rendered) -> tuple[Condition, ...]:
    return tuple(
        condition
        for condition in rendered.rendering.conditions
        if condition.code not in _TOLD_ALREADY
    )


def _rivals(config: Config, rendered: Rendered) -> tuple[RivalSeen, ...]:
    found = []
    for each in compared(config, rendered.rendering.manifests):
        metadata = each.manifest["metadata"]
        name = metadata["name"] if isinstance(metadata, dict) else "?"
        found += [
            RivalSeen(name=f"{each.manifest['kind']} {name}", label=rival.label)
            for rival in each.decision.rivals
        ]
    return tuple(found)
