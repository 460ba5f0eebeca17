"""On a real kernel: others write, CPUs go, everything is taken back, and the agent is killed."""

import pytest

from tests.vm.bound import SETTLED, Seen
from tests.vm.bound import pytest_generate_tests as pytest_generate_tests
from tests.vm.bound import seen as seen
from tests.vm.bound import v1 as v1
from tests.vm.bound import v2 as v2

pytestmark = pytest.mark.vm


@pytest.mark.parametrize("drift", ["container", "elsewhere", "both", "pod"])
def test_what_somebody_else_wrote_is_repaired_by_the_next_pass(drift: str, seen: Seen) -> None:
    found = seen.scene("drift")[drift]
    written = "ok" in found["wrote"]  # 5.10 and v1 refuse some of it
    assert bool(found["after"]["writes"]) is written
    assert found["after"]["cpus"] == SETTLED


def test_drift_is_seen_by_the_tasks_before_it_is_repaired(v2: Seen) -> None:
    before = {name: found["before"] for name, found in v2.scene("drift").items()}
    alone = "4-5" if v2.old else "0-3"
    assert before == {"container": "4", "elsewhere": "4-5", "both": "0-7", "pod": alone}


def test_a_cpu_that_goes_is_told_and_leaves_the_binding_in_force(seen: Seen) -> None:
    gone = seen.scene("unplug")["while gone"]
    assert (gone["cpus"]["first/app"], gone["cpus"]["shared/app"]) == ("4", "0-1,7")
    assert "5 aren't online" in gone["conditions"]["degraded"]


def test_v2_a_cpu_that_comes_back_is_in_force_at_once_and_shared_by_the_next_pass(
    v2: Seen,
) -> None:
    unplug = v2.scene("unplug")
    assert unplug["back"]["first/app"] == "4-5"
    assert unplug["after"]["cpus"] == SETTLED


def test_v2_a_pod_all_of_whose_cpus_go_and_come_back_is_bound_again_without_a_write(
    v2: Seen,
) -> None:
    unplug = v2.scene("unplug_all")
    gone, back = {"app": [True, "0-3,6-7"]}, {"app": [True, "4-5"]}
    assert unplug["gone"] == gone | {"side": gone["app"]}
    assert unplug["while gone"]["verdicts"]["first/app"] == "remote"
    assert unplug["back"] == back | {"side": back["app"]}
    assert unplug["while gone"]["writes"] == unplug["after"]["writes"] == []


def test_v1_a_cpu_that_comes_back_is_missing_above_the_pod_and_that_is_told(v1: Seen) -> None:
    after = v1.scene("unplug")["after"]
    assert after["cpus"]["first/app"] == "4"
    assert "kubepods has 0-4,7" in after["refusals"]["cpus-outside-parent"]


def test_v1_a_cpu_that_the_pods_parents_have_again_is_given_out_by_the_next_pass(v1: Seen) -> None:
    assert v1.scene("unplug")["parents whole"]["cpus"] == SETTLED


def test_v1_tasks_whose_cpus_all_go_are_moved_by_the_kernel_until_they_restart(v1: Seen) -> None:
    unplug = v1.scene("unplug_all")
    assert set(map(tuple, unplug["gone"].values())) == {(False, "0-3,6-7")}
    assert set(map(tuple, unplug["at last"].values())) == {(False, "0-7")}
    assert "cpus-not-online" in unplug["while gone"]["refusals"]
    assert unplug["restarted"]["cpus"] == SETTLED


def test_v1_tasks_that_the_kernel_moved_away_are_not_called_aligned(v1: Seen) -> None:
    assert v1.scene("unplug_all")["parents whole"]["verdicts"]["first/app"] == "unknown"


def test_restore_gives_every_task_all_there_is_and_leaves_no_set_empty(seen: Seen) -> None:
    restore = seen.scene("restore")
    nodes = "0-2" if seen.hierarchy == "v2" else "0-3"
    assert (restore["told"]["code"], restore["told"]["complaints"]) == (0, "")
    assert set(restore["cpus"].values()) == {"0-7"}
    assert set(restore["mems"].values()) == {nodes}
    assert set(restore["sets"]) == {"0-7"}
    assert all("has all that is in force" in line for line in restore["again"])


def test_a_pass_after_a_restore_binds_again(seen: Seen) -> None:
    assert seen.scene("restore")["bound"]["cpus"] == SETTLED


def test_after_a_kill_between_any_two_writes_tasks_are_where_they_were_or_go(seen: Seen) -> None:
    crash = seen.scene("crash")
    assert crash["points"] >= 5
    assert crash["wrong"] == crash["at first"] == []


def test_the_pass_after_a_kill_finishes_what_was_begun(seen: Seen) -> None:
    assert seen.scene("crash")["unfinished"] == []


def test_a_pass_writes_nothing_when_nothing_has_happened(seen: Seen) -> None:
    idle = [*seen.all("idle"), *seen.all("idle at last")]
    assert len(idle) == 14
    assert not any(idle)


def test_no_write_of_any_pass_is_refused_and_no_source_fails(seen: Seen) -> None:
    assert [*seen.all("errors")] != []
    assert not any(seen.all("errors"))
    assert not any(seen.all("failures"))
