"""A shape: what one pod takes of a NUMA node, such as `24c4g256Gi`."""

import re
from dataclasses import dataclass

from numa_agent.core import quantity

MOST_SHAPES = 8
"""That are looked at: each has a metric for each NUMA node."""

SHAPE = (
    "(?:([1-9][0-9]{0,4})c(?:([1-9][0-9]{0,3})g)?|([1-9][0-9]{0,3})g)"
    r"((?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,3})?(?:[KMGTP]i|[kMGTP]))?"
)
"""CPUs, GPUs or both, and memory: a pattern that Python, ECMAScript and Go read alike."""

_SHAPE = re.compile(SHAPE, re.ASCII)
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Shape:
    """Whole CPUs of a pod's own, whole GPUs, and bytes of memory (0 where it isn't counted)."""

    cpus: int = 0
    gpus: int = 0
    memory: int = 0

    def __str__(self) -> str:
        """As it is written: `24c4g256Gi`; memory in whole MiB, rounded up."""
        memory = quantity.binary(_whole_mib(self.memory)) if self.memory else ""
        gpus = f"{self.gpus}g" if self.gpus else ""
        return f"{self.cpus}c{gpus}{memory}" if self.cpus else f"{gpus}{memory}"


def parse_shape(text: str) -> Shape:
    """The shape that a text means. Raises ValueError, whose message quotes it."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text[:60]!r} is no shape: write whole CPUs, GPUs or both, and memory if it counts,"
            " such as 24c4g256Gi, 12c2g, 8c or 1g"
        )
    cpus, beside, alone, memory = match.groups()
    return Shape(
        cpus=int(cpus or 0),
        gpus=int(beside or alone or 0),
        # As it is said everywhere, so that two that are said alike are one.
        memory=_whole_mib(quantity.whole(memory)) if memory else 0,
    )


def _whole_mib(size: int) -> int:
    return -(-size // _MIB) * _MIB
