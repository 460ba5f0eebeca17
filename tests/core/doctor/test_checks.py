"""Each check finds what it is for, is silent where all is well, and never calls unseen well."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from numa_agent.core.doctor import CHECKS, Examination, Told, Weight, diagnose
from numa_agent.core.doctor.facts import KernelFacts
from tests.core.doctor.cases import CASES
from tests.core.doctor.healthy import (
    HEALTHY,
    cgroups,
    cluster,
    gpu,
    kernel,
    kubelet,
    mapped,
    node,
    untold,
)
from tests.machine_tree import cpus, machine, numa_node

RULES = {rule.code: rule for check in CHECKS for rule in check.rules}


def codes(seen: Examination) -> list[str]:
    return [finding.rule.code for finding in diagnose(seen).findings]


def test_a_healthy_node_has_no_finding_and_every_check_says_so() -> None:
    diagnosis = diagnose(HEALTHY)
    assert diagnosis.findings == ()
    assert diagnosis.not_looked == ()
    assert diagnosis.well == tuple(check.name for check in CHECKS)
    assert diagnosis.good


@pytest.mark.parametrize("scheduler", ["koordinator", "ack"])
def test_where_the_scheduler_assigns_a_kubelet_that_does_not_is_well(scheduler: str) -> None:
    seen = replace(
        kubelet(cpu_manager_policy="none", topology_manager_policy="none"), scheduler=scheduler
    )
    assert codes(seen) == []


@pytest.mark.parametrize("code", CASES)
def test_a_rule_is_found_where_it_holds_with_evidence_fix_and_source(code: str) -> None:
    seen, words = CASES[code]
    found = [each for each in diagnose(seen).findings if each.rule.code == code]
    assert len(found) == 1
    assert words in found[0].evidence
    assert found[0].fix
    assert found[0].subject
    assert "None" not in found[0].evidence.replace("Policy: None", "")


def test_every_rule_has_a_case_a_page_and_one_check() -> None:
    listed = [rule.code for check in CHECKS for rule in check.rules]
    assert sorted(CASES) == sorted(listed)
    assert len(set(listed)) == len(listed)
    assert all(rule.source.startswith("https://") for rule in RULES.values())
    assert len({check.name for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_finds_only_what_it_lists(check: Any) -> None:
    for seen, _ in CASES.values():
        found = diagnose(seen, [check]).findings
        assert {each.rule for each in found} <= set(check.rules)


def test_only_a_fault_makes_a_node_bad() -> None:
    for code, (seen, _) in CASES.items():
        diagnosis = diagnose(seen)
        assert diagnosis.good == (diagnosis.count(Weight.FAULT) == 0)
        assert diagnosis.good or RULES[code].weight is Weight.FAULT, code


def test_the_heaviest_finding_comes_first() -> None:
    seen = kernel(command_line=("numa=off",), numa_balancing=1, zone_reclaim=1)
    assert codes(seen) == ["numa-switched-off", "zone-reclaim-on", "numa-balancing-on"]


def facts(of: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of every fact of an examination."""
    for field in fields(of):  # type: ignore[arg-type]
        value = getattr(of, field.name)
        if isinstance(value, Told):
            yield (*path, field.name)
        elif is_dataclass(value) and field.name != "topology":
            yield from facts(value, (*path, field.name))


FACTS = sorted(facts(HEALTHY))

NEEDED_ELSEWHERE_ONLY = {
    ("kernel", "cpu_driver"),
    ("kernel", "normal_memory"),
    ("kernel", "tuned_profile"),
}
"""Facts that only words of a finding need."""


def changed(of: Any, path: tuple[str, ...], value: object) -> Any:
    name, *rest = path
    inner = changed(getattr(of, name), tuple(rest), value) if rest else value
    return replace(of, **{name: inner})


@pytest.mark.parametrize("path", FACTS, ids=".".join)
def test_a_fact_that_is_not_known_is_said_and_its_checks_are_not_well(
    path: tuple[str, ...],
) -> None:
    diagnosis = diagnose(changed(HEALTHY, path, untold("nobody knows")))
    if path in NEEDED_ELSEWHERE_ONLY:
        assert diagnosis == diagnose(HEALTHY)
        return
    assert [each.unseen.why for each in diagnosis.not_looked] == ["nobody knows"]
    waiting = diagnosis.not_looked[0].checks
    assert waiting
    assert not set(waiting) & set(diagnosis.well)
    assert diagnosis.findings == ()


@pytest.mark.parametrize("path", FACTS, ids=".".join)
def test_to_know_less_finds_nothing_new(path: tuple[str, ...]) -> None:
    for code, (seen, _) in CASES.items():
        less = diagnose(changed(seen, path, untold()))
        more = diagnose(seen)
        new = {each.rule.code for each in less.findings} - {
            each.rule.code for each in more.findings
        }
        # On which cgroup version the two meet decides how bad that is.
        assert new <= {"kubelet-assigns-too"}, code
        assert set(less.well) <= set(more.well) | {
            check.name
            for check in CHECKS
            if {rule.code for rule in check.rules} & {each.rule.code for each in more.findings}
        }


