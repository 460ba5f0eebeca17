"""A list's items come out of its text one by one, however it is cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.list_items import ListItems

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('ab"\\{}[],: items', max_size=6), inner, max_size=3)
    ),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text('ab"\\{}[]:items', max_size=6), VALUES, max_size=4)
TEXTS = st.sampled_from(
    ['"', "\\", "\\\\", '\\"', "}", "{", "]", "[", '"items":[', "\u2028", "é", "😀"]
)


def cut(text: bytes, size: int, most: int = 1 << 20) -> tuple[list[bytes | None], bytes]:
    items = ListItems(most)
    found = [
        item
        for start in range(0, len(text), size)
        for item in items.feed(text[start : start + size])
    ]
    return found, bytes(items.frame)


@given(
    st.lists(OBJECTS | st.dictionaries(TEXTS, TEXTS), max_size=5),
    OBJECTS,
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_items_and_frame_are_those_of_the_whole_text(
    items: list[Any], metadata: Any, size: int, ascii_only: bool, indent: int | None
) -> None:
    document = {"kind": "PodList", "metadata": metadata, "items": items, "after": [metadata]}
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode(errors="replace")
    whole = json.loads(text)
    found, frame = cut(text, size)
    assert [json.loads(item or b"") for item in found] == whole["items"]
    assert json.loads(frame) == whole | {"items": []}


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_are_a_frame_or_a_mistake(data: bytes, size: int) -> None:
    try:
        found, frame = cut(data, size)
    except ValueError:
        return
    assert sum(len(item or b"") for item in found) + len(frame) <= len(data)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_item_that_is_too_long_is_none_and_the_others_come(size: int) -> None:
    long = {"a": "x" * 500}
    text = json.dumps({"items": [{"b": 1}, long, {"c": 2}]}).encode()
    found, frame = cut(text, size, 100)
    assert found == [b'{"b": 1}', None, b'{"c": 2}']
    assert json.loads(frame) == {"items": []}


@pytest.mark.parametrize("items", ["[1]", '["a"]', "[[]]", "[null]", "[{}, 3]", "[{} x]"])
def test_items_that_are_no_objects_are_a_mistake(items: str) -> None:
    with pytest.raises(ValueError, match="an item of the list is no object"):
        cut(f'{{"items": {items}}}'.encode(), 3)


def test_a_frame_is_bounded() -> None:
    with pytest.raises(ValueError, match="more than 65536 bytes beside its items"):
        cut(b'{"kind": "' + b"x" * 100_000, 1000)


def test_items_of_another_depth_are_none_of_the_lists() -> None:
    text = b'{"metadata": {"items": [{"a": 1}]}, "other": [{"items": [{}]}], "items": [{"b": 2}]}'
    found, frame = cut(text, 5)
    assert found == [b'{"b": 2}']
    assert json.loads(frame)["metadata"] == {"items": [{"a": 1}]}
