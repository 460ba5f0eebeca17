"""Whether what is written is a Pod that the API server would take, and of which class it is.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

from dataclasses import dataclass
from typing import NoReturn

from numa_agent.core import quantity
from numa_agent.core.documents import Document, items, mapping
from numa_agent.core.node import native
from numa_agent.core.pods import QosClass
from numa_agent.core.quoting import meant
from numa_agent.core.quoting import shown as _shown

_GUARANTEED = ("cpu", "memory")
_AS_A_WHOLE = _GUARANTEED
_PLAIN = (*_GUARANTEED, "ephemeral-storage")
_HUGE = "hugepages-"


class ManifestError(ValueError):
    """What was given can't be taken for pods; the message names where, and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One pod of a manifest: its metadata and spec, its name, and where it stands."""

    place: str
    metadata: Document
    spec: Document
    name: str

    def fail(self, why: str) -> NoReturn:
        """Raise what is wrong with it."""
        raise ManifestError(f"{self.place}: {why}")


def check(written: Written) -> None:
    """Refuse what the API server refuses and what would be passed over in silence here."""
    for member in ("annotations", "labels"):
        found = written.metadata.get(member)
        if found is not None and not isinstance(found, dict):
            written.fail(f"its {member} aren't an object")
        for key, value in mapping(found).items():
            if not isinstance(key, str) or not isinstance(value, str):
                written.fail(
                    f"its {member[:-1]} {shown(key)} is {shown(value)}, which isn't text: put it"
                    " in quotes"
                )
    names: set[object] = set()
    apps = written.spec.get("containers")
    if not isinstance(apps, list) or not apps:
        written.fail("it has no containers: write spec.containers")
    for member in ("initContainers", "containers"):
        listed = written.spec.get(member)
        if listed is not None and not isinstance(listed, list):
            written.fail(f"its spec.{member} isn't a list")
        for container in items(listed):
            _check_container(written, container, names)
    own = written.spec.get("resources")
    _check_resources(written, "the pod's own resources", own, _AS_A_WHOLE)
    _check_resources(written, "the pod's overhead", {"requests": written.spec.get("overhead")})


def _check_container(written: Written, container: object, names: set[object]) -> None:
    if not isinstance(container, dict):
        written.fail(f"{what(container)} where a container was expected")
    name = mapping(container).get("name")
    if not isinstance(name, str) or not name:
        written.fail("a container of it has no name")
    if name in names:
        written.fail(f"two containers of it are called {shown(name)}")
    names.add(name)
    _check_resources(written, f"container {shown(name)}", mapping(container).get("resources"))


def _check_resources(
    written: Written, what: str, resources: object, known: tuple[str, ...] | None = None
) -> None:
    """Refuse amounts that can't be; `known` are the only names that may be, None for any."""
    if resources is not None and not isinstance(resources, dict):
        written.fail(f"the resources of {what} aren't an object")
    amounts: dict[str, dict[str, int]] = {}
    for member in ("requests", "limits"):
        found = mapping(resources).get(member)
        if found is not None and not isinstance(found, dict):
            written.fail(f"the {member} of {what} aren't an object")
        amounts[member] = {}
        for name, value in mapping(found).items():
            if not isinstance(name, str):
                written.fail(f"{what}: {member} of {shown(name)}, which isn't text")
            _check_name(written, what, name, known)
            try:
                number = quantity.amount(name, str(value))
            except ValueError as error:
                written.fail(f"{what}: {member} of {shown(name)}: {error}")
            if number < 0:
                written.fail(f"{what}: {member} of {shown(name)} are below zero")
            if not native(name) and quantity.parse(str(value)) != number:
                written.fail(f"{what}: {member} of {shown(name)} aren't a whole number of devices")
            amounts[member][name] = number
    for name, number in amounts["requests"].items():
        limit = amounts["limits"].get(name)
        if limit is not None and number > limit:
            written.fail(f"{what}: its request of {shown(name)} is above its limit")
        if limit != number and what.startswith("container") and not _overcommitted(name):
            written.fail(f"{what}: of {shown(name)} its limit must be what it requests")


def _check_name(written: Written, what: str, name: str, known: tuple[str, ...] | None) -> None:
    if known is not None and not name.startswith((*known, _HUGE)):
        written.fail(f"{what} may be {', '.join(known)} and {_HUGE}*, not {shown(name)}")
    if "/" not in name and name not in _PLAIN and not name.startswith(_HUGE):
        written.fail(
            f"{what}: {shown(name)} is no resource: a device's has a domain, such as"
            f" nvidia.com/gpu; {meant(name, _PLAIN)}"
        )


def _overcommitted(name: str) -> bool:
    """Whether a container may be given more of a resource than it requests."""
    return native(name) and not name.startswith(_HUGE)


def qos_of(spec: Document) -> QosClass:
    """The class that the API server gives it.

    https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
    """
    own = mapping(spec.get("resources"))
    containers = [*items(spec.get("initContainers")), *items(spec.get("containers"))]
    each = [own] if own else [mapping(mapping(one).get("resources")) for one in containers]
    limits = [_counted(one.get("limits")) for one in each]
    requests = [
        most | _counted(one.get("requests")) for one, most in zip(each, limits, strict=True)
    ]
    if not any(requests):
        return QosClass.BEST_EFFORT
    whole = all(
        len(most) == len(_GUARANTEED) and asked == most
        for asked, most in zip(requests, limits, strict=True)
    )
    return QosClass.GUARANTEED if whole else QosClass.BURSTABLE


def _counted(amounts: object) -> dict[str, int]:
    """The amounts of CPUs and memory that aren't zero."""
    found = {
        name: quantity.amount(name, str(value))
        for name, value in mapping(amounts).items()
        if name in _GUARANTEED
    }
    return {name: number for name, number in found.items() if number}


def shown(value: object) -> str:
    """A value in a sentence; YAML has some that JSON hasn't."""
    try:
        return _shown(value)
    except (TypeError, ValueError):
        return f"a {type(value).__name__}"


def what(value: object) -> str:
    """What stands where something else was expected."""
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else shown(str(value))
