"""Which of many incomplete sets are worth going on with."""

from numa_agent.core.assigner.nodes.bounds import within
from numa_agent.core.assigner.nodes.items import Amounts, Bits

State = tuple[Bits, Amounts]
"""Which places have no item yet, by their number, and what is still lacking."""

Layer = dict[State, int]
"""The least key of the sets that lead to each state."""

_COMPARED = 16
"""With how many cheaper sets each is compared: one that is kept too many only costs steps."""


def front_of(layer: Layer) -> Layer:
    """The layer without sets to which a cheaper one is preferable in all ways: a Pareto front."""
    front: Layer = {}
    cheap: list[State] = []
    for state, key in sorted(layer.items(), key=lambda entry: entry[1]):
        unmet, lacks = state
        if not any(each & ~unmet == 0 and within(those, lacks) for each, those in cheap):
            front[state] = key
            if len(cheap) < _COMPARED:
                cheap.append(state)
    return front


def few_of(layer: Layer, share: int, wanted: Amounts) -> Layer:
    """The `share` cheapest sets of a layer, and as many of those that lack least."""

    def lack(state: State) -> tuple[int, int, int]:
        parts = (
            1000 * part // whole for part, whole in zip(state[1], wanted, strict=True) if whole
        )
        return state[0].bit_count(), sum(parts), layer[state]

    cheap = sorted(layer, key=lambda state: (layer[state], state))[:share]
    complete = sorted(layer, key=lack)[:share]
    return {state: layer[state] for state in (*cheap, *complete)}
