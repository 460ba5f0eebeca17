"""How often memory of a node came from elsewhere, as the kernel counts."""

from pathlib import Path

import pytest

from numa_agent.host.measuring import risen, spilled_so_far
from numa_agent.host.measuring.limits import read_mems
from tests.machine_tree import NODE, Tree

COUNTED = "numa_hit 900\nnuma_miss 4\nnuma_foreign 70\ninterleave_hit 3"


@pytest.mark.parametrize(
    ("sysctl", "node", "count"),
    [(None, 0, 70), ("1", 0, 70), ("0", 0, None), ("1", 1, None), ("1", None, None)],
)
def test_the_count_is_the_node_s_and_unknown_where_there_is_none(
    tmp_path: Path, sysctl: str | None, node: int | None, count: int | None
) -> None:
    tree = Tree(tmp_path).file(f"{NODE}/node0/numastat", COUNTED)
    if sysctl is not None:
        tree.file("proc/sys/vm/numa_stat", sysctl)
    assert spilled_so_far(node, tmp_path) == count


def test_this_kernel_counts_or_says_that_it_doesn_t() -> None:
    count = spilled_so_far(min(read_mems()))
    assert count is None or count >= 0


@pytest.mark.parametrize(
    ("before", "after", "rise"), [(3, 10, 7), (3, 3, 0), (None, 3, None), (3, None, None)]
)
def test_a_rise_takes_both_counts(before: int | None, after: int | None, rise: int | None) -> None:
    assert risen(before, after) == rise
