"""Whether an object is written, and what each answer of the server makes of it."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.differences import differences
from numa_agent.core.errors import ApiError
from numa_agent.core.managed_fields import managers_in
from numa_agent.core.publishing import (
    Action,
    Applied,
    Decision,
    Outcome,
    decide,
    publish,
)

Json = dict[str, Any]

V1, V2 = "topology.node.k8s.io/v1alpha1", "topology.node.k8s.io/v1alpha2"
CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-1"}
OURS: Json = {
    "f:attributes": {},
    "f:zones": {},
    "f:metadata": {
        "f:annotations": {f"f:{CPU_TOPOLOGY}": {}},
        "f:labels": {"f:a": {}},
        "f:ownerReferences": {'k:{"uid":"u-1"}': {}},
    },
}


def manifest() -> Json:
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n",
            "labels": {"a": "1"},
            "annotations": {CPU_TOPOLOGY: "{}"},
            "ownerReferences": [dict(OWNER)],
        },
        "attributes": [{"name": "topologyManagerPolicy", "value": "none"}],
        "zones": [{"name": "node-0", "type": "Node"}],
    }


def entry(manager: str, fields: Json, operation: str = "Update") -> Json:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": V2,
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def live(*others: Json, ours: Json = OURS) -> Json:
    """The server's object after our apply, with other managers' entries beside ours."""
    stored = manifest()
    own = [entry("numa-agent", ours, "Apply")] if ours else []
    stored["metadata"] |= {"resourceVersion": "7", "uid": "x", "managedFields": [*own, *others]}
    return stored


def test_an_object_that_is_not_there_is_created() -> None:
    assert decide(manifest(), None) == Decision(action=Action.CREATE)


def test_an_object_that_holds_what_we_say_needs_nothing() -> None:
    assert decide(manifest(), live()) == Decision(action=Action.NOTHING)


def test_what_others_add_elsewhere_needs_nothing() -> None:
    stored = live(entry("kubectl", {"f:metadata": {"f:annotations": {"f:x": {}}}}))
    stored["metadata"]["annotations"]["x"] = "y"
    stored["metadata"]["ownerReferences"].append({**OWNER, "uid": "u-2", "name": "other"})
    stored["topologyPolicies"] = ["None"]
    assert decide(manifest(), stored) == Decision(action=Action.NOTHING)


def test_an_owner_that_says_more_of_itself_needs_nothing() -> None:
    stored = live()
    stored["metadata"]["ownerReferences"][0]["controller"] = True
    assert decide(manifest(), stored).action is Action.NOTHING


def change(edit: str) -> Json:
    """The stored object with one thing of ours lost or altered."""
    stored = live()
    metadata = stored["metadata"]
    match edit:
        case "zones":
            stored["zones"][0]["type"] = "Other"
        case "attributes":
            del stored["attributes"]
        case "metadata.labels.a":
            metadata["labels"] = {"a": "2"}
        case "metadata.ownerReferences":
            metadata["ownerReferences"][0]["uid"] = "u-0"
        case _:
            del metadata["annotations"]
    return stored


@pytest.mark.parametrize(
    "field",
    [
        "zones",
        "attributes",
        "metadata.labels.a",
        "metadata.ownerReferences",
        f"metadata.annotations.{CPU_TOPOLOGY}",
    ],
)
def test_a_difference_is_a_change_that_names_the_field(field: str) -> None:
    assert decide(manifest(), change(field)) == Decision(action=Action.CHANGE, differing=(field,))


def test_a_list_is_compared_whole_and_in_order() -> None:
    stored = live()
    stored["zones"].append({"name": "node-1", "type": "Node"})
    assert decide(manifest(), stored).differing == ("zones",)
    stored["zones"] = [{**stored["zones"][0], "parent": "p"}]
    assert decide(manifest(), stored).differing == ("zones",)


@pytest.mark.parametrize(
    ("wanted", "found", "equal"),
    [
        (True, 1, False),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        ("1", 1, False),
        ([True], [1], False),
        ([1], (1,), True),
        ([{"a": 1}], [{"a": 1, "b": 2}], False),
        ({}, None, True),
        ({"a": {}}, {}, True),
        ({"a": None}, {}, True),
        ([], None, False),
    ],
)
def test_values_are_compared_as_json(wanted: object, found: object, equal: bool) -> None:
    assert (list(differences({"x": wanted}, {"x": found})) == []) is equal


DROPPED = [
    ("metadata.annotations.old", {"f:metadata": {"f:annotations": {"f:old": {}}}}),
    ("metadata.labels.old", {"f:metadata": {"f:labels": {".": {}, "f:old": {}}}}),
    ("metadata.finalizers", {"f:metadata": {"f:finalizers": {'v:"x"': {}}}}),
    ("metadata.ownerReferences", {"f:metadata": {"f:ownerReferences": {'k:{"uid":"u-0"}': {}}}}),
    ("topologyPolicies", {"f:topologyPolicies": {}}),
]


@pytest.mark.parametrize(("field", "fields"), DROPPED)
def test_a_field_that_we_set_once_and_no_more_is_a_change(field: str, fields: Json) -> None:
    assert decide(manifest(), live(ours=fields)).differing == (field,)


@pytest.mark.parametrize(("_field", "fields"), DROPPED)
def test_only_an_apply_of_ours_can_drop_a_field(_field: str, fields: Json) -> None:
    by_update = entry("numa-agent", fields, "Update")
    assert decide(manifest(), live(by_update)).action is Action.NOTHING
    by_status = entry("numa-agent", fields, "Apply") | {"subresource": "status"}
    assert decide(manifest(), live(by_status)).action is Action.NOTHING


RIVAL_FIELDS = [
    ("zones", {"f:zones": {}}),
    ("zones", {"f:zones": {'k:{"name":"node-0"}': {".": {}, "f:name": {}}}}),
    ("attributes", {".": {}, "f:attributes": {}}),
    (
        f"metadata.annotations.{CPU_TOPOLOGY}",
        {"f:metadata": {"f:annotations": {".": {}, f"f:{CPU_TOPOLOGY}": {}}}},
    ),
]


@pytest.mark.parametrize("operation", ["Update", "Apply"])
@pytest.mark.parametrize(("field", "fields"), RIVAL_FIELDS)
def test_another_manager_of_our_fields_makes_us_stand_back(
    field: str, fields: Json, operation: str
) -> None:
    decision = decide(manifest(), live(entry("koordlet", fields, operation)))
    assert decision.action is Action.STAND_BACK
    (rival,) = decision.rivals
    assert (rival.manager, rival.operation) == ("koordlet", operation)
    assert rival.time == "2026-01-02T03:04:05Z"
    assert rival.fields == (field,)


@pytest.mark.parametrize("operation", ["Update", "Apply"])
@pytest.mark.parametrize(("field", "fields"), RIVAL_FIELDS)
def test_a_takeover_writes_over_it_where_something_differs(
    field: str, fields: Json, operation: str
) -> None:
    theirs = entry("koordlet", fields, operation)
    stored = change("zones")
    stored["metadata"]["managedFields"].append(theirs)
    decision = decide(manifest(), stored, takeover=True)
    assert (decision.action, decision.force) == (Action.CHANGE, True)
    assert [rival.manager for rival in decision.rivals] == ["koordlet"]
    assert decide(manifest(), live(theirs), takeover=True).action is Action.NOTHING


@pytest.mark.parametrize(
    "fields",
    [
        {"f:metadata": {"f:labels": {"f:a": {}}}},
        {"f:metadata": {"f:ownerReferences": {'k:{"uid":"u-1"}': {}}}},
        {"f:metadata": {"f:annotations": {".": {}, "f:other": {}}}},
        {"f:metadata": {"f:annotations": {}}},
        {"f:topologyPolicies": {}},
        {".": {}},
        {},
    ],
)
def test_owning_labels_owners_or_other_fields_makes_no_rival(fields: Json) -> None:
    assert decide(manifest(), live(entry("other", fields))).action is Action.NOTHING


@pytest.mark.parametrize(
    ("fields", "force"),
    [
        ({"f:metadata": {"f:labels": {"f:a": {}}}}, True),
        ({"f:metadata": {"f:ownerReferences": {'k:{"uid":"u-1"}': {}}}}, True),
        ({"f:topologyPolicies": {}}, False),
    ],
)
def test_a_change_is_forced_only_where_a_field_of_it_is_shared(fields: Json, force: bool) -> None:
    stored = change("zones")
    stored["metadata"]["managedFields"].append(entry("other", fields))
    assert decide(manifest(), stored).force is force


def test_a_companion_s_list_is_written_over() -> None:
    stored = change("zones")
    stored["metadata"]["managedFields"].append(entry("koord-manager", {"f:zones": {}}))
    decision = decide(manifest(), stored, companions={"koord-manager"})
    assert decision == Decision(action=Action.CHANGE, differing=("zones",), force=True)
    assert decide(manifest(), stored).action is Action.STAND_BACK


def test_our_own_update_is_no_rival_and_is_written_over() -> None:
    stored = change("zones")
    stored["metadata"]["managedFields"] = [entry("numa-agent", OURS, "Update")]
    decision = decide(manifest(), stored)
    assert (decision.action, decision.force) == (Action.CHANGE, True)


def test_another_name_for_ourselves_is_taken() -> None:
    stored = live(entry("me", {"f:zones": {}}), ours={})
    assert decide(manifest(), stored, manager="me").action is Action.NOTHING


def test_an_object_that_lost_its_managed_fields_is_another_s_unless_it_is_as_ours() -> None:
    assert decide(manifest(), live(ours={})).action is Action.NOTHING
    stored = change("zones")
    del stored["metadata"]["managedFields"]
    decision = decide(manifest(), stored)
    assert decision.action is Action.STAND_BACK
    assert decision.rivals[0].manager == "before-first-apply"
    assert decide(manifest(), stored, takeover=True).force
    empty = {"metadata": {"name": "n"}}
    assert decide(manifest(), empty).action is Action.CHANGE


MEMBERS = [
    *("metadata", "managedFields", "manager", "fieldsV1", "f:zones", "zones", "f:metadata"),
    *("ownerReferences", "f:ownerReferences", "k:{", "uid", "annotations", "time"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["metadata", "zones", "kind"]), JSON))
def test_a_live_object_of_any_shape_is_decided_on(stored: Json) -> None:
    assert isinstance(decide(manifest(), stored), Decision)


@given(st.dictionaries(st.text(max_size=5), JSON))
def test_what_is_stored_as_said_never_differs(value: Json) -> None:
    assert list(differences(value, deepcopy(value))) == []


@dataclass
class Server:
    """One object under the API's rules: a version that is stale is refused, equal is no write."""

    stored: Json | None = None
    fails: ApiError | None = None
    calls: list[str] = field(default_factory=list)

    def read(self, _manifest: Mapping[str, object]) -> Json | None:
        self.calls.append("read")
        return deepcopy(self.stored)

    def apply(self, manifest: Mapping[str, object], *, force: bool) -> Applied:
        self.calls.append("force" if force else "apply")
        if self.fails is not None:
            raise self.fails
        if self.stored is None:
            self.stored = live()
            return Applied(created=True, resource_version="7")
        metadata: Any = manifest["metadata"]
        if metadata["resourceVersion"] != self.stored["metadata"]["resourceVersion"]:
            raise ApiError("modified", status=409)
        self.stored["metadata"]["resourceVersion"] = "8"
        self.stored |= {key: manifest[key] for key in ("zones", "attributes") if key in manifest}
        return Applied(created=False, resource_version="8")

    def set_managers(
        self, manifest: Mapping[str, object], entries: list[Json], version: str
    ) -> Applied:
        assert self.stored is not None
        self.calls.append("managers")
        self.stored["metadata"] |= {"managedFields": entries, "resourceVersion": version + "0"}
        return Applied(created=False, resource_version=version + "0")


