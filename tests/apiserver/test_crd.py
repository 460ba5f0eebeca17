"""Our copy of the NodeResourceTopology definition says what the API's own does.

https://github.com/k8stopologyawareschedwg/noderesourcetopology-api/blob/main/manifests/crd.yaml
"""

from collections.abc import Iterator
from typing import Any

import pytest

from numa_agent.cluster.api import Cluster
from numa_agent.core.publishing import Outcome, publish
from tests.apiserver.objects import Json, older, topology

ZONE = {
    "name": "string",
    "type": "string",
    "parent": "string",
    "costs": {"name": "string", "value": "integer"},
    "attributes": {"name": "string", "value": "string"},
    "resources": {
        "name": "string",
        "capacity": "quantity",
        "allocatable": "quantity",
        "available": "quantity",
    },
}


def shape(schema: Json) -> Any:
    """The names and types of a schema without its words."""
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    if schema["type"] == "array":
        return shape(schema["items"])
    if "properties" in schema:
        return {name: shape(each) for name, each in schema["properties"].items()}
    return schema["type"]


def versions(crd: Json) -> dict[str, Json]:
    return {each["name"]: each for each in crd["spec"]["versions"]}


def schemas(crd: Json) -> Iterator[Json]:
    """Every schema in the definition, the inner ones as well."""
    pending = [each["schema"]["openAPIV3Schema"] for each in crd["spec"]["versions"]]
    while pending:
        schema = pending.pop()
        yield schema
        pending += schema.get("properties", {}).values()
        pending += [schema["items"]] if "items" in schema else []


def test_its_names_are_the_api_s(crd: Json) -> None:
    spec = crd["spec"]
    assert crd["metadata"]["name"] == "noderesourcetopologies.topology.node.k8s.io"
    assert (spec["group"], spec["scope"]) == ("topology.node.k8s.io", "Cluster")
    assert spec["names"] == {
        "kind": "NodeResourceTopology",
        "listKind": "NodeResourceTopologyList",
        "plural": "noderesourcetopologies",
        "singular": "noderesourcetopology",
        "shortNames": ["node-res-topo"],
    }
    approval = crd["metadata"]["annotations"]["api-approved.kubernetes.io"]
    assert approval == "https://github.com/kubernetes/enhancements/pull/1870"


def test_it_serves_two_versions_and_stores_the_newer(crd: Json) -> None:
    flags = {name: (v["served"], v["storage"]) for name, v in versions(crd).items()}
    assert flags == {"v1alpha1": (True, False), "v1alpha2": (True, True)}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    for version in versions(crd).values():
        assert set(version) == {"name", "served", "storage", "schema"}


def test_the_versions_differ_in_attributes_and_in_what_is_required(crd: Json) -> None:
    old, new = (versions(crd)[name]["schema"]["openAPIV3Schema"] for name in sorted(versions(crd)))
    common = {"apiVersion": "string", "kind": "string", "metadata": "object"}
    rest = {"topologyPolicies": "string", "zones": ZONE}
    assert shape(old) == common | rest
    assert shape(new) == common | rest | {"attributes": {"name": "string", "value": "string"}}
    assert set(old["required"]) == {"topologyPolicies", "zones"}
    assert new["required"] == ["zones"]


def test_every_list_is_atomic_and_every_entry_names_what_it_needs(crd: Json) -> None:
    for schema in schemas(crd):
        assert "x-kubernetes-list-type" not in schema
        assert "default" not in schema
    zone = versions(crd)["v1alpha2"]["schema"]["openAPIV3Schema"]["properties"]["zones"]["items"]
    assert zone["required"] == ["name", "type"]
    assert zone["properties"]["costs"]["items"]["required"] == ["name", "value"]
    assert zone["properties"]["attributes"]["items"]["required"] == ["name", "value"]
    needed = ["name", "capacity", "allocatable", "available"]
    assert zone["properties"]["resources"]["items"]["required"] == needed


@pytest.mark.apiserver
def test_policies_are_required_in_the_older_version_only(cluster: Cluster) -> None:
    without = older("no-policies")
    del without["topologyPolicies"]
    published = publish(cluster, without)
    assert published.outcome is Outcome.REFUSED
    assert "topologyPolicies: Required value" in published.detail
    assert publish(cluster, topology("no-policies")).outcome is Outcome.CREATED


@pytest.mark.apiserver
@pytest.mark.parametrize("part", ["name", "type", "resources.0.capacity", "costs.0.value"])
def test_a_zone_that_lacks_a_part_is_refused(part: str, cluster: Cluster) -> None:
    manifest = topology("lacking")
    holder: Any = manifest["zones"][0]
    *path, last = part.split(".")
    for step in path:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    del holder[last]
    published = publish(cluster, manifest)
    assert published.outcome is Outcome.REFUSED
    assert f"{last}: Required value" in published.detail


@pytest.mark.apiserver
def test_a_node_may_have_no_zones(cluster: Cluster) -> None:
    manifest = topology("empty") | {"zones": []}
    assert publish(cluster, manifest).outcome is Outcome.CREATED
    assert publish(cluster, manifest).outcome is Outcome.UNCHANGED


@pytest.mark.apiserver
def test_a_definition_that_lacks_a_field_is_called_so(cluster: Cluster) -> None:
    published = publish(cluster, topology("unknown") | {"unknown": 1})
    assert published.outcome is Outcome.NO_CRD
    assert "unknown: field not declared in schema" in published.detail
    assert "manifests/crd/" in published.detail
