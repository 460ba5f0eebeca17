"""What is decided by an annotation is decided by what stands for it, and refused for the same."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core import pod_keys
from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.decision import decide
from numa_agent.core.pods import Pod, parse_pod
from numa_agent.core.recording import answers
from numa_agent.core.recording.annotations import LABELS_OF_PODS, OF_PODS
from numa_agent.core.recording.languages import decided
from numa_agent.core.recording.pseudonyms import Kind, Names
from tests.core.annotations import JSON, REAL

CONTAINERS = ("app", "nginx", "a", "b")
KEYS = sorted({key for key, _ in REAL} | {"cpuset-scheduler"})


def pod(annotations: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "shop",
            "name": "till",
            "uid": "11111111-2222-4333-8444-555555555555",
            "annotations": {"cpuset-scheduler": "true", **annotations},
            "managedFields": [
                {
                    "manager": "acme-operator",
                    "fieldsV1": {"f:metadata": {"f:annotations": {f"f:{key}": {}}}},
                }
                for key in annotations
            ],
        },
        "spec": {"containers": [{"name": name} for name in CONTAINERS]},
        "status": {"phase": "Running", "qosClass": "Guaranteed", "containerStatuses": []},
    }


def hidden(item: dict[str, Any]) -> tuple[dict[str, Any], Names]:
    names = Names(b"key")
    answers.pods({"items": [item]}, names)
    names.settle()
    listed: Any = answers.pods({"items": [item]}, names)["items"]
    return listed[0], names


def parsed(item: dict[str, Any]) -> Pod:
    found = parse_pod(item).pod
    assert found is not None
    return found


def outcome(item: Pod, trusted: tuple[str, ...] = ()) -> Assignment | str | None:
    try:
        return decide(item, item.managed_fields, trusted)
    except AssignmentError as error:
        return error.code


def mapped_back(said: Assignment | str | None, names: Names) -> Assignment | str | None:
    if not isinstance(said, Assignment):
        return said
    containers = {names.originals[name]: value for name, value in said.containers.items()}
    return Assignment(source=said.source, pod=said.pod, containers=containers)


def assert_same(annotations: dict[str, str]) -> Assignment | str | None:
    item = pod(annotations)
    reduced, names = hidden(item)
    found = mapped_back(outcome(parsed(reduced)), names)
    assert found == outcome(parsed(item))
    return found


@pytest.mark.parametrize(("key", "text"), REAL)
def test_what_schedulers_write_decides_the_same(key: str, text: str) -> None:
    assert not isinstance(assert_same({key: text}), str)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"version": 1, "cpus": "2", "color": "red"}', "malformed"),
        ('{"version": 1, "Cpus": "2"}', "malformed"),
        ('{"version": 1, "cpus": "2", "cpus": "3"}', "malformed"),
        ('{"version": 2, "cpus": "2"}', "malformed"),
        ('{"version": 1, "cpus": "two"}', "malformed"),
        ('{"version": 1, "cpus": "9-1"}', "malformed"),
        ('{"version": 1, "containers": {"App": {"cpus": "2"}}}', "malformed"),
        ('{"version": 1, "containers": {"apq": {"cpus": "2"}}}', "unknown-container"),
        ('{"version": 1, "cpus": 3}', "malformed"),
        ('{"version": 1, "cpus": "2",}', "malformed"),
        ("{'version': 1}", "malformed"),
        ("", "malformed"),
        ("null", "malformed"),
        ('{"version": 12345678901234567890, "cpus": "2"}', "malformed"),
        ('{"version": 1, "cpus": "\\u0032"}', None),
        ("[" * 70 + "]" * 70, "malformed"),
        ("[" * 5000, "malformed"),
    ],
)
def test_what_is_refused_is_refused_with_the_same_code(text: str, code: str | None) -> None:
    found = assert_same({"numa-agent.io/assignment": text})
    assert (found if isinstance(found, str) else None) == code


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(KEYS), st.text(max_size=40))
def test_any_text_decides_or_is_refused_the_same(key: str, text: str) -> None:
    assert_same({key: text})


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, str]:
    """A real text with a bit of it changed."""
    key, text = draw(st.sampled_from(REAL))
    at = draw(st.integers(0, len(text)))
    length = draw(st.integers(0, 4))
    return key, text[:at] + draw(st.text(max_size=4)) + text[at + length :]


@settings(deadline=None, max_examples=600)
@given(broken())
def test_a_damaged_text_decides_or_is_refused_the_same(said: tuple[str, str]) -> None:
    assert_same(dict([said]))


@settings(deadline=None, max_examples=300)
@given(JSON)
def test_any_json_keeps_its_build(document: object) -> None:
    text = json.dumps(document)
    names = Names(b"key")
    decided(names, text)
    names.settle()
    assert build(json.loads(decided(names, text))) == build(document)


def build(value: object) -> object:
    if isinstance(value, dict):
        return [build(each) for each in value.values()]
    if isinstance(value, list):
        return [build(each) for each in value]
    return type(value) if not isinstance(value, float) else int


def test_the_keys_are_those_that_are_read_of_a_pod() -> None:
    assert set(OF_PODS) == set(pod_keys.ANNOTATIONS)
    assert set(LABELS_OF_PODS) == set(pod_keys.LABELS)


def test_who_wrote_an_annotation_is_told_under_a_pseudonym() -> None:
    item = pod({"numa-agent.io/assignment": '{"version": 1, "cpus": "2"}'})
    reduced, names = hidden(item)
    assert outcome(parsed(item), ("acme-operator",)) == outcome(
        parsed(reduced), (names.of(Kind.MANAGER, "acme-operator"),)
    )
    assert outcome(parsed(reduced), ("somebody",)) == "untrusted"


def test_names_kept_keep_the_text() -> None:
    names = Names(b"", keep=True)
    assert decided(names, '{"acme" :1 }') == '{"acme" :1 }'


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "cpus": "0-3", "pin": "8675309"}',
        '{"cpuset": "0-3", "note": {"cpus": "8675309", "x": {"cpu": "8675309"}}}',
        '{"note": ["8675309", 8675309, "8675309Mi", "1,8675,309", "8675309%"]}',
        '{"version": 1, "containers": {"a": {"cpus": "1", "pin": "8675309"}}}',
    ],
)
def test_numbers_of_members_that_nobody_reads_are_hidden(text: str) -> None:
    names = Names(b"key")
    decided(names, text)
    names.settle()
    shown = decided(names, text)
    # An object in another at the top is a container's, and its CPUs are read.
    left = shown.replace('"cpus": "8675309"', "")
    assert "8675309" not in left.replace(",", "")
    json.loads(shown)
