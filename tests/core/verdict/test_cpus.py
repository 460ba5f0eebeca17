"""Whether a container got what was decided, by what the kernel has in force."""

import pytest

from numa_agent.core.verdict import Alignment
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node
from tests.verdicts import verdict as judged

SPARSE = machine(numa_node(1, "0-3"), numa_node(6, None), numa_node(8, "4-7"), online="0-9")


def test_the_cpus_decided_in_one_node_are_aligned() -> None:
    verdict = judged(cpus("4-7"), cpus("4-7"), SPARSE)
    assert verdict.alignment is Alignment.ALIGNED
    assert verdict.reason == "CPUs 4-7 are in force, all in node 8"
    assert (verdict.decided, verdict.effective) == (cpus("4-7"), cpus("4-7"))


def test_the_cpus_decided_in_two_nodes_are_split() -> None:
    verdict = judged(cpus("2-5"), cpus("2-5"), SPARSE)
    assert verdict.alignment is Alignment.SPLIT
    assert verdict.reason == "CPUs 2-5 are in force, in nodes 1,8 (as it was decided)"


@pytest.mark.parametrize(
    ("refused", "code", "why"),
    [
        ("", "nobody-decided", "nobody decided CPUs for it"),
        ("cpus-taken", "refused", "what was decided for it is refused: cpus-taken"),
    ],
)
def test_a_split_is_told_to_be_nobodys_wish_or_a_refused_one(
    refused: str, code: str, why: str
) -> None:
    (reason,) = judged(None, cpus("2-5"), SPARSE, refused=refused).reasons
    assert reason.cause is not None
    assert (reason.cause.code, reason.cause.message) == (code, why)


@pytest.mark.parametrize(
    ("effective", "reason"),
    [
        ("0-7", "CPUs 0-7 are in force, not 0-3: it may run on 4-7"),
        ("4-7", "CPUs 4-7 are in force, not 0-3: it may run on 4-7"),
        ("3,9", "CPUs 3,9 are in force, not 0-3: it may run on 9"),
    ],
)
def test_a_container_that_may_run_elsewhere_is_remote(effective: str, reason: str) -> None:
    verdict = judged(cpus("0-3"), cpus(effective), SPARSE)
    assert (verdict.alignment, verdict.reason) == (Alignment.REMOTE, reason)


def test_a_container_that_wasn_t_seen_is_unknown() -> None:
    verdict = judged(cpus("0-3"), None, TWO_NODES)
    assert verdict.alignment is Alignment.UNKNOWN
    assert verdict.effective is None


@pytest.mark.parametrize("effective", ["8", "3,8", "8-9", ""])
def test_cpus_whose_node_is_unknown_are_unknown(effective: str) -> None:
    verdict = judged(cpus("0-9"), cpus(effective), SPARSE)
    assert verdict.alignment is Alignment.UNKNOWN


def test_on_a_machine_without_nodes_nothing_is_aligned() -> None:
    verdict = judged(cpus("0"), cpus("0"), machine(online="0"))
    assert verdict.alignment is Alignment.UNKNOWN


def test_a_container_with_no_cpu_in_force_is_said_to_have_none() -> None:
    found = judged(cpus("0-1"), cpus(""))
    assert found.alignment is Alignment.UNKNOWN
    assert found.reasons[0].message == "no CPU is in force of 0-1 decided"
