"""What a container's spec asks for that kubelet's answer doesn't tell."""

from dataclasses import replace

import pytest

from numa_agent.core.grants import ContainerGrant, DeviceGrant, DynamicGrant
from numa_agent.core.pods import Pod
from numa_agent.core.requests import Demand, Demands, Role
from numa_agent.core.untold import wanted
from tests.machine_tree import pod


def asking(requests: dict[str, int], *claims: str) -> Pod:
    demand = Demand(container="c1", role=Role.APP, requests=requests, claims=claims)
    return replace(pod(1), demands=Demands(containers=(demand,)))


def grant(resources: tuple[str, ...] = (), claims: tuple[str, ...] = ()) -> ContainerGrant:
    return ContainerGrant(
        namespace="shop",
        pod="p1",
        container="c1",
        cpus=frozenset(),
        devices=tuple(DeviceGrant(resource=each, ids=("7",), nodes=()) for each in resources),
        memory=(),
        dynamic=tuple(
            DynamicGrant(
                claim_namespace="shop",
                claim_name=name,
                driver="gpu.nvidia.com",
                pool="n",
                device=device,
                cdi_devices=(),
            )
            for name in claims
            for device in ("gpu-0", "gpu-1")
        ),
    )


@pytest.mark.parametrize(
    ("requests", "given", "untold"),
    [
        ({"nvidia.com/gpu": 1}, ("nvidia.com/gpu",), ()),
        ({"nvidia.com/gpu": 1}, (), ("nvidia.com/gpu",)),
        ({"koordinator.sh/gpu-core": 50}, (), ("koordinator.sh/gpu-core",)),
        ({"nvidia.com/gpu": 1, "rdma/x": 1}, ("nvidia.com/gpu",), ("rdma/x",)),
        ({"nvidia.com/gpu": 0, "cpu": 4000, "kubernetes.io/batch-cpu": 4}, (), ()),
        ({"devices.kubevirt.io/kvm": 1}, (), ()),
    ],
)
def test_a_resource_of_which_no_plugin_gave_a_unit_is_untold(
    requests: dict[str, int], given: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    assert wanted(asking(requests), "c1").untold([grant(given)]) == untold


@pytest.mark.parametrize(
    ("claims", "given", "untold"),
    [
        (("gpus",), ("p1-gpus-x7k",), ()),
        (("gpus",), (), ("claims (gpus)",)),
        (("gpus", "nics"), ("p1-gpus-x7k",), ("claims (gpus, nics)",)),
        (("gpus", "nics"), ("p1-gpus-x7k", "nics"), ()),
        ((), (), ()),
    ],
)
def test_a_claim_that_kubelet_does_not_list_is_untold(
    claims: tuple[str, ...], given: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    assert wanted(asking({}, *claims), "c1").untold([grant((), given)]) == untold


def test_an_extended_resource_may_be_given_by_a_claim_that_the_spec_does_not_name() -> None:
    own = wanted(asking({"nvidia.com/gpu": 1}), "c1")
    assert own.untold([grant((), ("p1-extended-resources-9f2",))]) == ()
    both = wanted(asking({"nvidia.com/gpu": 1}, "nics"), "c1")
    assert both.untold([grant((), ("nics",))]) == ("nvidia.com/gpu",)
    assert both.untold([grant((), ("nics", "p1-extended-resources-9f2"))]) == ()


def test_nothing_is_wanted_by_a_container_that_the_spec_lacks() -> None:
    assert not wanted(asking({"nvidia.com/gpu": 1}, "gpus"), "debugger")
