"""What measured times mean, what there is to measure on a machine, and the distances they give."""

from numa_agent.core.measuring.distances import Distances, DistancesError
from numa_agent.core.measuring.matrix import Copies, Matrix, Pair
from numa_agent.core.measuring.placing import Placement, placements
from numa_agent.core.measuring.planning import (
    Allowed,
    MatrixPlan,
    Reader,
    Target,
    plan_matrix,
)
from numa_agent.core.measuring.spread import Ratio, Spread, ratio, spread
from numa_agent.core.measuring.trial import Failure, Gain, Trial, gain

__all__ = [
    "Allowed",
    "Copies",
    "Distances",
    "DistancesError",
    "Failure",
    "Gain",
    "Matrix",
    "MatrixPlan",
    "Pair",
    "Placement",
    "Ratio",
    "Reader",
    "Spread",
    "Target",
    "Trial",
    "gain",
    "placements",
    "plan_matrix",
    "ratio",
    "spread",
]
