"""What the assigner would start from as a pass finds a machine, for what only asks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from numa_agent.agent.binding import Planned
from numa_agent.agent.sources import Readings, accounts_of
from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept, Situation
from numa_agent.core.assignment import Assignment
from numa_agent.core.cpusets import Inputs, Options, claimed
from numa_agent.core.grants import PodResources
from numa_agent.core.holding import Holders
from numa_agent.core.shape import Shape
from numa_agent.core.slots import SlotsNow, slots_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a machine, what this agent decided there, and kubelet's answer."""

    situation: Situation
    kept: Mapping[str, Kept]
    granted: PodResources | None

    def slots(self, named: Sequence[Shape] = (), *, exclusive: bool = True) -> SlotsNow:
        """How many more pods fit: of the shapes named, else of those seen."""
        offer = None if self.granted is None else self.granted.offer
        return slots_now(self.situation, self.kept, offer, named, exclusive=exclusive)


def standing(now: Readings, planned: Planned, kept: Mapping[str, Kept]) -> Standing:
    """What a pass found and planned, with what this agent keeps of its own decisions."""
    inputs = _without_ours(planned.inputs)
    granted = now.granted.values[0] if now.granted.fresh and now.granted.values else None
    found = situation(now, inputs, planned.options, kept, partly=False)
    return Standing(situation=found, kept=kept, granted=granted)


def situation(
    now: Readings,
    inputs: Inputs,
    options: Options,
    kept: Mapping[str, Kept],
    *,
    partly: bool = True,
) -> Situation:
    """What deciding starts from in a pass, by others' decisions and those that are `kept`.

    `partly` takes accounts without what a source never told.
    """
    theirs, alone = claimed(inputs, options)
    granted = now.granted
    known = granted.values[0] if granted.fresh and granted.values else None
    why = granted.error or "this machine has no podresources API"
    return Situation(
        inputs=inputs,
        theirs=theirs,
        alone=alone,
        accounts=_once(now, inputs, kept, partly=partly),
        holders=Holders(now.topology, known, why),
        known={},
        now=0.0,
        labels=now.node.values[0].labels if now.node.values else {},
        # Nothing is decided by old answers.
        settled=now.pods.fresh and now.cpu_state.fresh and bool(now.node.values),
        told=not now.pods.values[0].left_out,
        silent=None if granted.fresh else granted.age_seconds,
    )


def _without_ours(inputs: Inputs) -> Inputs:
    """What a pass decided by, without what it decided itself."""
    decisions = {
        uid: said for uid, said in inputs.decisions.items() if inputs.own.get(uid) is not said
    }
    return replace(inputs, own={}, decisions=decisions)


def _once(
    now: Readings, inputs: Inputs, kept: Mapping[str, Kept], *, partly: bool
) -> Callable[[], Sequence[NodeAccount]]:
    """The accounts, made when they are first wanted."""
    made: list[Sequence[NodeAccount]] = []

    def accounts() -> Sequence[NodeAccount]:
        if not made:
            said = inputs.decisions.items()
            theirs = {uid: each.cpus for uid, each in said if isinstance(each, Assignment)}
            ours = {uid: each.cpus for uid, each in kept.items()}
            made.append(accounts_of(now, ours | theirs, partly=partly))
        return made[0]

    return accounts
