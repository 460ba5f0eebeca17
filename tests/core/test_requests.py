"""What a pod needs at its greediest moment."""

from collections.abc import Mapping
from typing import Any

import pytest

from numa_agent.core.requests import Role, parse_demands


def container(name: str, cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def effective(**spec: Any) -> Mapping[str, int]:
    return parse_demands(spec).effective()


def test_app_containers_run_together() -> None:
    found = effective(containers=[container("a", "1", "1Gi"), container("b", "500m", "1Mi")])
    assert found == {"cpu": 1500, "memory": (1 << 30) + (1 << 20)}


def test_an_init_container_runs_alone_and_counts_only_where_it_is_greedier() -> None:
    found = effective(
        initContainers=[container("load", "4", "1Mi")], containers=[container("a", "1", "1Gi")]
    )
    assert found == {"cpu": 4000, "memory": 1 << 30}


def test_a_sidecar_runs_beside_the_app_and_beside_later_init_containers_only() -> None:
    # The example of Kubernetes' own documentation, with an init container before and after.
    before = container("before", "3")
    sidecar = container("proxy", "2", restartPolicy="Always")
    after = container("after", "5")
    app = container("app", "1")
    found = effective(initContainers=[before, sidecar, after], containers=[app])
    assert found["cpu"] == 7000
    assert effective(initContainers=[before, sidecar], containers=[app])["cpu"] == 3000
    assert effective(initContainers=[sidecar], containers=[app])["cpu"] == 3000


def test_a_pods_own_requests_stand_for_those_of_its_containers() -> None:
    found = effective(
        containers=[container("a", "1", "1Gi")], resources={"requests": {"cpu": "8"}}
    )
    assert found == {"cpu": 8000, "memory": 1 << 30}


def test_the_overhead_comes_on_top() -> None:
    found = effective(containers=[container("a", "1", "1Gi")], overhead={"cpu": "250m"})
    assert found == {"cpu": 1250, "memory": 1 << 30}


def test_a_limit_alone_is_a_request() -> None:
    found = effective(containers=[{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2"}}}])
    assert found == {"nvidia.com/gpu": 2}


def test_roles_are_told_apart_by_restart_policy() -> None:
    demands = parse_demands(
        {
            "initContainers": [container("i", "1"), container("s", "1", restartPolicy="Always")],
            "containers": [container("a", "1")],
        }
    )
    assert [demand.role for demand in demands.containers] == [Role.INIT, Role.SIDECAR, Role.APP]


@pytest.mark.parametrize("bad", [None, [], "x", {"containers": 7}, {"containers": [None, "x"]}])
def test_a_spec_of_another_shape_asks_for_nothing(bad: object) -> None:
    demands = parse_demands(bad if isinstance(bad, dict) else {"containers": bad})
    assert demands.effective() == {}


def test_a_quantity_that_cant_be_read_costs_itself_alone() -> None:
    assert effective(containers=[container("a", "lots", "1Gi")]) == {"memory": 1 << 30}


def test_the_memory_limit_is_that_of_the_containers_that_stay_or_the_pods_own() -> None:
    def limited(name: str, memory: str | None, **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "resources": {"limits": {"memory": memory} if memory else {}},
            **more,
        }

    init, app = limited("i", "9Gi"), limited("a", "1Gi")
    sidecar = limited("s", "1Mi", restartPolicy="Always")
    spec = {"initContainers": [init, sidecar], "containers": [app]}
    assert parse_demands(spec).memory_limit == (1 << 30) + (1 << 20)
    spec["containers"] = [app, limited("b", None)]
    assert parse_demands(spec).memory_limit is None
    whole = {**spec, "resources": {"limits": {"memory": "2Gi"}}}
    assert parse_demands(whole).memory_limit == 2 << 30


def test_what_one_container_may_have_is_its_own_and_the_pods() -> None:
    limits = {"limits": {"hugepages-2Mi": "4Mi", "example.com/fpga": "1"}}
    found = parse_demands(
        {
            "initContainers": [{"name": "load", "resources": limits}],
            "containers": [container("a", "1")],
            "resources": {"requests": {"cpu": "3"}, "limits": {"hugepages-1Gi": "1Gi"}},
        }
    )
    whole = {"cpu": 3000, "hugepages-1Gi": 1 << 30}
    assert found.of("load") == {**whole, "hugepages-2Mi": 4 << 20, "example.com/fpga": 1}
    assert found.of("a") == {**whole, "memory": 0}
    assert found.of("debugger") == whole
    assert parse_demands({}).of("a") == {}


def test_the_claims_of_a_container_are_each_named_once() -> None:
    uses = [
        {"name": "gpus", "request": "a"},
        {"name": "gpus", "request": "b"},
        {"name": "nics"},
        7,
    ]
    found = parse_demands(
        {
            "initContainers": [{"name": "before", "resources": {"claims": [{"name": "gpus"}]}}],
            "containers": [{"name": "app", "resources": {"claims": uses}}, {"name": "other"}],
        }
    )
    assert found.claims_of("app") == ("gpus", "nics", "?")
    assert found.claims_of("before") == ("gpus",)
    assert found.claims_of("other") == found.claims_of("nobody") == ()
    many = {"claims": [{"name": f"c{number}"} for number in range(10_000)]}
    assert (
        len(parse_demands({"containers": [{"name": "a", "resources": many}]}).claims_of("a")) < 100
    )