def test_publishing_reads_once_and_writes_once_where_needed() -> None:
    server = Server()
    assert publish(server, manifest()).outcome is Outcome.CREATED
    assert publish(server, manifest()).outcome is Outcome.UNCHANGED
    other = {**manifest(), "zones": []}
    assert publish(server, other).outcome is Outcome.CHANGED
    assert server.calls == ["read", "apply", "read", "read", "apply"]


def test_standing_back_sends_nothing_and_names_the_other() -> None:
    server = Server(stored=live(entry("node-feature-discovery", {"f:zones": {}}, "Apply")))
    published = publish(server, {**manifest(), "zones": []})
    assert published.outcome is Outcome.STOOD_BACK
    assert "node-feature-discovery (Apply) owns zones" in published.detail
    assert "2026-01-02T03:04:05Z" in published.detail
    assert published.rivals[0].label == "node-feature-discovery (Apply) owns zones"
    assert server.calls == ["read"]


def test_what_must_be_kept_of_others_is_adopted_before_deciding() -> None:
    def adopt(ours: dict[str, object], theirs: dict[str, object] | None) -> dict[str, object]:
        return ours if theirs is None else {**ours, "zones": theirs["zones"]}

    server = Server(stored=live())
    assert publish(server, {**manifest(), "zones": []}, adopt=adopt).outcome is Outcome.UNCHANGED
    assert server.calls == ["read"]


