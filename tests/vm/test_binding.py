"""Containers of the real crun and runc start on a real kernel: what their tasks may really use."""

import pytest

from tests.vm.bound import SETTLED, Seen
from tests.vm.bound import pytest_generate_tests as pytest_generate_tests
from tests.vm.bound import seen as seen
from tests.vm.bound import v1 as v1
from tests.vm.bound import v2 as v2

pytestmark = pytest.mark.vm


def test_v2_a_container_is_born_on_its_pods_cpus_whatever_the_runtime_and_driver(v2: Seen) -> None:
    # On 5.10 the kernel gives a process that crun clones into a cgroup none of its cpuset: crun
    # does so where no cgroup is nested: https://github.com/containers/crun/pull/1042
    by_crun = "0-7" if v2.old else "4-5"
    assert v2.scene("start")["first reads"] == {
        "first": [by_crun, "4-5"],
        "second": ["2-3", "2-3"],
    }
    assert v2.scene("start")["nested"] == ["container"]


def test_v2_only_pods_directories_are_written_and_before_any_container_is_there(v2: Seen) -> None:
    start = v2.scene("start")
    assert len(start["admitted"]["writes"]) == 4
    assert all(path.count("/") < 3 and "pod" in path for path, *_ in start["admitted"]["writes"])
    assert start["sandbox"] == start["running"]["writes"] == []


def test_v1_a_container_is_bound_by_the_first_pass_after_its_start(v1: Seen) -> None:
    start = v1.scene("start")
    assert start["first reads"] == {"first": ["0-7", "0-7"], "second": ["0-7", "0-7"]}
    assert start["running"]["verdicts"] == dict.fromkeys(
        ("first/app", "first/side", "second/app", "second/side"), "aligned"
    )


def test_a_plan_says_what_the_next_pass_writes(seen: Seen) -> None:
    start = seen.scene("start")
    assert start["planned"] == start["admitted"]["writes"] != []


def test_pods_that_share_leave_the_cpus_of_others_and_get_them_back(seen: Seen) -> None:
    start, end = seen.scene("start"), seen.scene("end")
    for name in ("shared/app", "besteffort/app"):
        assert start["alone"]["cpus"][name] == "0-7"
        assert start["admitted"]["cpus"][name] == "0-1,6-7"
        assert end["one left"]["cpus"][name] == "0-1,4-7"
        assert end["none left"]["cpus"][name] == "0-7"


def test_no_task_may_use_another_pods_own_cpus(seen: Seen) -> None:
    assert seen.scene("restart")["heard"]["cpus"] == SETTLED


def test_a_task_that_the_kernel_let_out_of_its_cgroups_set_is_told(v2: Seen) -> None:
    verdicts = v2.scene("start")["running"]["verdicts"].values()
    assert ("remote" in verdicts) is v2.old


def test_v2_a_restarted_container_is_bound_without_a_write(v2: Seen) -> None:
    restart = v2.scene("restart")
    assert restart["first reads"] == "4-5"
    assert restart["unheard"]["writes"] == restart["heard"]["writes"] == []


def test_v1_a_restarted_container_is_bound_before_its_pods_status_names_it(v1: Seen) -> None:
    restart = v1.scene("restart")
    assert (restart["first reads"], restart["unheard"]["cpus"]["first/app"]) == ("0-7", "4-5")
    assert restart["heard"]["writes"] == []


def test_v2_memory_nodes_are_in_force_for_the_first_process(v2: Seen) -> None:
    memory = v2.scene("memory")
    assert memory["first reads"] == {"koordinator": "1", "own": "2", "by cpus": "1"}
    assert memory["sandbox"] == memory["running"]["writes"] == []


def test_memory_is_on_the_nodes_that_were_decided(seen: Seen) -> None:
    near = "1" if seen.hierarchy == "v2" else "3"
    pages = seen.scene("memory")["pages"]
    where = {name: list(found["pages"]) for name, found in pages.items()}
    assert where == {"koordinator": ["1"], "own": ["2"], "by cpus": [near]}
    assert all(sum(found["pages"].values()) >= 1024 for found in pages.values())


def test_v2_the_cgroup_is_charged_for_memory_of_that_node_alone(v2: Seen) -> None:
    assert v2.scene("memory")["pages"]["own"]["cgroup"] == {"N0": 0, "N1": 0, "N2": 4}


def test_a_running_pods_memory_stays_where_it_is_by_default(seen: Seen) -> None:
    later = seen.scene("later")
    assert later["after"] == ["0", later["before"]]
    assert "mems-not-set" in later["told"]["conditions"]
    assert [file for _, file, _ in later["told"]["writes"]] == ["cpus"]


def test_with_migrate_the_nodes_change_and_v2_moves_the_pages(seen: Seen) -> None:
    mems, found = seen.scene("later")["at last"]
    moves = seen.hierarchy == "v2" and not seen.old
    assert (mems, list(found["pages"])) == ("1", ["1"] if moves else ["0"])
