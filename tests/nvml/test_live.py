"""The real binding over a fake library says what the recording says."""

import os
from pathlib import Path
from typing import Any

import pytest

from numa_agent.core.nvml import NvmlGpu
from numa_agent.host.nvml.calls import CallError
from numa_agent.host.nvml.fabric import ask_fabric
from tests.nvml.answers import (
    MIG_WITH_HOLES,
    SPARSE_LINKS,
    UNEQUAL_PAIR,
    changed,
    document_of,
    one_gpu,
    recorded,
    refusing,
    unopened,
)
from tests.nvml.child import Child, child
from tests.nvml.library import CODES, build, write
from tests.recorded import MACHINES

ERRORS_OF_A_GPU = {
    "LibraryNotFound": "nvml-library-missing",
    "DriverNotLoaded": "nvml-driver-not-loaded",
    "LibRmVersionMismatch": "nvml-version-mismatch",
    "FunctionNotFound": None,
    "NotSupported": None,
    "NoPermission": "nvml-no-permission",
    "OperatingSystem": "nvml-no-permission",
    "GpuIsLost": "nvml-gpu-lost",
    "ResetRequired": "nvml-reset-required",
    "InsufficientSize": None,
    "ArgumentVersionMismatch": None,
    "NotReady": "nvml-not-ready",
    "InvalidState": "nvml-not-ready",
    "GpuNotFound": "nvml-not-ready",
    "Timeout": None,
    "Unknown": "nvml-unknown-error",
    "Code31": "nvml-error",
}
"""The condition that each error leads to when one GPU gives it."""

HEALTH = {"GpuIsLost": "lost", "ResetRequired": "reset-required"}
"""What an error says of the GPU that gives it."""

WITH_NVML = [each for each in MACHINES if (each / "answers/nvml.json").exists()]
"""A machine that was recorded where there is no library has no answers of it."""

NEWER_CALLS = ("numa_node_id", "addressing_mode", "c2c_enabled", "memory_affinity", "fabric")


def live(driver: Child, document: Any, *more: str) -> Any:
    write(driver.answers, document, *more)
    return driver.call("read_live")


def beside(health: str | None) -> list[str | None]:
    """The eight GPUs' health where that of the fourth is this."""
    return ["ok", "ok", "ok", health, "ok", "ok", "ok", "ok"]


def but_pairs_with(gpu: NvmlGpu, other: int) -> Any:
    """A GPU without what it says of another."""
    levels = {key: level for key, level in gpu.common_ancestors.items() if key != other}
    p2p = {
        name: {key: status for key, status in answers.items() if key != other}
        for name, answers in gpu.p2p.items()
    }
    facts = {name: getattr(gpu, name) for name in NvmlGpu.__slots__}
    return facts | {"common_ancestors": levels, "p2p": p2p}


@pytest.mark.parametrize("machine", WITH_NVML, ids=lambda path: path.name)
def test_a_recorded_machine_is_the_same_through_the_library(machine: Path, driver: Child) -> None:
    document = document_of(machine.name)
    assert live(driver, document) == recorded(document)


def test_every_code_comes_back_by_the_name_that_recordings_use(driver: Child) -> None:
    for name in CODES:
        (gpu,) = live(driver, one_gpu(uuid={"error": name})).gpus
        assert [error.error for error in gpu.errors if error.call == "uuid"] == [name]


@pytest.mark.parametrize("document", [MIG_WITH_HOLES, SPARSE_LINKS], ids=["mig", "links"])
def test_holes_are_the_same_through_the_library(document: Any, driver: Child) -> None:
    (gpu,) = live(driver, document).gpus
    assert gpu.mig or gpu.nvlinks
    assert (gpu,) == recorded(document).gpus


def test_each_call_on_a_pair_keeps_its_own_answer_and_direction(driver: Child) -> None:
    first, second = live(driver, UNEQUAL_PAIR).gpus
    assert first.common_ancestors == {1: 10}
    assert second.common_ancestors == {0: 20}
    names = ("read", "write", "nvlink", "atomics", "pci")
    assert first.p2p == {name: {1: 11 + number} for number, name in enumerate(names)}
    assert second.p2p == {name: {0: 21 + number} for number, name in enumerate(names)}


