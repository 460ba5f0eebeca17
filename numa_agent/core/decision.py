"""Which of the languages on a pod counts, and whether its writer is to be believed.

Managed fields are described in https://kubernetes.io/docs/reference/using-api/server-side-apply/.
They keep out mistakes, not attackers: a client chooses the name of its field manager itself.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from itertools import combinations

from numa_agent.core import own_assignment
from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.managed_fields import managers, overlap
from numa_agent.core.pods import Pod
from numa_agent.core.quoting import excerpt, meant, shown
from numa_agent.core.schedulers import ack_assignment
from numa_agent.core.schedulers.koordinator.assignment import RESOURCE_STATUS, decided

LANGUAGES: Mapping[str, Callable[[Mapping[str, str]], Assignment | None]] = {
    own_assignment.ASSIGNMENT: own_assignment.assignment,
    RESOURCE_STATUS: decided,
    ack_assignment.CPUSET: ack_assignment.assignment,
}
"""The annotations that decide, the first ahead where two say the same of CPUs."""


def decide(
    pod: Pod, managed_fields: object = (), trusted_managers: Collection[str] = ()
) -> Assignment | None:
    """What the pod's annotations decide for it, None where nothing.

    `managed_fields` are the pod's metadata.managedFields, looked at where trusted managers are
    named. Raises AssignmentError where an annotation can't be read, names a container that the pod
    lacks, wasn't written by a trusted manager, or says other CPUs than another one.
    """
    ack_assignment.topology_specs(pod.annotations)
    found = [read(pod.annotations) for read in LANGUAGES.values()]
    said = [each for each in found if each is not None]
    for each in said:
        _check_containers(pod, each)
    _check_writers(pod, [each.source for each in said], managed_fields, trusted_managers)
    for one, other in combinations(said, 2):
        _check_agreement(pod, one, other)
    return reduce(_together, said) if said else None


def untrusted(
    managed_fields: object,
    trusted_managers: Collection[str],
    annotations: Iterable[str] = tuple(LANGUAGES),
) -> Mapping[str, tuple[str, ...]]:
    """The annotations that no trusted manager owns, each with the managers that own it.

    The API server takes a field from its owners when another manager changes it, so one trusted
    owner is enough. A field without any owner is nobody's word. Without trusted managers everyone
    is believed.
    """
    if not trusted_managers:
        return {}
    entries = managers({"metadata": {"managedFields": managed_fields}})
    found: dict[str, tuple[str, ...]] = {}
    for key in annotations:
        value = {"metadata": {"annotations": {key: ""}}}
        owners = {each.name for each in entries if any(overlap(each.fields, value))}
        if owners.isdisjoint(trusted_managers):
            found[key] = tuple(sorted(owners))
    return found


def _check_writers(
    pod: Pod, keys: Collection[str], managed_fields: object, trusted_managers: Collection[str]
) -> None:
    for key, owners in untrusted(managed_fields, trusted_managers, keys).items():
        who = f"by {', '.join(map(shown, owners[:3]))}" if owners else "by nobody that is known"
        believed = ", ".join(sorted(trusted_managers))
        raise AssignmentError(
            f"{_quoted(pod, key)} was written {who}; trustedManagers are {believed}",
            code="untrusted",
        )


def _check_containers(pod: Pod, said: Assignment) -> None:
    names = _names(pod)
    strangers = sorted(said.containers.keys() - set(names)) if names else []
    if strangers:
        raise AssignmentError(
            f"{_quoted(pod, said.source)}: the pod has no container {shown(strangers[0])};"
            f" {meant(strangers[0], names)}",
            code="unknown-container",
        )


def _names(pod: Pod) -> list[str]:
    """The names of the pod's containers, sorted, none where its spec wasn't seen."""
    specified = {demand.container for demand in pod.demands.containers}
    return sorted(specified | {each.name for each in pod.containers}) if specified else []


def _check_agreement(pod: Pod, one: Assignment, other: Assignment) -> None:
    """Raise AssignmentError where both speak of CPUs and give any container different ones."""
    if not (one.binds_cpus and other.binds_cpus):
        return
    names = _names(pod)
    pairs = [(one.of(name), other.of(name)) for name in names or _named(one, other)]
    if not names:
        pairs.append((one.pod, other.pod))
    if any((a.cpus, a.nodes) != (b.cpus, b.nodes) for a, b in pairs):
        raise AssignmentError(
            f"{_quoted(pod, one.source)} and {_quoted(pod, other.source)} decide different CPUs:"
            " remove one",
            code="conflicting",
        )


def _together(one: Assignment, other: Assignment) -> Assignment:
    """Two assignments as one; what the first doesn't decide is the other's."""
    return Assignment(
        source=f"{one.source} and {other.source}",
        pod=_joined(one.pod, other.pod),
        containers={
            name: _joined(one.of(name), other.of(name)) for name in sorted(_named(one, other))
        },
    )


def _named(one: Assignment, other: Assignment) -> set[str]:
    return {*one.containers, *other.containers}


def _joined(one: Placement, other: Placement) -> Placement:
    bound = one if one.binds_cpus else other
    return Placement(cpus=bound.cpus, nodes=bound.nodes, mems=one.mems or other.mems)


def _quoted(pod: Pod, source: str) -> str:
    return f"{source} {excerpt(pod.annotations[source], None)}"
