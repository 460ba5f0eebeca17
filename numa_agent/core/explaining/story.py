"""What a story is told from, and what it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Desired, Inputs, Step
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One pod, and what of a pass's readings and findings is about it.

    `settings` are kubelet's, None where they are unknown; `accounts` the NUMA nodes as they are
    told to the scheduler `told_to`, none where nothing may be told. `steps` are the writes that
    are still to be made, and `held_back` says why none may be. `chosen` is what the agent itself
    decided for the pod and `chosen_at` when (RFC 3339), `unplaced` the code and the sentence that
    say why it couldn't.
    """

    node_name: str
    pod: Pod
    inputs: Inputs
    wanted: Desired
    steps: Sequence[Step]
    proofs: Sequence[Proof]
    accounts: Sequence[NodeAccount]
    settings: KubeletSettings | None
    told_to: str
    held_back: str | None = None
    chosen: Kept | None = None
    chosen_at: str = ""
    unplaced: tuple[str, str] | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What isn't as it was decided for this pod."""
        return tuple(
            each
            for each in self.wanted.conditions
            if each.subject.partition(" ")[0] == self.pod.full_name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One step of the way from the wish to the kernel, in lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """What helps, and the command that does it or shows more, "" where there is none."""

    what: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A pod's chapters in their order, and what to do, the most helpful first."""

    pod: str
    chapters: tuple[Chapter, ...]
    todo: tuple[Todo, ...]
