"""The CPUs and memory nodes decided for a pod, or what is wrong with the words that say so."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from numa_agent.core.cpulist import MAX_ID, MAX_NAMED, CpuSet
from numa_agent.core.quoting import excerpt, shown
from numa_agent.core.strict_json import JsonError, Value, parse

NodeSet = frozenset[int]
"""NUMA nodes by their kernel ids."""

_Said = TypeVar("_Said")

_ELEMENT = re.compile(r"(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")


class AssignmentError(ValueError):
    """An assignment that can't be followed; the message shows the text refused and the place.

    `code` is stable: `malformed` (it can't be read), `unknown-container` (it names a container
    that the pod lacks), `conflicting` (two annotations differ), `untrusted` (not the scheduler
    wrote it).
    """

    def __init__(self, message: str, *, code: str = "malformed") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What is decided for one container.

    `cpus` are CPUs of its own, empty where it shares. `nodes` are NUMA nodes whose shared CPUs it
    is bound to, empty where it isn't. `mems` are its memory nodes, empty where none are decided.
    """

    cpus: CpuSet = frozenset()
    nodes: NodeSet = frozenset()
    mems: NodeSet = frozenset()

    @property
    def binds_cpus(self) -> bool:
        """Whether it says anything of CPUs."""
        return bool(self.cpus or self.nodes)


NOWHERE = Placement()
"""Nothing is decided: the container shares what the machine's other containers share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What is decided for a pod, and the annotation that says so.

    `pod` is for every container that `containers` doesn't name: init, sidecar and ephemeral ones
    as well.
    """

    source: str
    pod: Placement = NOWHERE
    containers: Mapping[str, Placement] = field(default_factory=dict)

    def of(self, container_name: str) -> Placement:
        """What is decided for one container."""
        return self.containers.get(container_name, self.pod)

    @property
    def cpus(self) -> CpuSet:
        """The CPUs that are the pod's own: all its containers' together."""
        return self.pod.cpus.union(*(each.cpus for each in self.containers.values()))

    @property
    def binds_cpus(self) -> bool:
        """Whether it says anything of CPUs."""
        return any(each.binds_cpus for each in (self.pod, *self.containers.values()))


class IdLists:
    """Reads the lists of ids in one annotation, which may name 262144 ids together.

    A list is the kernel's, `0-3,8`, without its strides and words.
    """

    def __init__(self) -> None:
        self._left = MAX_NAMED

    def read(self, value: Value) -> frozenset[int]:
        """The ids that a string lists. Raises JsonError with the character that is at fault."""
        text = value.text()
        if not text:
            raise value.fault("an empty list says nothing: leave the member out")
        ids: set[int] = set()
        at = 1
        for element in text.split(","):
            match = _ELEMENT.fullmatch(element)
            if match is None:
                raise value.fault(f"character {at} of {shown(text)}: {_not_an_id(element)}")
            first, last = int(match["first"]), int(match["last"] or match["first"])
            why = self._refusal(element, first, last)
            if why is not None:
                raise value.fault(f"character {at} of {shown(text)}: {why}")
            ids.update(range(first, last + 1))
            at += len(element) + 1
        return frozenset(ids)

    def _refusal(self, element: str, first: int, last: int) -> str | None:
        if max(first, last) > MAX_ID:
            return f"{shown(element)} is beyond {MAX_ID}"
        if last < first:
            return f"{shown(element)} ends before it starts"
        self._left -= last - first + 1
        if self._left < 0:
            return f"more than {MAX_NAMED} ids are named"
        return None


def understand(annotation: str, text: str, read: Callable[[Value], _Said]) -> _Said:
    """What a reader makes of an annotation's JSON. Raises AssignmentError for any fault in it."""
    try:
        return read(parse(text))
    except JsonError as fault:
        message = f"{annotation} {excerpt(text, fault.position)}: {fault}"
        raise AssignmentError(message) from fault


def _not_an_id(element: str) -> str:
    if not element:
        return "nothing between two commas, or a comma at an end"
    if ":" in element:
        return f"{shown(element)} has a stride, which assignments can't have"
    if element.startswith("-"):
        return f"{shown(element)} is negative or lacks its start"
    return f"{shown(element)} isn't a number or a range such as 0-3"
