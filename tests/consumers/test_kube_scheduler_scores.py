"""What our zones do in kube-scheduler's plugin: scores within bounds, and never its end.

The plugin's rules are in topology_score.py, a source to each.
"""

from copy import deepcopy
from dataclasses import replace

import pytest

from tests.consumers.kube_machines import MACHINES, SPARSE, TWO
from tests.consumers.kube_nodes import (
    ALIGNED,
    account,
    amount,
    asking,
    nodes,
    pod,
    published,
    say,
)
from tests.consumers.topology_faults import faults
from tests.consumers.topology_match import (
    PluginPanicError,
    cells,
    filtered,
)
from tests.consumers.topology_score import (
    STRATEGIES,
    SchedulerStallsError,
    least_numa_nodes,
    scored,
)

GOOD, OFFERED = MACHINES["two sockets"]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scope", ["container", "pod"])
def test_no_strategy_panics_stalls_or_scores_out_of_bounds(machine: str, scope: str) -> None:
    nrt = deepcopy(MACHINES[machine][0])
    say(nrt, "topologyManagerScope", scope)
    for wanted in (pod(asking("1")), pod(asking("6"), asking("6")), pod(asking("99"))):
        scores = [scored(wanted, nrt, strategy) for strategy in STRATEGIES]
        assert all(0 <= score <= 100 for score in [*scores, least_numa_nodes(wanted, nrt)])


def test_a_hole_doesn_t_move_the_score_of_any_strategy() -> None:
    wanted = pod(asking("4"))
    dense = published(account(TWO[0], amount(8)), account(TWO[1], amount(16)))
    sparse = published(account(SPARSE[0], amount(8)), account(SPARSE[8], amount(16)))
    for strategy in STRATEGIES:
        assert scored(wanted, sparse, strategy) == scored(wanted, dense, strategy) > 0


def test_a_hole_is_no_part_of_the_nearest_zones() -> None:
    # Both zones are needed. Node 1, a memory-only one, is near to either; the hole there isn't.
    near = nodes(0, 2, memory=[1], distance=11)
    own = [account(near[number], amount(8)) for number in (0, 2)]
    none = replace(ALIGNED, topology_manager_policy="best-effort")
    nrt = published(*own, others=[near[1]], settings=none)
    assert least_numa_nodes(pod(asking("12")), nrt) == 100 - 2 * 12 + 6


def test_ids_with_a_hole_would_end_the_scheduler() -> None:
    nrt = deepcopy(MACHINES["ids 0 and 8"][0])
    nrt["zones"] = [zone for zone in nrt["zones"] if zone["name"] in {"node-0", "node-8"}]
    with pytest.raises(PluginPanicError, match=r"\[8\] with length 2"):
        scored(pod(asking("1")), nrt)
    say(nrt, "topologyManagerScope", "container")
    with pytest.raises(PluginPanicError, match=r"\[8\] with length 2"):
        least_numa_nodes(pod(asking("8")), nrt)


def test_node_64_would_end_the_scheduler() -> None:
    wrong = deepcopy(GOOD)
    wrong["zones"][1]["name"] = "node-64"
    with pytest.raises(PluginPanicError, match="node-64"):
        filtered(pod(asking("1")), wrong, OFFERED)
    wrong["zones"][1]["name"] = "node-65"
    assert [cell.id for cell in cells(wrong)] == [0]


def test_zones_out_of_order_would_be_charged_for_one_another() -> None:
    first, second = account(TWO[0], amount(8)), account(TWO[1], amount(4))
    loose = replace(ALIGNED, topology_manager_scope="container")
    right = published(first, second, settings=loose)
    wrong = deepcopy(right)
    wrong["zones"].reverse()
    # The first container takes node 0 whole, so that there is no room for the second.
    wanted = pod(asking("8"), asking("8"))
    assert least_numa_nodes(wanted, right) == 0
    assert least_numa_nodes(wanted, wrong) == 94


def test_too_many_zones_would_stall_the_scheduler_and_so_holes_don_t_make_them() -> None:
    real = published(*(account(node, amount(8)) for node in nodes(*range(34)).values()))
    with pytest.raises(SchedulerStallsError):
        least_numa_nodes(pod(asking("1000")), real)
    padded = published(*(account(node, amount(8)) for node in nodes(0, 33).values()))
    assert least_numa_nodes(pod(asking("1000")), padded) == 100


def test_many_zones_would_be_scored_below_0_unless_told_of() -> None:
    twelve = published(*(account(node, amount(8)) for node in nodes(*range(12)).values()))
    assert 0 <= least_numa_nodes(pod(asking("96")), twelve) <= 100
    assert faults(twelve, {"cpu": "96", "memory": "64Gi"}) == []
    for most in (None, "8", "101"):
        wrong = deepcopy(twelve)
        say(wrong, "topologyManagerMaxNUMANodes", most)
        assert "topologyManagerMaxNUMANodes: scores out of bounds" in faults(wrong, OFFERED)
    say(wrong, "topologyManagerMaxNUMANodes", None)
    assert least_numa_nodes(pod(asking("96")), wrong) < 0