def test_nothing_is_well_of_a_machine_of_which_nothing_is_known() -> None:
    nothing = HEALTHY
    for path in FACTS:
        nothing = changed(nothing, path, untold())
    diagnosis = diagnose(replace(nothing, topology=machine()))
    assert diagnosis.findings == ()
    assert diagnosis.well == ("map",)


SILENT: dict[str, Callable[[], Examination]] = {
    "one node has no far memory": lambda: replace(
        kernel(numa_balancing=1, zone_reclaim=1),
        topology=replace(
            HEALTHY.topology,
            nodes=(node(0, "0-3"),),
            online=cpus("0-3"),
            present=cpus("0-3"),
            packages=HEALTHY.topology.packages[:1] if HEALTHY.topology.packages else None,
        ),
    ),
    "the option allows the nodes": lambda: replace(
        kubelet(topology_manager_options={"max-allowable-numa-nodes": "9"}),
        topology=mapped(*(node(each, f"{each}") for each in range(9)), packages=()).topology,
    ),
    "intel_pstate's powersave scales": lambda: kernel(
        governors={"powersave": cpus("0-7")}, cpu_driver="intel_pstate"
    ),
    "defrag of huge pages that nobody gets": lambda: kernel(
        huge_pages="never", huge_page_defrag="always"
    ),
    "a GPU for a guest needs no place": lambda: mapped(
        gpus=(gpu(node=None, nodes=(), driver="vfio-pci"),)
    ),
    "a percentage of memory that kubelet saw": lambda: kubelet(
        eviction_memory="5%", reserved_memory={0: {"memory": 1}}
    ),
    "a clock within the header's precision": lambda: cluster(clock_ahead=10.0),
    "the kernel keeps some of the first node": lambda: mapped(
        node(0, "0-3", memory=60 * 2**30), node(1, "4-7")
    ),
    "an empty node is no memory": lambda: mapped(
        node(0, "0-3"), node(1, "4-7"), numa_node(2, "", memory_bytes=0)
    ),
}


@pytest.mark.parametrize("what", SILENT)
def test_what_is_right_is_not_accused(what: str) -> None:
    assert codes(SILENT[what]()) == []


@pytest.mark.parametrize("given", ["", "x", "-1", "9" * 40, "٣"])
def test_a_limit_that_is_no_number_is_the_default(given: str) -> None:
    seen = replace(
        kubelet(topology_manager_options={"max-allowable-numa-nodes": given}),
        topology=mapped(*(node(each, f"{each}") for each in range(9)), packages=()).topology,
    )
    assert "topology-manager-too-many-nodes" in codes(seen)


def test_a_policy_that_is_told_in_place_of_kubelet_s_is_what_filters() -> None:
    seen = kubelet(topology_manager_policy="none")
    assert "topology-manager-not-aligning" in codes(seen)
    told = replace(seen, own_policy="single-numa-node")
    assert "topology-manager-not-aligning" not in codes(told)


def test_nohz_full_on_isolated_cpus_is_right() -> None:
    seen = replace(kernel(nohz_full=cpus("6-7")), topology=mapped(isolated=cpus("5-7")).topology)
    assert codes(seen) == ["isolated-cpus-allocatable"]


def test_what_is_isolated_at_boot_is_no_partition() -> None:
    seen = replace(cgroups(isolated=cpus("5-7")), topology=mapped(isolated=cpus("6-7")).topology)
    found = {each.rule.code: each.subject for each in diagnose(seen).findings}
    assert found == {"isolated-cpus-allocatable": "CPUs 6-7", "cpus-partitioned-off": "CPUs 5"}


def test_both_ways_of_balancing_are_told_at_once() -> None:
    assert codes(kernel(numa_balancing=3)) == ["numa-balancing-on", "memory-tiering-on"]


def test_many_gpus_of_one_fault_are_one_finding() -> None:
    lost = tuple(
        gpu(f"0000:{number:02x}:00.0", node=None, nodes=(), raw_numa_node=-1)
        for number in range(1, 13)
    )
    (found,) = diagnose(mapped(gpus=lost)).findings
    assert found.subject == "12 GPUs"
    assert found.evidence.endswith("and 4 more")


def test_nvml_that_is_not_asked_is_not_well() -> None:
    diagnosis = diagnose(replace(HEALTHY, nvml_asked=False))
    assert [each.unseen.source for each in diagnosis.not_looked] == ["NVML"]
    assert "nvidia-driver" not in diagnosis.well


def test_every_fact_of_the_kernel_is_looked_at() -> None:
    assert {path[1] for path in FACTS if path[0] == "kernel"} == {
        field.name for field in fields(KernelFacts)
    }
