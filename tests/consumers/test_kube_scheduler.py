"""The zone that kube-scheduler's plugin finds for a pod by our object, or why it finds none.

The plugin's rules are in topology_match.py, a source to each.
"""

import pytest

from tests.consumers.kube_machines import MACHINES, TWO
from tests.consumers.kube_nodes import (
    BIG,
    GPU,
    SMALL,
    account,
    amount,
    asking,
    pod,
    published,
)
from tests.consumers.topology_match import (
    PASSED,
    Pod,
    Verdict,
    filtered,
)


def no_zone(resource: str) -> Verdict:
    return Verdict(rejected=f"{resource}: no zone fits")


def none_here(resource: str) -> Verdict:
    return Verdict(rejected=f"{resource}: the Node has none")


@pytest.mark.parametrize(
    ("machine", "wanted", "verdict"),
    [
        # The lowest zone that has it all available; what is reserved or held isn't.
        ("two sockets", pod(asking("14", gpu="2")), Verdict((0,))),
        ("two sockets", pod(asking("15", gpu="1")), Verdict((1,))),
        ("two sockets", pod(asking("4", gpu="3")), Verdict((1,))),
        ("two sockets", pod(asking("32")), Verdict((1,))),
        ("two sockets", pod(asking("33")), no_zone("cpu")),
        ("two sockets", pod(asking("4", gpu="5")), no_zone(GPU)),
        # A pod's containers together, or its greediest init container, beside the overhead.
        ("two sockets", pod(asking("16"), asking("16")), Verdict((1,))),
        ("two sockets", pod(asking("16"), asking("17")), no_zone("cpu")),
        ("two sockets", pod(asking("4"), init=(asking("20"),)), Verdict((1,))),
        ("two sockets", pod(asking("14"), overhead={"cpu": "500m"}), Verdict((1,))),
        # Shared CPUs and memory fit everywhere; a device is compared for every class.
        ("two sockets", pod(asking("60"), qos="Burstable"), Verdict((0,))),
        ("two sockets", pod(asking("60", gpu="3"), qos="Burstable"), Verdict((1,))),
        ("two sockets", pod({GPU: "3"}, qos="BestEffort"), Verdict((1,))),
        ("two sockets", pod({}, qos="BestEffort"), PASSED),
        ("two sockets", pod(asking("4", storage="1Gi")), Verdict((0,))),
        ("two sockets", pod(asking("4", gpu="0")), Verdict((0,))),
        # Container by container, each charged to its zone.
        ("container scope", pod(asking("6"), asking("6")), Verdict((0, 1))),
        ("container scope", pod(asking("6"), asking("2"), asking("3")), Verdict((0, 0, 1))),
        ("container scope", pod(asking("8"), asking("8"), asking("1")), no_zone("cpu")),
        ("container scope", pod(asking("1", gpu="1"), asking("1", gpu="1")), Verdict((0, 1))),
        ("container scope", pod(asking("1"), init=(asking("9"),)), no_zone("cpu")),
        ("container scope", pod(asking("9"), qos="Burstable"), Verdict((0,))),
        ("ids 0 and 8", pod(asking("2")), Verdict((0,))),
        ("ids 0 and 8", pod(asking("3")), Verdict((8,))),
        ("ids 0 and 8", pod(asking("9")), no_zone("cpu")),
        ("ids 0 and 8", pod(asking("9"), qos="Burstable"), Verdict((0,))),
        ("memory-only node", pod(asking("1")), Verdict((0,))),
        ("memory-only node", pod(asking("2")), Verdict((1,))),
        # Its 96 GiB are no place for a pod that a node of 64 GiB can't hold.
        ("memory-only node", pod({"cpu": "1", "memory": "80Gi"}), no_zone("memory")),
        ("memory-only node", pod({"memory": "80Gi"}), no_zone("memory")),
        ("one GPU used on each", pod(asking("8", gpu="3")), Verdict((0,))),
        ("one GPU used on each", pod(asking("8", gpu="4")), no_zone(GPU)),
        ("all CPUs of node 0 reserved", pod(asking("1")), Verdict((1,))),
        ("all CPUs of node 0 reserved", pod({"memory": "1Gi"}), Verdict((0,))),
        ("all CPUs of node 0 reserved", pod(asking("9")), no_zone("cpu")),
        ("hugepages on node 1", pod(asking("1", small="512Mi")), Verdict((1,))),
        ("hugepages on node 1", pod(asking("1", small="2Gi")), no_zone(SMALL)),
        ("hugepages on node 1", pod(asking("1", big="1Gi")), no_zone(BIG)),
        ("two sockets", pod(asking("1", small="2Mi")), none_here(SMALL)),
        ("two sockets", pod({**asking("1"), "rdma/hca": "1"}), none_here("rdma/hca")),
        # Admitted by its CPUs and memory, wherever its GPU is.
        ("GPUs left out", pod(asking("1", gpu="2")), Verdict((0,))),
        ("GPUs left out", pod(asking("2", gpu="2")), Verdict((1,))),
        ("policy none", pod(asking("8")), PASSED),
        # Told without zones, so that the pod is placed as if there were no object.
        ("ids 0 and 64", pod(asking("8")), PASSED),
    ],
)
def test_the_filter_finds_the_zone_that_the_pod_fits(
    machine: str, wanted: Pod, verdict: Verdict
) -> None:
    nrt, allocatable = MACHINES[machine]
    assert filtered(wanted, nrt, allocatable) == verdict


def test_an_available_that_follows_each_pod_keeps_the_second_one_away() -> None:
    # Scheduler-plugins issue 452: with an object that never changed, both fitted and one failed.
    allocatable = {"cpu": "16", "memory": "128Gi"}
    wanted = pod(asking("6"))
    before = published(account(TWO[0], amount(8)), account(TWO[1], amount(8, 8, 0)))
    after = published(account(TWO[0], amount(8, 8, 2)), account(TWO[1], amount(8, 8, 0)))
    assert filtered(wanted, before, allocatable) == Verdict((0,))
    assert filtered(wanted, after, allocatable) == no_zone("cpu")


def test_without_any_object_every_pod_passes() -> None:
    assert filtered(pod(asking("99")), None, MACHINES["two sockets"][1]) == PASSED
