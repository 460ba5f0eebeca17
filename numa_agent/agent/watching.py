"""What tells of changes between passes, and what is told of what was done about them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from numa_agent.core.conditions import Condition
from numa_agent.core.pods import Pod
from numa_agent.core.report import Write


class Watching(Protocol):
    """What tells of changes in cgroups; paths are those below the cpuset hierarchy's mount."""

    def follow(self, paths: Iterable[str]) -> None:
        """Tell of these cgroups from now on and of no others; parents of pods are among them."""

    def changed(self) -> frozenset[str]:
        """The cgroups followed in which something happened since it was asked last."""

    def stale(self) -> bool:
        """Whether kubelet's state files changed since it was asked last."""

    def parents(self) -> tuple[str, ...]:
        """The cgroups in which pods' cgroups appear."""

    def pods(self) -> frozenset[str]:
        """The uids, as kubelet knows them, of the pods that have a cgroup."""

    @property
    def degraded(self) -> str | None:
        """Why not every cgroup can be followed, None where each write of a set is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was done between passes, and whether something came that asks for another pass."""

    writes: tuple[Write, ...] = ()
    unknown: bool = False
    conditions: tuple[Condition, ...] = ()
    failures: tuple[str, ...] = ()


News = Callable[[], tuple[tuple[Pod, ...], tuple[str, ...]] | None]
"""Pods as they are now and the trusted managers, None where they aren't known without asking."""
