"""What would become of pods on the machine, by a pass's own reading; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numa_agent.agent.decisions import with_pods
from numa_agent.config import Config, ConfigError
from numa_agent.config.kinds import read
from numa_agent.config.settings import BY_KEY
from numa_agent.core.assigner import Mode
from numa_agent.core.grants import PodResources
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod
from numa_agent.core.simulating import (
    ManifestError,
    Simulation,
    Start,
    asking_for,
    offered_as,
    pods_of,
    renamed,
    simulate,
)
from numa_agent.core.slots import Shape, gpu_resource
from numa_agent.wiring.looking import Look, looking
from numa_agent.wiring.manifests import read_documents
from numa_agent.wiring.slots import configured, standing_of

_NOBODY = Node(name="", uid=None)
"""A Node that says nothing of its resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The simulation, and why sources failed."""

    simulation: Simulation
    failures: tuple[str, ...]


def simulate_once(
    config: Config,
    file: str,
    *,
    shapes: Sequence[Shape] = (),
    gpus_as: str | None = None,
    compare: bool = False,
) -> Simulated:
    """Simulate the pods of a file; with `gpus_as` the machine's GPUs are offered by that name.

    Raises ConfigError for what isn't a file of pods, SourceError without a map or the pods.
    """
    documents = list(read_documents(file))
    with looking(config) as look:
        there = look.planned.inputs.pods if look.planned is not None else ()
        try:
            pods = pods_of(documents, there)
        except ManifestError as error:
            raise ConfigError(str(error)) from error
        if not pods:
            raise ConfigError(f"{file}: there is no pod in it")
        start = _start(config, look, pods, gpus_as)
        return Simulated(
            simulation=simulate(start, pods, shapes or configured(config), compare=compare),
            failures=tuple(look.failures),
        )


def _start(config: Config, look: Look, pods: tuple[Pod, ...], gpus_as: str | None) -> Start:
    found = standing_of(look)
    gpus = gpu_resource(look.now.topology, None if found.granted is None else found.granted.offer)
    if gpus_as is not None and gpus_as != gpus:
        if found.granted is None or gpus is None:
            raise ConfigError(f"--gpus-as {gpus_as}: kubelet is offered no GPUs here to rename")
        _check(gpus_as, found.granted)
        look = _renamed(look, found.granted, gpus, gpus_as)
        found, gpus = standing_of(look), gpus_as
    said = with_pods(found.situation.inputs, pods, ()).decisions
    return Start(
        situation=found.situation,
        kept=found.kept,
        node=look.now.node.values[0] if look.now.node.values else _NOBODY,
        granted=found.granted,
        gpus=gpus,
        said={pod.uid: said[pod.uid] for pod in pods if pod.uid in said},
        mode=Mode(config.assigner),
        options=look.ports.options,
    )


def _check(name: str, granted: PodResources) -> None:
    """Raise ConfigError for what can't be the name of the GPUs."""
    try:
        read(BY_KEY["gpuResource"], name)
    except ValueError as error:
        raise ConfigError(f"--gpus-as: {error}") from error
    offered = () if granted.offer is None else granted.offer.devices
    if any(each.resource == name for each in offered):
        raise ConfigError(f"--gpus-as {name}: kubelet is offered other devices by that name")


def _renamed(look: Look, granted: PodResources, old: str, new: str) -> Look:
    """The same had kubelet, the Node and the pods that run there said another name."""
    now = look.now
    nodes = tuple(
        replace(node, allocatable=renamed(node.allocatable, old, new)) for node in now.node.values
    )
    now = replace(
        now,
        granted=replace(now.granted, values=(offered_as(granted, old, new),)),
        node=replace(now.node, values=nodes),
    )
    planned = look.planned
    if planned is not None:
        pods = [asking_for(pod, old, new) for pod in planned.inputs.pods]
        planned = replace(planned, inputs=replace(planned.inputs, pods=pods))
    return replace(look, now=now, planned=planned)
