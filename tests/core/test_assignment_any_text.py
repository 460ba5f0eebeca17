"""No annotation, whatever its text, raises anything but AssignmentError, or costs much."""

import json
import tracemalloc
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.assignment import Assignment, AssignmentError
from numa_agent.core.cpulist import MAX_ID
from numa_agent.core.decision import decide
from tests.core.annotations import JSON, REAL
from tests.core.test_pods_of_any_shape import places, put
from tests.machine_tree import pod

POD = pod(1)
KEYS = sorted({key for key, _ in REAL} | {"cpuset-scheduler"})
PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "-",
    "NaN",
    "1e999",
    "9" * 30,
    "all",
    "'",
    "\ud800",
]
IDS = ["0", "2-3", "65535", "65536", "0-65535", "3-2", "-1", "0,,1", "all", "0-6:2", "٣"]
LONGEST = 1000


def outcome(annotations: dict[str, str], *trust: Any) -> Assignment | AssignmentError | None:
    """What is decided, or the refusal."""
    said = {"cpuset-scheduler": "true", **annotations}
    try:
        return decide(replace(POD, annotations=said), *trust)
    except AssignmentError as error:
        return error


def check(annotations: dict[str, str]) -> None:
    """What comes out is in order: ids in their bounds, or a short message that names the key."""
    found = outcome(annotations)
    if isinstance(found, AssignmentError):
        message = str(found)
        assert len(message) < LONGEST
        assert message.isprintable()
        assert message.startswith(tuple(KEYS))
    elif found is not None:
        for each in (found.pod, *found.containers.values()):
            assert not (each.cpus and each.nodes)
            assert all(0 <= number <= MAX_ID for number in each.cpus | each.nodes | each.mems)


@settings(deadline=None, max_examples=500)
@given(st.dictionaries(st.sampled_from(KEYS), st.text() | st.from_regex(r"[\[\]{}:,\"0-9a-z -]*")))
def test_any_text_is_decided_or_refused(annotations: dict[str, str]) -> None:
    check(annotations)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str]:
    """A real annotation of which pieces are cut out, doubled or put in."""
    key, text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        end = draw(st.integers(at, min(len(text), at + 12)))
        piece = draw(st.sampled_from(["", text[at:end] * 2, *PIECES, *IDS]) | st.text(max_size=3))
        text = text[:at] + piece + text[end:]
    return key, text


@settings(deadline=None, max_examples=1000)
@given(damaged())
def test_a_damaged_annotation_is_decided_or_refused(annotation: tuple[str, str]) -> None:
    check(dict([annotation]))


@st.composite
def altered(draw: st.DrawFn) -> tuple[str, str]:
    """A real annotation with another value, of any shape, somewhere in it."""
    key, text = draw(st.sampled_from(REAL))
    document = json.loads(text)
    path = draw(st.sampled_from([*places(document)]))
    return key, json.dumps(put(deepcopy(document), path, draw(JSON | st.sampled_from(IDS))))


@settings(deadline=None, max_examples=1000)
@given(altered())
def test_an_altered_annotation_is_decided_or_refused(annotation: tuple[str, str]) -> None:
    check(dict([annotation]))


@settings(deadline=None, max_examples=300)
@given(st.lists(damaged() | altered() | st.sampled_from(REAL), min_size=2, max_size=4))
def test_several_annotations_are_decided_or_refused(several: list[tuple[str, str]]) -> None:
    check(dict(several))


@settings(deadline=None)
@given(JSON | st.lists(st.fixed_dictionaries({"manager": JSON, "fieldsV1": JSON})))
def test_managed_fields_of_any_shape_trust_nobody(managed_fields: Any) -> None:
    said = {"scheduling.koordinator.sh/resource-status": '{"cpuset": "2"}'}
    found = outcome(said, managed_fields, ("koord-scheduler",))
    assert isinstance(found, AssignmentError)
    assert found.code == "untrusted"
    assert found.args[0].isprintable()


def big(item: str, size: int = 260_000) -> str:
    return item * (size // len(item))


HUGE = {
    "brackets": big("["),
    "objects": big('{"a":'),
    "digits": big("9"),
    "a long string": '{"cpuset": "' + big("x") + '"}',
    "backslashes": '"' + big("\\\\"),
    "an open string": '{"a": "' + big('\\"'),
    "one id again and again": '{"version": 1, "cpuset": "' + big("1,") + '1"}',
    "all ids again and again": '{"version": 1, "cpuset": "' + big("0-65535,") + '1"}',
    "a long member": '{"' + big("n") + '": 1}',
    "members twice": '{"a": 1, ' + big('"a": 1, ') + '"a": 1}',
    "many members": "{" + ",".join(f'"{number}": 0' for number in range(20_000)) + "}",
    "many containers": json.dumps(
        {"version": 1, "containers": {f"c{number}": {"cpus": "0-65535"} for number in range(6000)}}
    ),
    "many small containers": json.dumps(
        {"version": 1, "containers": {f"c{number}": {"cpus": "0-50"} for number in range(5000)}}
    ),
    "many nodes": '{"numaNodeResources": [' + big('{"node": 1},') + '{"node": 1}]}',
    "many quantities": '{"numaNodeResources": [{"node": 1, "resources": {'
    + ",".join(f'"r{number}": "1E"' for number in range(15_000))
    + "}}]}",
    "many elements": '{"a": {"0": {"elems": {'
    + ",".join(f'"{number}": {{}}' for number in range(20_000))
    + "}}}}",
    "spaces": big(" "),
    "commas": "[" + big(",") + "]",
    "far too long": "{" + big(" ", 20_000_000) + "}",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("key", [key for key in KEYS if key != "cpuset-scheduler"])
@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_a_huge_annotation_costs_little_memory_and_ends(key: str, text: str) -> None:
    tracemalloc.start()
    try:
        check({key: text})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