def test_a_fabric_cluster_is_the_same_through_the_library(driver: Child) -> None:
    registration = {
        "state": 3,
        "status": 0,
        "cluster_uuid": "0a0b0c0d-1122-3344-5566-77889900aaff",
        "clique_id": 4093,
        "health_mask": 0,
    }
    document = one_gpu(fabric=registration)
    (gpu,) = live(driver, document).gpus
    assert gpu.fabric is not None
    assert (gpu,) == recorded(document).gpus


def test_a_fabric_in_a_form_that_nobody_knows_is_said_to_be_one() -> None:
    def call(function: str, *_: Any) -> None:
        newest = function == "nvmlDeviceGetGpuFabricInfoV"
        raise CallError("ArgumentVersionMismatch" if newest else "FunctionNotFound")

    with pytest.raises(CallError, match="ArgumentVersionMismatch"):
        ask_fabric(call, None)


@pytest.mark.parametrize("form", [1, 2, 3])
def test_the_fabric_is_read_in_the_form_that_the_driver_knows(form: int, driver: Child) -> None:
    registration = {
        "state": 3,
        "status": 0,
        "cluster_uuid": "0a0b0c0d-1122-3344-5566-77889900aaff",
        "clique_id": 1,
        "health_mask": 0,
    }
    (gpu,) = live(driver, one_gpu(fabric=registration), f"fabric_form 0 {form}").gpus
    assert gpu.fabric.clique_id == 1


def test_a_domain_of_more_than_four_digits_is_kept(eight: Any, driver: Child) -> None:
    document = changed(eight, 0, pci={"bus_id": "00010000:1B:1F.0"})
    gpu = live(driver, document).gpus[0]
    assert str(gpu.address) == "10000:1b:1f.0"


def test_a_name_that_is_no_text_costs_the_name(driver: Child) -> None:
    write(driver.answers, one_gpu(uuid="GPU-1"))
    driver.answers.write_bytes(driver.answers.read_bytes() + b"0.name 0 \xff\n")
    (gpu,) = driver.call("read_live").gpus
    assert (gpu.uuid, gpu.name) == ("GPU-1", None)
    assert [error.error for error in gpu.errors if error.call == "name"] == ["NotText"]


@pytest.mark.parametrize("error", ERRORS_OF_A_GPU)
def test_a_gpu_that_answers_nothing_leaves_the_others_whole(
    error: str, eight: Any, driver: Child
) -> None:
    document = refusing(eight, 3, error)
    answers = live(driver, document)
    whole = recorded(eight)
    assert answers == recorded(document)
    assert answers.gpus[:3] + answers.gpus[4:] == whole.gpus[:3] + whole.gpus[4:]
    assert {found.error for found in answers.gpus[3].errors} == {error}
    assert (answers.gpus[3].uuid, answers.gpus[3].lost) == (None, error == "GpuIsLost")
    assert [gpu.health for gpu in answers.gpus] == beside(HEALTH.get(error))
    code = ERRORS_OF_A_GPU[error]
    assert [condition.code for condition in answers.conditions] == ([code] if code else [])
    assert all(condition.subject == "GPU 3" for condition in answers.conditions)


@pytest.mark.parametrize("error", ERRORS_OF_A_GPU)
def test_a_gpu_that_cannot_be_opened_leaves_the_others_whole(
    error: str, eight: Any, driver: Child
) -> None:
    document = unopened(eight, 3, error)
    answers = live(driver, document)
    whole = recorded(eight)
    assert answers == recorded(document)
    for index in {*range(8)} - {3}:
        assert but_pairs_with(answers.gpus[index], 3) == but_pairs_with(whole.gpus[index], 3)
    assert [found.error for found in answers.gpus[3].errors] == [error]
    assert [gpu.health for gpu in answers.gpus] == beside(HEALTH.get(error))
    (condition,) = answers.conditions
    assert condition.code == (ERRORS_OF_A_GPU[error] or condition.code)
    assert condition.subject == "GPU 3"
    assert condition.message.startswith(f"GPU 3 (PCI address unknown): {error}: ")