def test_a_server_that_keeps_its_own_value_is_told_of_and_not_called_changed() -> None:
    class Pruning(Server):
        def apply(self, manifest: Mapping[str, object], *, force: bool) -> Applied:
            return Applied(created=False, resource_version="7")

    published = publish(Pruning(stored=change("attributes")), manifest())
    assert published.outcome is Outcome.UNCHANGED
    assert "keeps its own value of attributes" in published.detail


def test_entries_of_an_older_version_are_said_in_ours_and_merged_by_writer() -> None:
    old = entry("koordlet", {"f:zones": {}, "f:metadata": {"f:labels": {"f:a": {}}}})
    new = entry("koordlet", {"f:attributes": {}, "f:metadata": {"f:labels": {"f:b": {}}}})
    stored = {"metadata": {"managedFields": [old | {"apiVersion": V1}, new | {"apiVersion": V2}]}}
    merged = managers_in(V2, stored)
    assert merged is not None
    labels: Json = {"f:labels": {"f:a": {}, "f:b": {}}}
    fields = {"f:zones": {}, "f:metadata": labels, "f:attributes": {}}
    assert [each["fieldsV1"] for each in merged] == [fields]
    assert [each["apiVersion"] for each in merged] == [V2]
    assert managers_in(V2, {"metadata": {"managedFields": merged}}) is None


