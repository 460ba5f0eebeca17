"""Writing a pass's steps where a thread of its own moves pods' pages."""

from numa_agent.agent import binding
from numa_agent.agent.binding import Cpusets, Planned
from numa_agent.agent.fights import move_of, unwritten
from numa_agent.agent.mover import Mover
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import Step
from numa_agent.core.drift import Drift
from numa_agent.core.report import Write


def written(
    cpusets: Cpusets, planned: Planned | None, drift: Drift, now: float, mover: Mover
) -> tuple[tuple[Write, ...], tuple[Condition, ...]]:
    """Take a pass's steps, and leave those that move pages to the mover; as binding.write.

    What became of earlier moves is among the writes. Where nothing may be bound none is begun.
    """
    asked, made = mover.asked(), mover.done()
    unwritten(drift, (each.step for each in made if each.error is not None))
    unwritten(drift, mover.given_up())
    moves: list[tuple[Step, ...]] = []
    writes: tuple[Write, ...] = ()
    fights: tuple[Condition, ...] = ()
    # The pods may have been looked at before these were made.
    just_made = {move_of(each.step) for each in made if each.error is None}
    if planned is not None:
        before = {move_of(step) for step in asked} | just_made
        writes, fights = binding.write(cpusets, planned, drift, now, moves.append, before)
    mover.want(tuple(step for step in own if move_of(step) not in just_made) for own in moves)
    unwritten(drift, mover.given_up())
    return (*made, *writes), (*fights, *mover.conditions())
