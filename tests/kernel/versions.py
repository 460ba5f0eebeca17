"""In what the kernels differ: measured of Debian's 5.10, 6.1 and 6.12.

What kernels between these do isn't known here.
"""

from dataclasses import dataclass
from typing import Literal

Version = Literal["5.10", "6.1", "6.12"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one kernel does and another doesn't."""

    words: bool
    """Lists may say `all` and `N`."""
    parent_holds_children: bool
    """On v2 too a group isn't narrowed below what is written in its children."""
    remembers_affinity: bool
    """A task keeps the CPUs that it asked for beside those that its cpuset gives."""
    attaches_only_changes: bool
    """On v2 a task keeps its CPUs when it moves between equal effective sets."""


RULES: dict[Version, Rules] = {
    "5.10": Rules(
        words=False,
        parent_holds_children=True,
        remembers_affinity=False,
        attaches_only_changes=False,
    ),
    "6.1": Rules(
        words=True,
        parent_holds_children=False,
        remembers_affinity=False,
        attaches_only_changes=False,
    ),
    "6.12": Rules(
        words=True,
        parent_holds_children=False,
        remembers_affinity=True,
        attaches_only_changes=True,
    ),
}
