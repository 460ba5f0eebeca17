"""The doctor on a real kernel: what is set wrong is named, and what is set right isn't."""

from typing import Any

import pytest

from tests.vm.guest import RunScript
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

MACHINE = Machine(
    nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8)), Node(memory_mib=256)), threads=2
)

ALWAYS = {"memory-node-plain"}
"""The third node has memory and no CPUs, whatever is set."""

PLANTED = {
    *("numa-balancing-on", "zone-reclaim-on", "thp-always", "thp-defrag-always"),
    *("hugepages-on-some-nodes", "cpus-offline", "irqbalance-running", "agent-not-running"),
    *("cpuset-not-handed-on", "kubelet-cgroups-of-two-drivers"),
}


@pytest.fixture(scope="module")
def seen(guest: RunScript) -> Any:
    return guest(MACHINE, "doctor", timeout=90).json()


def codes(answer: Any) -> set[str]:
    return {finding["code"] for finding in answer["findings"]}


def test_a_kernel_that_is_set_right_is_not_accused(seen: Any) -> None:
    assert codes(seen["right"]) == ALWAYS
    assert seen["right"]["good"] is True


def test_everything_that_is_set_wrong_is_named(seen: Any) -> None:
    assert codes(seen["wrong"]) == ALWAYS | PLANTED
    assert seen["wrong"]["good"] is False


def test_the_evidence_is_the_kernel_s_own(seen: Any) -> None:
    told = {finding["code"]: finding["evidence"] for finding in seen["wrong"]["findings"]}
    assert told["zone-reclaim-on"] == "proc/sys/vm/zone_reclaim_mode is 1"
    assert told["cpus-offline"] == "present are 0-7, online 0-6"
    assert told["hugepages-on-some-nodes"] == "nr_hugepages: node 0 0, node 1 4"
    assert told["irqbalance-running"].startswith("it runs: process ")


def test_what_can_be_seen_of_a_live_kernel_is_looked_at(seen: Any) -> None:
    lacking = {name for each in seen["right"]["not_looked"] for name in each["checks"]}
    looked = {"numa-switched-off", "irqbalance-and-tuned", "cgroup-permissions", "agent", "swap"}
    assert not looked & lacking
    # QEMU's SMBIOS is read as that of a machine of metal, and its modules are made up.
    why = {each["fact"]: each["why"] for each in seen["right"]["not_looked"]}
    assert "what kind of memory" in why["sys/firmware/dmi/entries/17-*/raw"]
    assert {"rights", "clock"} <= lacking
