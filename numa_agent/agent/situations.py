"""What the assigner would start from as a pass finds a machine, for what only asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from numa_agent.agent.binding import Planned
from numa_agent.agent.sources import Readings, accounts_of
from numa_agent.core.accounting import NodeAccount
from numa_agent.core.assigner import Kept, Situation
from numa_agent.core.assignment import Assignment
from numa_agent.core.cpusets import Inputs, claimed
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
    theirs, alone = claimed(inputs, planned.options)
    accounts = _accounts(now, inputs, kept)
    granted = now.granted.values[0] if now.granted.fresh and now.granted.values else None
    why = now.granted.error or "this machine has no podresources API"
    situation = Situation(
        inputs=inputs,
        theirs=theirs,
        alone=alone,
        accounts=lambda: accounts,
        holders=Holders(now.topology, granted, why),
        known={},
        now=0.0,
        labels=now.node.values[0].labels if now.node.values else {},
    )
    return Standing(situation=situation, kept=kept, granted=granted)


def _without_ours(inputs: Inputs) -> Inputs:
    """What a pass decided by, without what it decided itself."""
    decisions = {
        uid: said for uid, said in inputs.decisions.items() if inputs.own.get(uid) is not said
    }
    return replace(inputs, own={}, decisions=decisions)


def _accounts(now: Readings, inputs: Inputs, kept: Mapping[str, Kept]) -> tuple[NodeAccount, ...]:
    said = inputs.decisions.items()
    theirs = {uid: each.cpus for uid, each in said if isinstance(each, Assignment)}
    return accounts_of(now, {uid: each.cpus for uid, each in kept.items()} | theirs)
