"""Where a check begins and ends to find something, and for whom it has nothing to say."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.devices import AMD
from numa_agent.core.doctor import Examination, diagnose
from numa_agent.core.doctor.facts import Dimm, ServedKind
from numa_agent.core.kubelet import MemoryManagerState, MemoryPool
from numa_agent.core.topology import CpuGroup
from tests.core.doctor.healthy import (
    GIB,
    HEALTHY,
    KIND,
    cluster,
    gpu,
    kernel,
    kubelet,
    mapped,
    node,
    topology,
    untold,
)
from tests.machine_tree import cpus, numa_node

SIBLINGS = (cpus("0-1"), cpus("2-3"), cpus("4-5"), cpus("6-7"))


def codes(seen: Examination) -> list[str]:
    return [finding.rule.code for finding in diagnose(seen).findings]


def lacking(seen: Examination) -> set[str]:
    return {name for each in diagnose(seen).not_looked for name in each.checks}


def without_settings(seen: Examination) -> Examination:
    return replace(seen, kubelet=replace(seen.kubelet, settings=untold()))


def test_eight_nodes_are_as_many_as_kubelet_takes_whatever_it_is_set_to() -> None:
    eight = mapped(*(node(each, f"{each}") for each in range(8)), packages=())
    assert codes(eight) == []
    assert "topology-manager-nodes" not in lacking(without_settings(eight))
    nine = mapped(*(node(each, f"{each}") for each in range(9)), packages=())
    assert "topology-manager-nodes" in lacking(without_settings(nine))


@pytest.mark.parametrize(
    ("cores", "option", "found"),
    [
        (SIBLINGS, {}, ["static-policy-splits-cores"]),
        (SIBLINGS, {"full-pcpus-only": "true"}, []),
        (SIBLINGS, {"full-pcpus-only": "false"}, ["static-policy-splits-cores"]),
        (HEALTHY.topology.cores, {}, []),
    ],
)
def test_only_threads_of_one_core_can_be_split(
    cores: tuple[frozenset[int], ...], option: dict[str, str], found: list[str]
) -> None:
    seen = replace(kubelet(cpu_manager_options=option), topology=topology(cores=cores))
    assert codes(seen) == found


@pytest.mark.parametrize(("smallest", "found"), [(80, []), (79, ["memory-unbalanced"]), (100, [])])
def test_four_fifths_of_the_largest_node_are_enough(smallest: int, found: list[str]) -> None:
    seen = mapped(node(0, "0-3", memory=smallest * GIB), node(1, "4-7", memory=100 * GIB))
    assert codes(seen) == found


def test_one_node_has_no_memory_to_align() -> None:
    lone = replace(
        HEALTHY.topology,
        nodes=(node(0, "0-7"),),
        packages=(HEALTHY.topology.packages or ())[:1],
    )
    assert codes(replace(kubelet(memory_manager_policy="None"), topology=lone)) == []


@pytest.mark.parametrize("policy", ["none", "best-effort"])
def test_memory_is_only_missed_where_the_rest_is_aligned(policy: str) -> None:
    seen = kubelet(memory_manager_policy="None", topology_manager_policy=policy)
    assert "memory-manager-none" not in codes(seen)


@pytest.mark.parametrize("facts", [{"vendor": AMD}, {"driver": "vfio-pci"}])
def test_nvml_isn_t_missed_for_gpus_that_aren_t_its_own(facts: dict[str, Any]) -> None:
    seen = replace(mapped(gpus=(gpu(**facts),)), nvml_asked=False)
    assert "nvidia-driver" in diagnose(seen).well


def test_on_which_version_kubelet_and_a_scheduler_meet_must_be_known() -> None:
    seen = replace(HEALTHY, scheduler="ack", cgroups=replace(HEALTHY.cgroups, version=untold()))
    assert "kubelet-assigns-too" in codes(seen)
    assert "cpu-manager" in lacking(seen)
    assert "cpu-manager" not in lacking(replace(HEALTHY, scheduler="ack"))


def test_whose_memory_a_node_without_cpus_is_to_the_kernel_is_told_where_it_is_known() -> None:
    plain = numa_node(2, "", memory_bytes=16 * GIB)
    seen = mapped(node(0, "0-3"), node(1, "4-7"), plain)
    (movable,) = diagnose(seen).findings
    assert "has_normal_memory" not in movable.evidence
    assert "memory-only-nodes" not in lacking(seen)
    kernel = replace(seen.kernel, normal_memory=replace(untold(), value=cpus("0-2"), why=""))
    (normal,) = diagnose(replace(seen, kernel=kernel)).findings
    assert "has_normal_memory lists 2" in normal.evidence
    unknown = replace(seen, kernel=replace(seen.kernel, normal_memory=untold()))
    assert "memory-only-nodes" in lacking(unknown)
    assert codes(unknown) == ["memory-node-plain"]


@pytest.mark.parametrize(("ahead", "words"), [(11.0, "11 s ahead of"), (-11.0, "11 s behind")])
def test_the_clock_is_told_with_its_direction(ahead: float, words: str) -> None:
    (finding,) = diagnose(cluster(clock_ahead=ahead)).findings
    assert words in finding.evidence


def test_a_definition_of_ours_is_in_our_manifests_and_another_s_isn_t() -> None:
    device = ServedKind(
        group_version="scheduling.koordinator.sh/v1alpha1", plural="devices", served=False
    )
    ours, theirs = diagnose(cluster(kinds=(replace(KIND, served=False), device))).findings
    assert ours.fix == "kubectl apply -f manifests/crd/"
    assert theirs.fix == "install the scheduler's CRDs"


def test_a_node_that_spans_packages_is_in_none_of_them() -> None:
    seen = mapped(node(0, "0-1"), node(1, "2-7"))
    assert codes(seen) == ["node-spans-packages"]


def test_memory_without_cpus_may_be_that_of_cpus_that_are_offline() -> None:
    seen = mapped(node(0, "0-7"), numa_node(1, "", memory_bytes=64 * GIB), packages=())
    fixes = {each.rule.code: each.fix for each in diagnose(seen).findings}
    assert "offline" not in fixes["memory-node-plain"]
    some = replace(seen, topology=replace(seen.topology, present=cpus("0-15")))
    fixes = {each.rule.code: each.fix for each in diagnose(some).findings}
    assert fixes["memory-node-plain"].startswith("CPUs 8-15 are offline, and may be this memory's")


def test_modules_are_compared_with_those_of_their_own_kind() -> None:
    hbm = Dimm(locator="H1", kind="HBM2", size_bytes=16 * GIB, speed_mts=3200)
    ddr = Dimm(locator="A1", kind="DDR5", size_bytes=32 * GIB, speed_mts=4800)
    assert codes(kernel(dimms=(ddr, ddr, hbm, hbm))) == []
    (mixed,) = diagnose(kernel(dimms=(ddr, replace(ddr, size_bytes=GIB), hbm))).findings
    assert mixed.subject == "DDR5 modules"


MIB = 2**20


@pytest.mark.parametrize(
    ("reserved", "reserved_memory", "runs_with", "found"),
    [
        # --reserved-memory as a flag, and without one kubelet doesn't start.
        ({"memory": 924 * MIB}, {}, 1024 * MIB, []),
        ({"memory": 924 * MIB}, {}, 900 * MIB, ["reserved-memory-differs"]),
        ({"memory": 924 * MIB}, {}, None, ["reserved-memory-differs"]),
        # --system-reserved as a flag.
        ({"cpu": 2000}, {0: {"memory": 500 * MIB}}, 500 * MIB, []),
        ({"cpu": 2000}, {0: {"memory": 500 * MIB}}, 400 * MIB, ["reserved-memory-differs"]),
        # Changed since it was started.
        (
            {"memory": 924 * MIB},
            {0: {"memory": 500 * MIB}},
            1024 * MIB,
            ["reserved-memory-differs"],
        ),
    ],
)
def test_what_flags_give_isn_t_missed_in_the_file_where_kubelet_runs_with_it(
    reserved: dict[str, int],
    reserved_memory: dict[int, dict[str, int]],
    runs_with: int | None,
    found: list[str],
) -> None:
    seen = kubelet(reserved=reserved, reserved_memory=reserved_memory)
    if runs_with is not None:
        pool = MemoryPool(
            total=4096 * MIB, system_reserved=runs_with // 2, allocatable=0, reserved=0, free=0
        )
        state = MemoryManagerState(
            policy="Static", pools={0: {"memory": pool}, 1: {"memory": pool}}, entries={}
        )
        told = replace(seen.kubelet.memory_state, value=state)
        seen = replace(seen, kubelet=replace(seen.kubelet, memory_state=told))
    assert codes(seen) == found


def test_a_package_for_each_core_is_a_hypervisor_s_and_says_nothing() -> None:
    each = tuple(CpuGroup(id=cpu, cpus=cpus(f"{cpu}")) for cpu in range(8))
    seen = mapped(node(0, "0-7"), packages=each)
    assert "node-spans-packages" not in codes(seen)
    assert "packages-and-nodes" in lacking(seen)
    threads = tuple(CpuGroup(id=cpu, cpus=cpus(f"{2 * cpu}-{2 * cpu + 1}")) for cpu in range(4))
    assert "packages-and-nodes" in lacking(
        mapped(node(0, "0-7"), packages=threads, cores=SIBLINGS)
    )
    assert codes(mapped(node(0, "0-7"), packages=threads)) == ["node-spans-packages"]
    lone = (CpuGroup(id=0, cpus=cpus("0-7")),)
    one = mapped(node(0, "0-7"), packages=lone, cores=(cpus("0-7"),))
    assert "packages-and-nodes" not in lacking(one)
