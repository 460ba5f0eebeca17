"""An operator's corrections of firmware that places devices wrongly: PCI addresses to NUMA nodes.

The file is YAML, an address or an inclusive range of addresses to a node's id:

    0000:3b:00.0: 1
    0000:80:00.0-0000:ff:1f.7: 1
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numa_agent.core.pci import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Every device from `first` to `last` is on this node; `text` is the entry as written."""

    first: PciAddress
    last: PciAddress
    node: int
    text: str


@dataclass(frozen=True, slots=True)
class Overrides:
    """The entries in the file's order, of which the first that fits a device holds."""

    entries: tuple[Override, ...] = ()
    problems: tuple[str, ...] = ()

    def of(self, address: PciAddress) -> Override | None:
        """The entry that names this device."""
        fitting = (entry for entry in self.entries if entry.first <= address <= entry.last)
        return next(fitting, None)


_NODE = re.compile("0|[1-9][0-9]{0,9}")


def parse(document: Mapping[Any, object] | Iterable[tuple[object, object]]) -> Overrides:
    """The entries of the file; each that can't be used is a problem, a sentence that names it.

    A node is an integer or its decimal text. Of entries for the same devices the first holds.
    """
    pairs = document.items() if isinstance(document, Mapping) else document
    entries: dict[tuple[PciAddress, PciAddress], Override] = {}
    problems: list[str] = []
    for key, value in pairs:
        try:
            entry = _entry(key, value)
            first = entries.setdefault((entry.first, entry.last), entry)
            if first is not entry:
                raise ValueError(f"given more than once, {first.text!r} holds")
        except ValueError as error:
            problems.append(f"{key!r}: {value!r}: {error}")
    return Overrides(tuple(entries.values()), tuple(problems))


def _entry(key: object, value: object) -> Override:
    if not isinstance(key, str):
        raise ValueError("an address must be text")
    node = _node(value)
    first, dash, last = key.partition("-")
    low = PciAddress.parse(first.strip())
    high = PciAddress.parse(last.strip()) if dash else low
    if high < low:
        raise ValueError("the range ends before it starts")
    return Override(first=low, last=high, node=node, text=f"{key}: {node}")


def _node(value: object) -> int:
    if isinstance(value, str) and _NODE.fullmatch(value):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a node is a number from 0")
    return value