def test_an_older_version_s_entry_is_in_the_way_of_attributes_only() -> None:
    stored = change("zones")
    stored["metadata"]["managedFields"].append(entry("other", {}) | {"apiVersion": V1})
    server = Server(stored=stored)
    assert publish(server, manifest()).outcome is Outcome.CHANGED
    assert server.calls == ["read", "managers", "apply"]
    plain, ours = change("zones"), manifest()
    plain["metadata"]["managedFields"] = [entry("other", {}) | {"apiVersion": V1}]
    del plain["attributes"], ours["attributes"]
    server = Server(stored=plain)
    assert publish(server, ours).outcome is Outcome.CHANGED
    assert server.calls == ["read", "apply"]


@pytest.mark.parametrize(
    ("status", "message", "outcome"),
    [
        (None, "refused", Outcome.UNAVAILABLE),
        (200, "no JSON", Outcome.UNAVAILABLE),
        (302, "login", Outcome.UNAVAILABLE),
        (400, "bad", Outcome.REFUSED),
        (401, "", Outcome.FORBIDDEN),
        (403, "", Outcome.FORBIDDEN),
        (404, "", Outcome.NO_CRD),
        (405, "", Outcome.NO_CRD),
        (409, "", Outcome.CONFLICT),
        (413, "", Outcome.TOO_LARGE),
        (422, "invalid", Outcome.REFUSED),
        (429, "", Outcome.THROTTLED),
        (500, "etcdserver: request is too large", Outcome.TOO_LARGE),
        (500, "trying to send message larger than max (3 vs. 2)", Outcome.TOO_LARGE),
        (500, ".x: field not declared in schema", Outcome.NO_CRD),
        (500, "", Outcome.UNAVAILABLE),
        (503, "", Outcome.UNAVAILABLE),
        (504, "", Outcome.UNAVAILABLE),
    ],
)
def test_every_failure_has_a_name(status: int | None, message: str, outcome: Outcome) -> None:
    server = Server(fails=ApiError(message, status=status, retry_after=3))
    published = publish(server, manifest())
    assert published.outcome is outcome
    assert published.detail == message
    assert published.retry_after == 3
