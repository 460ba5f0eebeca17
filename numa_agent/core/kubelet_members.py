"""The members of kubelet's configuration, each read as the type that it must have.

https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
"""

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from numa_agent.core import cpulist, quantity
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import Document

_BITS = 63
_LARGEST = 2**_BITS - 1
"""The largest number that kubelet can hold."""
_LONGEST = 4095
"""The longest text taken, in characters: no path is longer."""


class Members:
    """The members of a configuration, each read as its type; what can't be is a problem."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problems: list[str] = []

    def get(self, name: str) -> object:
        """A member as it is, None where it isn't set."""
        return self._document.get(name)

    def text(self, name: str, default: str) -> str:
        """A member that is a string; the empty one stands for its default, as in kubelet."""
        value = self.get(name)
        if value is None:
            return default
        if _is_text(value):
            return value or default
        self.refuse(name, f"not a string: {shown(value)}")
        return default

    def flag(self, name: str) -> bool:
        """A member that is true or false, the latter where it isn't set."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"neither true nor false: {shown(value)}")
        return value is True

    def entries(self, name: str) -> Iterator[tuple[str, object]]:
        """The entries of a member that is an object with strings for keys."""
        value = self.get(name)
        if value is None:
            return
        if not isinstance(value, Mapping):
            self.refuse(name, f"not an object: {shown(value)}")
            return
        for key, entry in value.items():
            if _is_text(key):
                yield key, entry
            else:
                self.refuse(name, f"not a name: {shown(key)}")

    def texts(self, name: str) -> Mapping[str, str]:
        """A member that is an object of strings."""
        found: dict[str, str] = {}
        for key, value in self.entries(name):
            if _is_text(value):
                found[key] = value
            else:
                self.refuse(f"{name}.{key}", f"not a string (in quotes): {shown(value)}")
        return found

    def cpus(self, name: str) -> CpuSet | None:
        """A member that is a CPU list, None where it is empty or can't be read."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            self.refuse(name, f"not a CPU list (in quotes): {shown(value)}")
            return None
        try:
            return cpulist.parse(value or "") or None
        except ValueError as error:
            self.refuse(name, str(error))
            return None

    def amount(self, name: str, resource: str, value: object) -> int | None:
        """A quantity of a resource in our unit, None where it can't be read."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.refuse(name, f"not a quantity: {shown(value)}")
            return None
        try:
            found = quantity.amount(resource, str(value))
        except ValueError as error:
            self.refuse(name, str(error))
            return None
        if not 0 <= found <= _LARGEST:
            self.refuse(name, f"not from 0 to 2^63 - 1: {shown(value)}")
            return None
        return found

    def refuse(self, name: str, why: str) -> None:
        """Note a member that can't be read."""
        self.problems.append(f"{name}: {why}")


def _is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a string that can stand in a sentence and in a published object."""
    return isinstance(value, str) and len(value) <= _LONGEST and value.isprintable()


def shown(value: object) -> str:
    """A value in a sentence, at most 60 characters of it."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, int) and value.bit_length() > _BITS:
        # Python refuses to write some such numbers out.
        return "a huge number"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
