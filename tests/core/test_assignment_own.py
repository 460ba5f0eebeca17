"""Our own annotation: what it decides, and that its parser and its JSON Schema agree."""

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from numa_agent.core.assignment import Assignment, AssignmentError, Placement
from numa_agent.core.own_assignment import ASSIGNMENT, assignment
from tests.core.annotations import JSON
from tests.machine_tree import cpus
from tests.recorded import ROOT

SCHEMA = json.loads((ROOT / "docs" / "assignment.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PAGE = (ROOT / "docs" / "assignment.md").read_text()
EXAMPLES = re.findall(r"^    numa-agent\.io/assignment: \|\n((?: {6}.*\n)+)", PAGE, re.MULTILINE)

SCHEMA_CANNOT_SAY = re.compile(r"ends before it starts|is beyond 65535|ids are named")


def said(**members: object) -> Assignment | None:
    return assignment({ASSIGNMENT: json.dumps({"version": 1, **members})})


def refusal(value: str) -> str:
    with pytest.raises(AssignmentError) as caught:
        assignment({ASSIGNMENT: value})
    shown = f"{ASSIGNMENT} {value!r}: "
    assert str(caught.value).startswith(shown)
    return str(caught.value).removeprefix(shown)


def test_without_the_annotation_there_is_no_assignment() -> None:
    assert assignment({"numa-agent.io/other": "{"}) is None


def test_what_the_pod_decides_is_every_container_s() -> None:
    found = said(cpus="2-5", mems="0")
    place = Placement(cpus=cpus("2-5"), mems=frozenset({0}))
    assert found == Assignment(source=ASSIGNMENT, pod=place)
    assert found.of("app") == found.of("injected") == place


def test_a_container_keeps_of_the_pod_s_what_it_does_not_decide_itself() -> None:
    found = said(
        cpus="2-5",
        mems="0",
        containers={"app": {"cpus": "8-9"}, "log": {"nodes": "1"}, "db": {"mems": "1,3"}},
    )
    assert found is not None
    assert found.of("app") == Placement(cpus=cpus("8-9"), mems=frozenset({0}))
    assert found.of("log") == Placement(nodes=frozenset({1}), mems=frozenset({0}))
    assert found.of("db") == Placement(cpus=cpus("2-5"), mems=frozenset({1, 3}))
    assert found.cpus == cpus("2-5,8-9")


def test_only_the_containers_named_are_bound_where_the_pod_decides_nothing() -> None:
    found = said(containers={"app": {"cpus": "0"}})
    assert found is not None
    assert found.of("log") == Placement()
    assert found.cpus == {0}


def test_a_pod_can_share_the_cpus_of_nodes_or_be_given_memory_alone() -> None:
    shares, remembers = said(nodes="0-1"), said(mems="1")
    assert shares is not None
    assert remembers is not None
    assert (shares.pod, shares.cpus) == (Placement(nodes=frozenset({0, 1})), frozenset())
    assert (remembers.pod, remembers.binds_cpus) == (Placement(mems=frozenset({1})), False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"cpus": "2"}', 'it has no version: it must have "version": 1'),
        ('{"version": 2, "cpus": "2"}', "version: 2 isn't known: known is 1"),
        ('{"version": "1", "cpus": "2"}', "version: '1' isn't known: known is 1"),
        ('{"version": true, "cpus": "2"}', "version: true isn't known: known is 1"),
        (
            '{"version": 1}',
            "it decides nothing: it has none of cpus, nodes, mems, containers",
        ),
        (
            '{"version": 1, "cpus": "2", "nodes": "0"}',
            "cpus are its own and nodes are to share: it can have one of them only",
        ),
        (
            '{"version": 1, "cpu": "2"}',
            "cpu: this member isn't known; did you mean 'cpus'?",
        ),
        (
            '{"version": 1, "CPUS": "2"}',
            "CPUS: this member isn't known; did you mean 'cpus'?",
        ),
        (
            '{"version": 1, "quota": "2"}',
            "quota: this member isn't known; known are version, cpus, nodes, mems, containers",
        ),
        ('{"version": 1, "cpus": ""}', "cpus: an empty list says nothing: leave the member out"),
        ('{"version": 1, "cpus": 2}', "cpus: 2 isn't a string (in quotes)"),
        ('{"version": 1, "mems": [0]}', "mems: an array isn't a string (in quotes)"),
        (
            '{"version": 1, "mems": "0, 1"}',
            "mems: character 3 of '0, 1': ' 1' isn't a number or a range such as 0-3",
        ),
        (
            '{"version": 1, "containers": {}}',
            "containers: it names no container: leave the member out",
        ),
        ('{"version": 1, "containers": []}', "containers: an array isn't an object"),
        ('{"version": 1, "containers": {"app": "2"}}', "containers.app: '2' isn't an object"),
        (
            '{"version": 1, "containers": {"app": {}}}',
            "containers.app: it decides nothing: it has none of cpus, nodes, mems",
        ),
        (
            '{"version": 1, "containers": {"app": {"memes": "0"}}}',
            "containers.app.memes: this member isn't known; did you mean 'mems'?",
        ),
        (
            '{"version": 1, "containers": {"app": {"cpus": "3-2"}}}',
            "containers.app.cpus: character 1 of '3-2': '3-2' ends before it starts",
        ),
        (
            '{"version": 1, "containers": {"../app": {"cpus": "2"}}}',
            "containers['../app']: no container can have this name",
        ),
        (
            '{"version": 1, "cpus": "2", "cpus": "3"}',
            "member 'cpus' is given more than once",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(value: str, message: str) -> None:
    assert refusal(value) == message


def test_all_lists_of_an_annotation_together_have_a_limit() -> None:
    many = {f"c{number}": {"cpus": "0-65535"} for number in range(5)}
    value = json.dumps({"version": 1, "containers": many})
    with pytest.raises(AssignmentError, match=r"containers\.c4\.cpus: .* 262144 ids are named"):
        assignment({ASSIGNMENT: value})


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_documented_examples_fit_the_parser_and_the_schema(text: str) -> None:
    assert assignment({ASSIGNMENT: text}) is not None
    VALIDATOR.validate(json.loads(text))


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) >= 3


LISTS = st.sampled_from(
    ["0", "2-3", "0,2-4", "07", "", "3-2", "all", "0-6:2", "-1", " 1", "99999"]
)
MEMBERS: dict[str, st.SearchStrategy[Any]] = dict.fromkeys(
    ("cpus", "nodes", "mems", "cpu"), LISTS | JSON
)
PLACES = st.fixed_dictionaries({}, optional=MEMBERS)
NAMES = st.sampled_from(["app", "a", "-a", "A", "a.b", "", "x" * 63, "x" * 64])
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from([1, 1.0, True, 2, "1", None]),
        **MEMBERS,
        "containers": st.dictionaries(NAMES, PLACES | JSON, max_size=3) | JSON,
    },
)


@settings(deadline=None, max_examples=500)
@given(DOCUMENTS | st.builds(lambda place: {"version": 1, **place}, PLACES) | JSON)
@example({"version": 1.0, "cpus": "1"})
@example({"version": 1, "containers": {"app": {"cpus": "1", "mems": "1"}}})
def test_the_schema_and_the_parser_take_the_same_documents(document: object) -> None:
    text = json.dumps(document)
    valid = VALIDATOR.is_valid(json.loads(text))
    refused = refused_for(text)
    assert valid if refused is None else not valid or SCHEMA_CANNOT_SAY.search(refused)


def refused_for(text: str) -> str | None:
    """Why the parser refuses a text, None where it takes it."""
    try:
        assert assignment({ASSIGNMENT: text}) is not None
    except AssignmentError as error:
        return str(error)
    return None
