"""Where the devices of a container are, and what is held against it."""

from dataclasses import replace
from typing import Any

import pytest

from numa_agent.core.verdict import Alignment, HeldDevice
from tests.machine_tree import TWO_NODES, cpus, machine, numa_node, pci_device
from tests.serve.reports import gpu
from tests.verdicts import device, verdict

NEAR = cpus("0-3")
FOUR_NODES = machine(*(numa_node(n, f"{2 * n}-{2 * n + 1}") for n in range(4)), online="0-7")


@pytest.mark.parametrize(
    ("devices", "alignment", "code"),
    [
        ((device("a", 0), device("b", 0)), Alignment.ALIGNED, "aligned"),
        ((device("a", 1),), Alignment.REMOTE, "devices-remote"),
        ((device("a", 1), device("b", 1)), Alignment.REMOTE, "devices-remote"),
        ((device("a", 0), device("b", 1)), Alignment.SPLIT, "devices-split"),
        ((device("a"),), Alignment.UNKNOWN, "device-place-unknown"),
        ((device("a", 0, 1),), Alignment.UNKNOWN, "device-place-unknown"),
        ((device("a"), device("b", 0)), Alignment.UNKNOWN, "device-place-unknown"),
    ],
)
def test_devices_are_beside_the_cpus_or_not(
    devices: tuple[HeldDevice, ...], alignment: Alignment, code: str
) -> None:
    found = verdict(NEAR, NEAR, devices=devices)
    assert (found.alignment, found.reasons[0].code) == (alignment, code)


def test_a_device_that_may_be_in_two_other_nodes_is_elsewhere_all_the_same() -> None:
    own = cpus("0-1")
    assert (
        verdict(own, own, FOUR_NODES, devices=(device("a", 2, 3),)).alignment is Alignment.REMOTE
    )


def test_what_is_elsewhere_outweighs_what_is_unknown() -> None:
    found = verdict(NEAR, NEAR, devices=(device("a"), device("b", 1)))
    # Of the other nobody knows that it is elsewhere, too.
    assert found.alignment is Alignment.SPLIT
    assert {each.code for each in found.reasons} == {"device-place-unknown", "devices-split"}


def test_a_device_without_a_place_names_it_and_what_helps() -> None:
    said = verdict(NEAR, NEAR, devices=(device("GPU-7"),)).reason
    assert said.startswith("no source tells the NUMA node of gpu GPU-7")
    assert "localityOverrides" in said


def test_devices_that_were_not_seen_matter_where_there_are_any() -> None:
    unseen: Any = {"devices_unseen": "kubelet didn't answer"}
    assert verdict(NEAR, NEAR, **unseen).alignment is Alignment.ALIGNED
    with_gpu = replace(TWO_NODES, gpus=(gpu("0000:01:00.0"),))
    found = verdict(NEAR, NEAR, with_gpu, **unseen)
    assert found.alignment is Alignment.UNKNOWN
    assert found.reason == "kubelet didn't answer, so which devices it holds isn't known"
    rdma = replace(TWO_NODES, pci_devices=(pci_device("0000:01:00.0", rdma=("mlx5_0",)),))
    assert verdict(NEAR, NEAR, rdma, **unseen).alignment is Alignment.UNKNOWN


def test_devices_that_were_not_seen_matter_where_its_spec_asks_for_some() -> None:
    # The machine's map needn't know of what kubelet gives.
    found = verdict(NEAR, NEAR, devices_unseen="kubelet didn't answer", devices_asked=True)
    assert (found.alignment, found.reasons[0].code) == (Alignment.UNKNOWN, "devices-unseen")
    assert verdict(NEAR, NEAR, devices_asked=True).alignment is Alignment.ALIGNED


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"topology_policy": "none"}, "kubelet-policy"),
        ({"topology_policy": "best-effort"}, "kubelet-policy"),
        ({"topology_policy": "single-numa-node"}, "chosen-apart"),
        ({}, "chosen-apart"),
    ],
)
def test_the_likely_cause_is_who_chose_them_apart(more: Any, cause: str) -> None:
    (reason,) = verdict(NEAR, NEAR, devices=(device("a", 1),), **more).reasons
    assert reason.cause is not None
    assert reason.cause.code == cause


def test_nobody_decided_is_said_where_nobody_did() -> None:
    (reason,) = verdict(None, NEAR, devices=(device("a", 1),)).reasons
    assert reason.cause is not None
    assert reason.cause.code == "nobody-decided"


def test_a_refusal_is_said_where_what_was_decided_is_refused() -> None:
    (reason,) = verdict(None, NEAR, devices=(device("a", 1),), refused="malformed").reasons
    assert reason.cause is not None
    assert reason.cause.code == "refused"


def test_on_a_machine_of_one_node_what_was_not_seen_cannot_be_elsewhere() -> None:
    one = replace(machine(numa_node(0, "0-3")), gpus=(gpu("0000:01:00.0"),))
    unseen: Any = {"devices_unseen": "kubelet didn't answer", "devices_asked": True}
    assert verdict(NEAR, NEAR, one, **unseen).alignment is Alignment.ALIGNED
    two = replace(machine(numa_node(0, "0-3"), numa_node(1, "", near=(0,))), gpus=one.gpus)
    assert verdict(NEAR, NEAR, two, **unseen).alignment is Alignment.UNKNOWN


def test_what_kubelet_does_not_list_has_a_cause_of_its_own() -> None:
    unseen: Any = {"devices_unseen": "kubelet doesn't tell of x", "devices_asked": True}
    (reason,) = verdict(NEAR, NEAR, **unseen).reasons
    assert reason.cause is None
    (reason,) = verdict(NEAR, NEAR, devices_unlisted=True, **unseen).reasons
    assert reason.cause is not None
    assert reason.cause.code == "not-in-podresources"


def test_of_many_devices_the_first_are_named() -> None:
    many = tuple(device(f"GPU-{number}", 1) for number in range(16))
    said = verdict(NEAR, NEAR, devices=many).reason
    assert said.startswith("gpu GPU-0, gpu GPU-1, gpu GPU-2, gpu GPU-3 and 12 more are in node 1")


def test_a_plugins_odd_name_breaks_no_line() -> None:
    said = verdict(NEAR, NEAR, devices=(device("a\n\x1b[2J" + "x" * 1000, 1),)).reason
    assert said.isprintable()
    assert len(said) < 200
