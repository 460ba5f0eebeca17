"""The pods' fingerprint: the published vectors, the hash, and which pods go in."""

from dataclasses import replace

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.fingerprint import exclusive, fingerprint, fingerprinted, xxh64
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.node import Node
from numa_agent.core.pods import Pod, QosClass
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.view import View
from tests.machine_tree import TWO_NODES, pod

GPU = "nvidia.com/gpu"
NAMES = st.text(st.characters(codec="utf-8"), max_size=80)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ("", "pfp0v001ef46db3751d8e999"),
        ("namespace1/pod1", "pfp0v0019e0420efb37746c6"),
        ("default/test-pod-0", "pfp0v001fe53c4dbd2c5f4a0"),
        ("ns1/n1 ns1/n2 ns2/n1 ns3/n1 ns3/n2", "pfp0v001b92008c14168b3a6"),
        ("default/pod-a default/pod-a", "pfp0v00188bbc2d2fe1e3cb1"),
        ("default/pod-a kube-system/pod-b", "pfp0v0013c74a72bae9bd313"),
        ("kube-system/pod-b default/pod-a", "pfp0v0013c74a72bae9bd313"),
    ],
)
def test_the_vectors_that_others_published_come_out(pods: str, expected: str) -> None:
    assert fingerprint(_pairs(pods)) == expected


@given(st.lists(st.tuples(NAMES, NAMES), max_size=8))
def test_the_order_of_pods_doesn_t_matter(pods: list[tuple[str, str]]) -> None:
    assert fingerprint(reversed(pods)) == fingerprint(pods) == fingerprint(sorted(pods))


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8))
def test_a_pod_more_is_another_fingerprint(pods: list[tuple[str, str]]) -> None:
    assert fingerprint(pods) != fingerprint(pods[1:])
    assert fingerprint(pods) != fingerprint([*pods, pods[0]])


@given(st.binary(max_size=300), st.integers(0, (1 << 64) - 1))
def test_the_hash_is_xxh64(data: bytes, seed: int) -> None:
    assert xxh64(data, seed) == xxhash.xxh64_intdigest(data, seed)


@pytest.mark.parametrize("length", [*range(70), 96, 1000])
def test_the_hash_is_xxh64_at_every_length_of_its_tail(length: int) -> None:
    data = bytes(byte * 37 % 256 for byte in range(length))
    assert xxh64(data) == xxhash.xxh64_intdigest(data)


def test_half_a_surrogate_pair_stops_nothing() -> None:
    assert fingerprint([("a", "\ud800")]).startswith("pfp0v001")


# Kubernetes' phases, as the plugin's two ways to watch pods count them.
@pytest.mark.parametrize(
    ("informer_mode", "counted"),
    [("Dedicated", ["Failed", "Running", "Succeeded", "Unknown"]), ("Shared", ["Running"])],
)
def test_the_pods_are_those_that_the_scheduler_counts(
    informer_mode: str, counted: list[str]
) -> None:
    phases = ["Unknown", "Running", "Pending", "Succeeded", "Failed"]
    pods = [replace(pod(1), name=phase, phase=phase) for phase in phases]
    view = replace(_view(*pods), fingerprint_pods=informer_mode)
    assert fingerprinted(view, ()) == [("shop", phase) for phase in counted]


def test_by_default_pods_that_hold_nothing_count_too() -> None:
    pods = [_asking({}, qos=QosClass.BEST_EFFORT), replace(_asking({"cpu": 4000}), name="q")]
    assert fingerprinted(_view(*pods), ()) == [("shop", "p1"), ("shop", "q")]


def test_with_exclusive_resources_only_pods_that_hold_something_alone_count() -> None:
    pods = [_asking({}, qos=QosClass.BEST_EFFORT), replace(_asking({"cpu": 4000}), name="q")]
    view = replace(_view(*pods), fingerprint_method="with-exclusive-resources")
    assert fingerprinted(view, ()) == [("shop", "q")]


@pytest.mark.parametrize(
    ("requests", "guaranteed", "burstable"),
    [
        ({"cpu": 2000}, True, False),
        ({"cpu": 1500}, False, False),
        ({"cpu": 0}, False, False),
        # kubelet gives none of it out alone under memory manager None; the scheduler can't know.
        ({"cpu": 1500, "memory": 1}, True, False),
        ({"memory": 0}, False, False),
        ({"hugepages-2Mi": 2097152}, True, False),
        ({"ephemeral-storage": 5}, False, False),
        ({GPU: 1}, True, True),
        ({GPU: 0}, True, True),
        ({"rdma/hca": 1}, False, False),
        ({"kubernetes.io/batch-cpu": 1000}, False, False),
        ({}, False, False),
    ],
)
def test_what_is_held_alone_is_told_from_the_spec(
    requests: dict[str, int], *, guaranteed: bool, burstable: bool
) -> None:
    zone_resources = {"cpu", "memory", "ephemeral-storage", "kubernetes.io/batch-cpu", GPU}
    assert exclusive(_asking(requests), zone_resources) is guaranteed
    assert exclusive(_asking(requests, qos=QosClass.BURSTABLE), zone_resources) is burstable


def test_a_device_that_no_zone_lists_isn_t_held_alone() -> None:
    assert not exclusive(_asking({GPU: 8}), {"cpu", "memory"})


@pytest.mark.parametrize(
    ("role", "counts"), [(Role.APP, True), (Role.SIDECAR, True), (Role.INIT, False)]
)
def test_init_containers_that_end_hold_nothing_alone(role: Role, *, counts: bool) -> None:
    assert exclusive(_asking({"cpu": 1000}, role=role), ()) is counts


def test_requests_of_the_pod_as_a_whole_don_t_count() -> None:
    demands = Demands(pod={"cpu": 4000, "memory": 1 << 30})
    assert not exclusive(replace(pod(1), demands=demands), ())


def test_a_method_that_there_isn_t_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'some': not one of"):
        fingerprinted(replace(_view(), fingerprint_method="some"), ())
    with pytest.raises(ValueError, match="'running': not one of"):
        fingerprinted(replace(_view(), fingerprint_pods="running"), ())


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(namespace, name) for namespace, _, name in (p.partition("/") for p in text.split())]


def _asking(
    requests: dict[str, int], *, qos: QosClass = QosClass.GUARANTEED, role: Role = Role.APP
) -> Pod:
    demand = Demand(container="c", role=role, requests=requests)
    return replace(pod(1, qos=qos), demands=Demands(containers=(demand,)))


def _view(*pods: Pod) -> View:
    return View(
        node=Node(name="n1", uid="u1"),
        topology=TWO_NODES,
        accounts=(),
        settings=KubeletSettings(),
        pods=pods,
    )
