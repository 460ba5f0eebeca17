"""The guests are what was asked for, and their kernel has the rules of cpuset.

The rules: https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset and, for v1,
https://docs.kernel.org/admin-guide/cgroup-v1/cpusets.html. Tests that pass elsewhere on a folder
which looks like a cgroup tree rest on what is shown here of the kernel.
"""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vm.guest import EMULATE, BootError, GuestError, RunScript, run
from tests.vm.kernel import Kernel
from tests.vm.machine import Machine, Node

pytestmark = pytest.mark.vm

TWO_NODES = Machine(
    nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))),
    threads=2,
    distances=((10, 32), (32, 10)),
    displays=(1, None),
)
MEMORY_NODE = Machine(
    nodes=(Node(cpus=range(2)), Node(cpus=range(2, 4)), Node(memory_mib=256)),
    distances=((10, 21, 17), (21, 10, 28), (17, 28, 10)),
    cgroup="v1",
)
SMALL = Machine(nodes=(Node(cpus=range(1), memory_mib=256),))


@pytest.fixture(scope="module")
def v2(guest: RunScript) -> Any:
    return guest(TWO_NODES, "cpuset_v2").json()


@pytest.fixture(scope="module")
def v1(guest_with_cgroup_v1: RunScript) -> Any:
    return guest_with_cgroup_v1(MEMORY_NODE, "cpuset_v1").json()


def test_the_nodes_have_the_cpus_and_the_distances_asked_for(v2: Any) -> None:
    layout = v2["layout"]
    assert layout["online"] == "0-1"
    assert layout["cpulist"] == {"node0": "0-3", "node1": "4-7"}
    assert layout["distance"] == {"node0": "10 32", "node1": "32 10"}


def test_the_nodes_have_the_memory_asked_for_less_what_the_kernel_keeps(v2: Any) -> None:
    assert all(400 < mib <= 512 for mib in v2["layout"]["memory_mib"].values())


def test_cpus_that_follow_each_other_are_the_threads_of_a_core(v2: Any) -> None:
    assert v2["layout"]["siblings"]["cpu4"] == "4-5"
    assert v2["layout"]["siblings"]["cpu5"] == "4-5"


def test_a_display_has_the_node_asked_for_or_none(v2: Any) -> None:
    on_node_1, nowhere = TWO_NODES.display_addresses
    assert v2["layout"]["displays"] == {on_node_1: "1", nowhere: "-1"}


def test_a_node_without_cpus_has_memory_and_distances(v1: Any) -> None:
    layout = v1["layout"]
    assert (layout["online"], layout["has_cpu"]) == ("0-2", "0-1")
    assert layout["cpulist"]["node2"] == ""
    assert layout["distance"]["node2"] == "17 28 10"
    assert layout["memory_mib"]["node2"] > 200


def test_without_threads_each_cpu_is_a_core(v1: Any) -> None:
    assert set(v1["layout"]["siblings"].values()) == {"0", "1", "2", "3"}


def test_v2_a_new_group_has_no_set_of_its_own_and_all_of_its_parents(v2: Any) -> None:
    assert v2["new"] == {
        "pod cpus": "",
        "container effective cpus": "0-7",
        "container effective mems": "0-1",
        "process cpus": "0-7",
    }


def test_v2_a_written_set_holds_for_the_process_in_the_group(v2: Any) -> None:
    assert v2["populated"]["write"] == ["ok", "ok"]
    assert v2["populated"]["process"] == ["2-3", "1"]


def test_v2_a_set_with_a_process_in_it_cannot_be_cleared_but_can_be_widened(v2: Any) -> None:
    assert v2["populated"]["clear"] == ["ENOSPC", "ENOSPC", "2-3"]
    assert v2["populated"]["everything"] == ["ok", "0-7"]


def test_v2_a_write_of_nothing_succeeds_and_changes_nothing(v2: Any) -> None:
    assert v2["populated"]["nothing"] == ["ok", "2-3"]


def test_v2_a_group_with_a_process_cannot_be_removed(v2: Any) -> None:
    assert v2["populated"]["remove"] == "EBUSY"


def test_v2_a_container_has_what_it_shares_with_its_pod(v2: Any) -> None:
    assert v2["nested"]["inside"] == ["ok", "4-5", "4-5"]
    assert v2["nested"]["overlapping"] == ["ok", "4-5", "4-5"]


