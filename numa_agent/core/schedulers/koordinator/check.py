"""The last look at the annotations before they go out, in the way that their readers take them.

A cpu-topology that isn't what koord-scheduler expects gives it a nil object in its informer's
handler, which ends the scheduler (NewTopologyOptions in
pkg/scheduler/plugins/nodenumaresource/topology_options.go of
https://github.com/koordinator-sh/koordinator).
"""

import json
from collections.abc import Iterator, Mapping

from numa_agent.core import cpulist
from numa_agent.core.schedulers.koordinator.annotations import (
    BE_SHARED_POOLS,
    CPU_BASIC_INFO,
    CPU_MANAGER_POLICY,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
    SHARED_POOLS,
)
from numa_agent.core.schedulers.koordinator.cpus import MAX_CORES
from numa_agent.core.schedulers.koordinator.settings import RESERVATION, SYSTEM_QOS

_OBJECTS = (CPU_BASIC_INFO, CPU_TOPOLOGY, CPU_MANAGER_POLICY, RESERVATION, SYSTEM_QOS)
_LISTS = (SHARED_POOLS, BE_SHARED_POOLS, POD_CPU_ALLOCS)
_CPU_MEMBERS = ("id", "core", "socket", "node")


def faults(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences that each name an annotation and what in it its readers would stumble over."""
    return tuple(_faults(annotations))


def _faults(annotations: Mapping[str, str]) -> Iterator[str]:
    for key in (*_OBJECTS, *_LISTS):
        try:
            value = json.loads(annotations[key])
        except KeyError:
            yield f"{key} is missing"
            continue
        except (ValueError, RecursionError) as error:
            yield f"{key} isn't JSON: {error}"
            continue
        expected = dict if key in _OBJECTS else list
        if not isinstance(value, expected) and not (key == POD_CPU_ALLOCS and value is None):
            yield f"{key} isn't a JSON {'object' if key in _OBJECTS else 'array'}"
            continue
        for fault in _within(key, value):
            yield f"{key}: {fault}"


def _within(key: str, value: object) -> Iterator[str]:
    if key == CPU_TOPOLOGY and isinstance(value, dict):
        yield from _of_cpus(value.get("detail"))
    if isinstance(value, dict):
        yield from _of_sets(value)
    for entry in value if isinstance(value, list) else ():
        if not isinstance(entry, dict):
            yield f"{entry!r} isn't an object"
            continue
        if key != POD_CPU_ALLOCS:
            yield from _of_numbers(entry, ("socket", "node"))
        yield from _of_sets(entry)


def _of_cpus(detail: object) -> Iterator[str]:
    if not isinstance(detail, list) or not detail:
        yield "it lists no CPU"
        return
    for cpu in detail:
        if not isinstance(cpu, dict) or cpu.keys() != set(_CPU_MEMBERS):
            yield f"{cpu!r} isn't an object of {', '.join(_CPU_MEMBERS)}"
            return
        yield from _of_numbers(cpu, _CPU_MEMBERS)
    ids = [cpu["id"] for cpu in detail]
    if all(type(number) is int for number in ids) and ids != sorted(set(ids)):
        yield "its ids don't ascend"
    if any(type(cpu["core"]) is int and cpu["core"] >= MAX_CORES for cpu in detail):
        yield f"a core's number isn't below {MAX_CORES}"


def _of_numbers(entry: Mapping[str, object], members: tuple[str, ...]) -> Iterator[str]:
    for member in members:
        # A bool is Python's int and JSON's true, which Go refuses for a number.
        if type(entry.get(member)) is not int:
            yield f"{member} {entry.get(member)!r} isn't an integer"


def _of_sets(entry: Mapping[str, object]) -> Iterator[str]:
    for member in ("cpuset", "reservedCPUs"):
        text = entry.get(member, "")
        try:
            if not isinstance(text, str):
                raise ValueError(f"{text!r} isn't a string")
            cpulist.parse(text)
        except ValueError as error:
            yield f"{member}: {error}"