@pytest.mark.parametrize("error", ERRORS_OF_A_GPU)
def test_a_gpu_that_refuses_one_call_is_well_unless_it_says_so(
    error: str, eight: Any, driver: Child
) -> None:
    document = changed(eight, 3, uuid={"error": error})
    answers = live(driver, document)
    assert answers == recorded(document)
    assert [gpu.health for gpu in answers.gpus] == beside(HEALTH.get(error, "ok"))
    assert answers.gpus[3].name is not None
    address = str(answers.gpus[3].address)
    assert all(condition.subject == address for condition in answers.conditions)
    code = ERRORS_OF_A_GPU[error]
    assert [condition.code for condition in answers.conditions] == ([code] if code else [])


def test_a_gpu_that_is_lost_later_is_lost_in_the_next_pass(eight: Any, driver: Child) -> None:
    assert not live(driver, eight).gpus[3].lost
    write(driver.answers, unopened(eight, 3, "GpuIsLost"))
    answers = driver.call("read_again")
    assert [gpu.index for gpu in answers.gpus if gpu.lost] == [3]
    write(driver.answers, eight)
    assert driver.call("read_again") == recorded(eight)


def test_an_old_library_lacks_the_newer_facts_alone(
    eight: Any, answers: Path, tmp_path: Path
) -> None:
    old = build(tmp_path / "old", "-DOLD_DRIVER")
    with child(answers, LD_LIBRARY_PATH=str(old.parent)) as process:
        found = process.call("read_live")
    lacking = {key: {"error": "FunctionNotFound"} for key in NEWER_CALLS}
    document = eight
    for index in range(8):
        document = changed(document, index, **lacking)
    assert found == recorded(document)


def test_memory_nodes_do_not_depend_on_the_callers_cpus(eight: Any, driver: Child) -> None:
    everything = {"cpu_affinity": ["0-8191"], "memory_affinity": ["1,63", "0-63"]}
    write(driver.answers, changed(eight, 0, **everything))
    allowed = os.sched_getaffinity(0)
    for own in (allowed, {min(allowed)}):
        found = driver.call("affinities", 8191, 63, own)
        assert found == {"cpu_affinity": own, "memory_affinity": {1, 63}}


@pytest.mark.parametrize("code", [2, 7])
def test_a_mask_that_is_too_small_is_doubled_once(code: int, eight: Any, driver: Child) -> None:
    small = f"small_mask {code}"
    write(driver.answers, changed(eight, 0, memory_affinity=["127"]), small)
    assert driver.call("memory_nodes", 63) == {127}
    write(driver.answers, changed(eight, 0, memory_affinity=["128"]), small)
    refused = driver.call("memory_nodes", 63)
    assert refused == {2: "InvalidArgument", 7: "InsufficientSize"}[code]


def test_nothing_is_asked_of_a_library_that_is_closed(eight: Any, driver: Child) -> None:
    write(driver.answers, eight)
    uuid = eight["gpus"][0]["uuid"]
    closed = "Uninitialized"
    assert driver.call("asked_when_closed") == [closed, uuid, closed, uuid, closed]


def test_closing_lets_go_of_the_library(eight: Any, answers: Path, library: Path) -> None:
    with child(answers, LD_LIBRARY_PATH=str(library.parent)) as process:
        assert process.call("error_after_close") == "NVMLError_Uninitialized"
        assert process.call("read_live") == recorded(eight)


def test_a_driver_without_a_gpu_starts(driver: Child) -> None:
    document = one_gpu() | {"gpus": []}
    answers = live(driver, document)
    assert answers == recorded(document)
    assert (answers.driver_version, answers.gpus, answers.conditions) == ("580.95.05", (), ())


def test_a_fork_is_refused_and_its_parent_goes_on(eight: Any, driver: Child) -> None:
    write(driver.answers, eight)
    in_fork, closed_there, in_parent = driver.call("of_fork")
    assert [condition.code for condition in in_fork.conditions] == ["nvml-forked"]
    assert "start a new process" in in_fork.conditions[0].message
    assert closed_there == in_fork
    assert in_parent == recorded(eight)
