"""NVML of a recorded machine: the three rules of nvml.json, and what is read by them."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.nvml import Fabric, MigInstance, NvLink, NvmlError, NvmlGpu
from numa_agent.core.pci import PciAddress
from numa_agent.host.nvml import NOTHING, read_recorded
from numa_agent.host.nvml.calls import MIG_COUNT, NVLINK_STATE, UUID, CallError, Key, T
from numa_agent.host.nvml.read import read
from numa_agent.host.nvml.recorded import RecordedCalls
from tests.nvml.answers import (
    LINKS,
    MIG_WITH_HOLES,
    PEERS,
    SPARSE_LINKS,
    changed,
    document_of,
    one_gpu,
    recorded,
    refusing,
    unopened,
)
from tests.recorded import machine

NODE_MACHINE = "two-socket-8gpu"


def errors_of(gpu: NvmlGpu) -> list[tuple[str, int | None, str]]:
    return [(error.call, error.argument, error.error) for error in gpu.errors]


def only(document: Any) -> NvmlGpu:
    (gpu,) = recorded(document).gpus
    return gpu


def refusal(document: Any, *question: Any, **where: Any) -> str:
    with pytest.raises(CallError) as caught:
        RecordedCalls(document, "nvml.json").ask(*question, **where)
    return caught.value.error


def test_every_fact_of_a_gpu_is_read() -> None:
    answers = recorded(document_of(NODE_MACHINE))
    assert (answers.driver_version, answers.nvml_version) == ("580.95.05", "13.580.95.05")
    assert answers.conditions == ()
    assert [gpu.index for gpu in answers.gpus] == list(range(8))
    gpu = answers.gpus[0]
    others = range(1, 8)
    switches = [PciAddress(0, 0x84 + link % 4, 0, 0) for link in range(18)]
    assert gpu == NvmlGpu(
        index=0,
        address=PciAddress(0, 0x1B, 0, 0),
        uuid="GPU-463a3c90-395e-49b8-b4d0-5c5f1091d6de",
        minor=0,
        name="NVIDIA H100 80GB HBM3",
        memory_bytes=85520809984,
        persistence=True,
        memory_node=None,
        addressing_mode=1,
        c2c=None,
        memory_nodes=frozenset({0}),
        mig_mode=False,
        mig_pending=False,
        mig=(),
        nvlinks=tuple(
            NvLink(link=link, version=6, remote_type=2, remote=switch)
            for link, switch in enumerate(switches)
        ),
        common_ancestors={other: 40 if other < 4 else 50 for other in others},
        p2p={
            name: dict.fromkeys(others, 0)
            for name in ("read", "write", "nvlink", "atomics", "pci")
        },
        fabric=None,
        lost=False,
        errors=(
            NvmlError(call="numa_node_id", argument=None, error="NotSupported"),
            NvmlError(call="c2c_enabled", argument=None, error="NotSupported"),
        ),
    )


def test_a_gpus_own_memory_node_is_read_apart_from_its_affinity() -> None:
    gpu = only(document_of("grace-hopper-like"))
    assert (gpu.memory_node, gpu.memory_nodes) == (1, frozenset({0}))
    assert (gpu.c2c, gpu.addressing_mode) == (True, 2)


def test_an_old_drivers_missing_calls_are_errors_of_their_facts() -> None:
    gpu = recorded(document_of("sparse-offline")).gpus[0]
    assert [error.call for error in gpu.errors if error.error == "FunctionNotFound"] == [
        "numa_node_id",
        "addressing_mode",
        "c2c_enabled",
        "fabric",
    ]


def test_a_memory_node_below_zero_is_no_node() -> None:
    gpu = only(one_gpu(numa_node_id=-1))
    assert gpu.memory_node is None
    assert "numa_node_id" not in [error.call for error in gpu.errors]


def test_a_key_that_is_left_out_is_not_supported() -> None:
    gpu = only(one_gpu())
    assert (gpu.uuid, gpu.address, gpu.memory_nodes, gpu.mig_mode) == (None, None, None, None)
    assert (gpu.nvlinks, gpu.mig, gpu.fabric, gpu.lost) == ((), (), None, False)
    assert {error.error for error in gpu.errors} == {"NotSupported"}
    assert ("memory_affinity", 0, "NotSupported") in errors_of(gpu)


def test_a_list_answers_beyond_its_end_with_invalid_argument() -> None:
    document = one_gpu(nvlink_state=[1], mig_devices=[{"error": "NotFound"}])
    assert refusal(document, NVLINK_STATE, 0, 1) == "InvalidArgument"
    assert refusal(document, UUID, 1) == "InvalidArgument"
    assert refusal(document, UUID, 0, mig=0) == "NotFound"
    assert RecordedCalls(document, "").ask(MIG_COUNT, 0) == 1


def test_an_error_in_a_lists_place_answers_for_every_number() -> None:
    document = one_gpu(nvlink_state={"error": "Unknown"})
    assert refusal(document, NVLINK_STATE, 0, 17) == "Unknown"


def test_mig_instances_are_those_that_lie_between_the_holes() -> None:
    gpu = only(MIG_WITH_HOLES)
    assert (gpu.mig_mode, gpu.mig_pending) == (True, True)
    assert gpu.mig == (
        MigInstance(
            uuid="MIG-1",
            profile="1g.10gb",
            gpu_instance=7,
            compute_instance=0,
            memory_bytes=10 << 30,
        ),
        MigInstance(
            uuid="MIG-4",
            profile="1c.3g.40gb",
            gpu_instance=2,
            compute_instance=None,
            memory_bytes=40 << 30,
        ),
    )
    assert ("compute_instance", 4, "NoPermission") in errors_of(gpu)
    assert not [error for error in gpu.errors if error.call == "mig_devices"]


def test_a_mig_name_without_a_profile_gives_none() -> None:
    instance = {"uuid": "MIG-1", "name": "GRID A100X"}
    gpu = only(one_gpu(mig_mode={"current": 1, "pending": 1}, mig_devices=[instance]))
    assert [found.profile for found in gpu.mig] == [None]


def test_instances_are_looked_for_where_the_mode_is_refused_and_not_where_it_is_off() -> None:
    devices = [{"uuid": "MIG-1"}]
    unsure = only(one_gpu(mig_mode={"error": "NoPermission"}, mig_devices=devices))
    off = only(one_gpu(mig_mode={"current": 0, "pending": 1}, mig_devices=devices))
    assert [found.uuid for found in unsure.mig] == ["MIG-1"]
    assert (off.mig, off.mig_mode, off.mig_pending) == ((), False, True)


def test_only_links_that_are_up_are_links() -> None:
    gpu = only(SPARSE_LINKS)
    assert gpu.nvlinks == (
        NvLink(link=1, version=2, remote_type=0, remote=PciAddress(0, 0x1B, 0, 0)),
        NvLink(link=4, version=2, remote_type=1, remote=PciAddress(0x10000, 0x1B, 0x1F, 0)),
        NvLink(link=5, version=None, remote_type=None, remote=None),
    )
    assert [error for error in errors_of(gpu) if error[0] in LINKS] == [
        ("nvlink_state", 2, "Unknown"),
        ("nvlink_version", 5, "NotSupported"),
        ("nvlink_remote_bus_id", 5, "NotSupported"),
    ]


def test_more_links_than_any_header_names_are_read() -> None:
    gpu = only(one_gpu(nvlink_state=[1] * 100))
    assert len(gpu.nvlinks) == 100


def test_links_that_are_never_refused_come_to_an_end() -> None:
    gpu = only(one_gpu(nvlink_state=[0] * 10_000))
    assert gpu.nvlinks == ()


def test_a_machine_without_nvlink_has_no_error_per_link() -> None:
    ended = only(one_gpu(nvlink_state=[]))
    absent = only(one_gpu(nvlink_state={"error": "NotSupported"}))
    assert [error for error in errors_of(ended) if error[0] in LINKS] == []
    assert [error for error in errors_of(absent) if error[0] in LINKS] == [
        ("nvlink_state", None, "NotSupported")
    ]


def test_links_that_all_fail_alike_are_one_error() -> None:
    gpu = only(one_gpu(nvlink_state={"error": "Unknown"}))
    assert [error for error in errors_of(gpu) if error[0] in LINKS] == [
        ("nvlink_state", None, "Unknown")
    ]


def test_links_that_end_with_not_supported_are_no_fault() -> None:
    gpu = only(one_gpu(nvlink_state=[1, 1, {"error": "NotSupported"}, 1]))
    assert [found.link for found in gpu.nvlinks] == [0, 1]
    assert "nvlink_state" not in [error.call for error in gpu.errors]


def test_what_no_other_gpu_answers_is_one_error(eight: Any) -> None:
    document = changed(eight, 0, p2p_pci={"error": "NotSupported"})
    gpu = recorded(document).gpus[0]
    assert gpu.p2p["pci"] == {}
    assert ("p2p_pci", None, "NotSupported") in errors_of(gpu)
    assert len([error for error in gpu.errors if error.call == "p2p_pci"]) == 1


def test_one_pair_that_is_refused_costs_that_pair(eight: Any) -> None:
    levels = [*eight["gpus"][0]["common_ancestor"]]
    levels[5] = {"error": "Unknown"}
    gpu = recorded(changed(eight, 0, common_ancestor=levels)).gpus[0]
    assert sorted(gpu.common_ancestors) == [1, 2, 3, 4, 6, 7]
    assert ("common_ancestor", 5, "Unknown") in errors_of(gpu)


@pytest.mark.parametrize(
    "answers",
    [
        {"nvlink_state": {"error": "GpuIsLost"}},
        {"nvlink_state": [1], "nvlink_version": [{"error": "GpuIsLost"}]},
        {"mig_devices": [{"uuid": {"error": "GpuIsLost"}}]},
        {"memory_affinity": [{"error": "GpuIsLost"}]},
    ],
)
def test_any_call_may_say_that_a_gpu_is_lost(answers: Any) -> None:
    assert only(one_gpu(**answers)).lost


def test_the_only_other_gpu_is_named_where_it_is_lost() -> None:
    document = one_gpu(common_ancestor=[{"error": "InvalidArgument"}, {"error": "GpuIsLost"}])
    document["gpus"].append({"handle": None})
    first = recorded(document).gpus[0]
    assert ("common_ancestor", 1, "GpuIsLost") in errors_of(first)
    assert not first.lost


class Counting:
    """A recording that counts how often a key is asked."""

    def __init__(self, document: Any) -> None:
        self._calls = RecordedCalls(document, "nvml.json")
        self.asked: Counter[str] = Counter()

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        self.asked[key.name] += 1
        return self._calls.ask(key, gpu, argument, mig)


@pytest.mark.parametrize("error", ["NotSupported", "FunctionNotFound", "GpuIsLost"])
def test_no_further_link_is_asked_where_the_first_speaks_for_all(error: str) -> None:
    calls = Counting(one_gpu(nvlink_state={"error": error}))
    read(calls)
    assert calls.asked["nvlink_state"] == 1


def test_each_call_is_made_once(eight: Any) -> None:
    calls = Counting(eight)
    read(calls)
    once = ("pci", "uuid", "name", "mig_mode", "handle", "numa_node_id", "fabric")
    assert {key: calls.asked[key] for key in once} == dict.fromkeys(once, 8)
    assert calls.asked["common_ancestor"] == 8 * 7


def test_a_pair_with_a_lost_gpu_does_not_make_the_other_lost(eight: Any) -> None:
    levels = [*eight["gpus"][0]["common_ancestor"]]
    levels[5] = {"error": "GpuIsLost"}
    answers = recorded(changed(eight, 0, common_ancestor=levels))
    assert not answers.gpus[0].lost
    assert answers.conditions == ()


def fabric(**changes: Any) -> Any:
    return {
        "state": 3,
        "status": 0,
        "cluster_uuid": "0a0b0c0d-0000-0000-0000-0000000000ff",
        "clique_id": 7,
        "health_mask": 0,
    } | changes


def test_a_completed_registration_gives_cluster_and_clique() -> None:
    gpu = only(one_gpu(fabric=fabric()))
    assert gpu.fabric == Fabric(cluster_uuid="0a0b0c0d-0000-0000-0000-0000000000ff", clique_id=7)


@pytest.mark.parametrize(
    "changes",
    [
        {"state": 0},
        {"state": 1},
        {"state": 2},
        {"cluster_uuid": "00000000-0000-0000-0000-000000000000"},
    ],
)
def test_any_other_registration_is_no_fabric(changes: Any) -> None:
    gpu = only(one_gpu(fabric=fabric(**changes)))
    assert gpu.fabric is None
    assert "fabric" not in [error.call for error in gpu.errors]


def test_a_registration_that_ended_in_an_error_is_named() -> None:
    gpu = only(one_gpu(fabric=fabric(status=999)))
    assert gpu.fabric is None
    assert ("fabric", None, "Code999") in errors_of(gpu)


def test_a_gpu_without_a_handle_has_one_error_and_no_answer(eight: Any) -> None:
    answers = recorded(unopened(eight, 3, "GpuIsLost"))
    gpu = answers.gpus[3]
    assert errors_of(gpu) == [("handle", None, "GpuIsLost")]
    assert gpu.lost
    assert (gpu.address, gpu.nvlinks, gpu.common_ancestors) == (None, (), {})
    assert sorted(answers.gpus[0].common_ancestors) == [1, 2, 4, 5, 6, 7]
    assert "GpuIsLost" not in [error.error for error in answers.gpus[0].errors]


def test_a_gpu_that_was_lost_since_keeps_what_it_still_answers(eight: Any) -> None:
    document = refusing(eight, 3, "GpuIsLost")
    document["gpus"][3]["pci"] = eight["gpus"][3]["pci"]
    answers = recorded(document)
    gpu = answers.gpus[3]
    assert gpu.lost
    assert gpu.address == PciAddress.parse(eight["gpus"][3]["pci"]["bus_id"])
    assert [condition.code for condition in answers.conditions] == ["nvml-gpu-lost"]
    assert f"GPU 3 ({gpu.address})" in answers.conditions[0].message


def test_each_call_that_is_refused_costs_its_own_fact(eight: Any) -> None:
    whole = recorded(eight).gpus[3]
    for key in eight["gpus"][3]:
        gpu = recorded(changed(eight, 3, **{key: {"error": "Unknown"}})).gpus[3]
        new = {error.call for error in gpu.errors} - {error.call for error in whole.errors}
        refused = {key} - {error.call for error in whole.errors}
        asked_for = key not in ("cpu_affinity", "xid_events", "mig_devices")
        assert new == (refused if asked_for else set()), key


def test_persistence_mode_that_is_off_is_a_condition_of_each_gpu(eight: Any) -> None:
    document = changed(changed(eight, 1, persistence_mode=0), 6, persistence_mode=0)
    answers = recorded(document)
    assert [gpu.persistence for gpu in answers.gpus].count(False) == 2
    cold = [answers.gpus[1], answers.gpus[6]]
    assert [condition.subject for condition in answers.conditions] == [
        str(gpu.address) for gpu in cold
    ]
    for gpu, condition in zip(cold, answers.conditions, strict=True):
        assert condition.code == "nvml-persistence-off"
        assert condition.message.startswith(f"GPU {gpu.index} ({gpu.address}): ")
        assert "run nvidia-persistenced" in condition.message


def test_errors_of_one_code_are_one_condition_of_a_gpu(eight: Any) -> None:
    refused = {"uuid": {"error": "OperatingSystem"}, "name": {"error": "NoPermission"}}
    document = changed(changed(eight, 2, **refused), 5, **refused)
    conditions = recorded(document).conditions
    addresses = [str(PciAddress.parse(eight["gpus"][gpu]["pci"]["bus_id"])) for gpu in (2, 5)]
    assert [(condition.code, condition.subject) for condition in conditions] == [
        ("nvml-no-permission", address) for address in addresses
    ]
    start = f"GPU 2 ({addresses[0]}): NoPermission, OperatingSystem: allow /dev/nvidiactl"
    assert conditions[0].message.startswith(start)


def test_a_gpu_of_several_troubles_has_a_condition_for_each(eight: Any) -> None:
    document = changed(
        eight,
        0,
        uuid={"error": "ResetRequired"},
        name={"error": "Unknown"},
        minor_number={"error": "NotSupported"},
        persistence_mode=0,
    )
    assert [condition.code for condition in recorded(document).conditions] == [
        "nvml-reset-required",
        "nvml-unknown-error",
        "nvml-persistence-off",
    ]


@pytest.mark.parametrize("key", ["nvlink_state", "mig_devices", "memory_affinity"])
def test_any_call_may_say_that_a_gpu_needs_a_reset(key: str) -> None:
    gpu = only(one_gpu(uuid="GPU-1", **{key: {"error": "ResetRequired"}}))
    assert (gpu.health, gpu.lost) == ("reset-required", False)


def test_a_gpu_that_is_lost_needs_no_reset_first() -> None:
    gpu = only(one_gpu(uuid={"error": "ResetRequired"}, name={"error": "GpuIsLost"}))
    assert gpu.health == "lost"


@pytest.mark.parametrize("key", ["common_ancestor", "p2p_read"])
@pytest.mark.parametrize("error", ["GpuIsLost", "ResetRequired"])
def test_a_pairs_error_says_nothing_of_a_gpus_health(key: str, error: str, eight: Any) -> None:
    refused = [{"error": error} for _ in range(8)]
    assert recorded(changed(eight, 0, **{key: refused})).gpus[0].health == "ok"


def test_a_gpu_that_answers_nothing_is_not_said_to_be_well() -> None:
    assert only(one_gpu()).health is None
    assert only(one_gpu(uuid="GPU-1")).health == "ok"


def test_instances_that_cannot_be_counted_are_an_error_and_not_none_at_all() -> None:
    on = {"current": 1, "pending": 1}
    refused = only(one_gpu(mig_mode=on, mig_devices={"error": "NoPermission"}))
    empty = only(one_gpu(mig_mode=on, mig_devices=[]))
    assert refused.mig == empty.mig == ()
    assert ("mig_devices", None, "NoPermission") in errors_of(refused)
    assert "mig_devices" not in [error.call for error in empty.errors]


def test_a_machine_without_the_library_has_a_condition_and_no_gpu() -> None:
    answers = recorded(document_of("cxl-expander"))
    assert (answers.gpus, answers.driver_version) == ((), None)
    assert [condition.code for condition in answers.conditions] == ["nvml-library-missing"]


def test_a_recorded_machine_is_read_from_its_folder() -> None:
    root = machine(NODE_MACHINE)
    assert read_recorded(root, expected=True) == recorded(document_of(NODE_MACHINE))


def test_nothing_is_read_where_no_gpu_is_expected(tmp_path: Path) -> None:
    assert read_recorded(tmp_path, expected=False) == NOTHING
    with pytest.raises(SourceError, match=r"answers/nvml\.json: not there"):
        read_recorded(tmp_path, expected=True)


def test_a_malformed_file_is_named_with_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "nvml.json").write_text(json.dumps(one_gpu(uuid=7)))
    with pytest.raises(SourceError) as caught:
        read_recorded(tmp_path, expected=True)
    place = folder / "nvml.json"
    assert str(caught.value) == f"{place}: gpus[0].uuid: expected text, found 7"


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("handle", 1, "gpus[0].handle"),
        ("pci", {"bus_id": "1b:00"}, "gpus[0].pci"),
        ("pci", None, "gpus[0].pci"),
        ("minor_number", "0", "gpus[0].minor_number"),
        ("persistence_mode", True, "gpus[0].persistence_mode"),
        ("memory_affinity", "0", "gpus[0].memory_affinity"),
        ("memory_affinity", ["3-1"], "gpus[0].memory_affinity[0]"),
        ("mig_mode", [1, 1], "gpus[0].mig_mode"),
        ("mig_devices", {"uuid": "MIG-1"}, "gpus[0].mig_devices"),
        ("mig_devices", [7], "gpus[0].mig_devices[0]"),
        ("mig_devices", [{"name": 7}], "gpus[0].mig_devices[0].name"),
        ("nvlink_state", [0, None], "gpus[0].nvlink_state[1]"),
        ("fabric", {"state": 3}, "gpus[0].fabric"),
        ("uuid", {"error": 7}, "gpus[0].uuid.error"),
    ],
)
def test_a_malformed_answer_is_named_by_its_key(key: str, value: Any, place: str) -> None:
    with pytest.raises(SourceError) as caught:
        recorded(one_gpu(**{key: value}))
    assert str(caught.value).startswith(f"nvml.json: {place}: ")


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("format", "numa-agent.nvml/v2", "format"),
        ("init", 1, "init"),
        ("system", [], "system"),
        ("gpus", {}, "gpus"),
        ("gpus", [[]], "gpus[0]"),
    ],
)
def test_a_malformed_document_is_named_by_its_key(key: str, value: Any, place: str) -> None:
    document = copy.deepcopy(one_gpu()) | {key: value}
    with pytest.raises(SourceError) as caught:
        recorded(document)
    assert str(caught.value).startswith(f"nvml.json: {place}: ")


def test_every_pair_is_asked_and_no_gpu_about_itself(eight: Any) -> None:
    gpus = recorded(eight).gpus
    assert len(PEERS) == 1 + len(gpus[0].p2p)
    for gpu in gpus:
        others = set(range(8)) - {gpu.index}
        assert set(gpu.common_ancestors) == others
        assert all(set(answers) == others for answers in gpu.p2p.values())


@pytest.fixture
def eight() -> Any:
    return document_of(NODE_MACHINE)
