"""No JSON, however wrong its types, costs more than the pod that it is in."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.core.pods import parse_pods

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)


def pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "shop",
            "name": name,
            "uid": "11111111-2222-4333-8444-555555555555",
            "annotations": {"kubernetes.io/config.hash": "0123456789abcdef0123456789abcdef"},
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-03-02T08:10:00Z",
            "qosClass": "BestEffort",
            "initContainerStatuses": [{"name": "i", "containerID": "docker://" + "a" * 64}],
            "containerStatuses": [
                {"name": "c", "containerID": "docker://" + "b" * 64, "state": {"running": {}}}
            ],
        },
    }


def places(value: object) -> Iterator[tuple[str | int, ...]]:
    """The path to each value inside a document, itself included."""
    yield ()
    inner = value.items() if isinstance(value, dict) else ()
    for key, entry in inner or (enumerate(value) if isinstance(value, list) else ()):
        yield from ((key, *path) for path in places(entry))


def put(document: Any, path: tuple[str | int, ...], value: object) -> object:
    """The document with another value at a path."""
    if not path:
        return value
    changed = deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([*places(pod("bad"))]), JSON)
def test_any_value_anywhere_in_a_pod_costs_at_most_that_pod(
    path: tuple[str | int, ...], value: object
) -> None:
    answer = parse_pods({"items": [put(pod("bad"), path, value), pod("good")]})
    assert "good" in {pod.name for pod in answer.pods}
    # A container that is left alone is a problem too, and leaves its pod there.
    assert len(answer.pods) == 2 - answer.left_out
    assert answer.problems or not answer.left_out


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["items", "kind"]) | st.text(max_size=5), JSON))
def test_a_list_of_any_shape_is_read_without_an_error(document: dict[str, object]) -> None:
    answer = parse_pods(document)
    listed = document.get("items")
    expected = len(listed) if isinstance(listed, list) else 0
    assert len(answer.pods) + len(answer.problems) == expected