def test_v2_a_container_that_shares_nothing_with_its_pod_has_all_of_it(v2: Any) -> None:
    assert v2["nested"]["disjoint"] == ["ok", "4-7", "4-7"]


def test_v2_a_pod_may_be_narrowed_below_its_containers_set_which_stays_written(v2: Any) -> None:
    assert v2["nested"]["narrowed pod"] == ["ok", "6-7"]
    assert v2["nested"]["container file"] == "4-5"


def test_v2_what_is_not_there_is_refused_and_changes_nothing(v2: Any) -> None:
    assert v2["refused"] == {
        "cpu beyond nr_cpu_ids": "ERANGE",
        "not a list": "EINVAL",
        "reversed": "EINVAL",
        "absent node": "EINVAL",
        "node beyond the largest": "ERANGE",
        "process above a subtree": "EBUSY",
        "unchanged": "0-3",
    }


def test_v2_a_set_of_offline_cpus_is_kept_and_holds_again_when_they_return(v2: Any) -> None:
    assert v2["offline"] == {
        "only cpu 7": "ok",
        "before": "7",
        "offline": "ok",
        "effective": "0-6",
        "file": "7",
        "write again": "ok",
        "online": "ok",
        "after": "7",
    }


def test_v1_a_new_group_takes_no_process_before_it_has_a_set(v1: Any) -> None:
    assert v1["new"] == ["", "ENOSPC"]


def test_v1_a_set_outside_the_parents_is_refused(v1: Any) -> None:
    assert v1["outside the parent"] == ["EACCES", "EACCES"]


def test_v1_a_set_holds_for_the_process_in_the_group_and_cannot_be_cleared(v1: Any) -> None:
    assert v1["attach"] == ["ok", "1-2"]
    assert v1["clear"] == ["ENOSPC", "1-2"]


def test_v1_a_pod_cannot_be_narrowed_below_its_containers_set(v1: Any) -> None:
    assert v1["narrowed pod"] == "EBUSY"


def test_v1_what_is_not_there_is_refused(v1: Any) -> None:
    assert v1["refused"] == {
        "cpu beyond nr_cpu_ids": "ERANGE",
        "not a list": "EINVAL",
        "absent node": "EINVAL",
        "node beyond the largest": "ERANGE",
    }


def test_v1_a_set_loses_an_offline_cpu_and_gets_it_back_only_from_the_top_down(v1: Any) -> None:
    assert v1["offline"] == {
        "offline": "ok",
        "without": "1",
        "write it": "EINVAL",
        "online": "ok",
        "pod": "0-1",
        "container": "1",
        "write container": "EACCES",
        "write pod": "ok",
        "write container again": "ok",
    }


def test_a_failing_command_gives_its_exit_code_and_its_complaint(
    kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("from the host")
    code = f"import sys; print(open({str(tmp_path / 'note')!r}).read()); sys.exit('complaint')"
    result = run(kernel, SMALL, [sys.executable, "-c", code], visible=[tmp_path])
    assert (result.exit_code, result.stdout) == (1, "from the host\n")
    with pytest.raises(GuestError, match="complaint"):
        result.json()


def test_a_command_that_takes_too_long_is_ended_and_told_with_what_it_wrote(
    kernel: Kernel,
) -> None:
    with pytest.raises(GuestError, match=r"no end after 10 s\nso far"):
        run(kernel, SMALL, ["sh", "-c", "echo so far; sleep 600"], timeout=10)


def test_a_machine_that_is_not_up_in_time_is_told_apart(kernel: Kernel) -> None:
    with pytest.raises(BootError, match="hung while booting"):
        run(kernel, SMALL, ["true"], boot_timeout=0.2)


def test_a_machine_that_panics_while_booting_is_told_apart(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").symlink_to(kernel.image)
    (tmp_path / "initramfs.gz").write_bytes(b"")
    (tmp_path / "accelerator").write_text(EMULATE)
    with pytest.raises(BootError, match="panicked while booting"):
        run(Kernel(folder=tmp_path), SMALL, ["true"])


def test_a_machine_that_qemu_refuses_is_an_error_with_its_words(kernel: Kernel) -> None:
    with pytest.raises(GuestError, match="QEMU ended with 1"):
        run(kernel, Machine(nodes=(Node(cpus=range(3)),), threads=2), ["true"])
