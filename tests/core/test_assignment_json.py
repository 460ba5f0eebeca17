"""Strict JSON: what is refused, and the place that the message names."""

import pytest

from numa_agent.core.quoting import excerpt, nearest
from numa_agent.core.strict_json import (
    MAX_DEPTH,
    MAX_LENGTH,
    JsonError,
    Value,
    parse,
)


def fault(text: str) -> str:
    with pytest.raises(JsonError) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"cpuset": "2-3",}', "line 1, column 17: a comma before }"),
        ('{"a": [1, 2 ,\n ]}', "line 1, column 13: a comma before ]"),
        ('{\n  "a": 1,\n  "b": 2,\n}\n', "line 3, column 9: a comma before }"),
        ("[[1,]]", "line 1, column 4: a comma before ]"),
        ("{,}", "line 1, column 2: a comma before }"),
    ],
)
def test_a_trailing_comma_is_named_with_its_place(text: str, where: str) -> None:
    assert fault(text) == f"{where}, where JSON allows none: remove it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("{'a': 1}", "line 1, column 2: JSON needs double quotes, not single ones"),
        ('{"a": 1} x', "line 1, column 10: Extra data"),
        ('{"a"\n1}', "line 2, column 1: Expecting ':' delimiter"),
        ('{"a": {"b": NaN}}', "a.b: NaN isn't JSON"),
        ('{"a": [0, -Infinity]}', "a[1]: -Infinity isn't JSON"),
        ("[1e999]", "[0]: number 1e999 is too large"),
        ('{"a b": 1234567890123456789}', "['a b']: number 1234567890123456789 is too large"),
        ('{"a": {"x": 1, "y": 2, "x": 3}}', "a: member 'x' is given more than once"),
        ('{"x": 1, "x": 1}', "member 'x' is given more than once"),
    ],
)
def test_what_is_not_strict_json_is_refused_at_its_place(text: str, message: str) -> None:
    assert fault(text) == message


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"]": '])
def test_nesting_has_a_limit(opening: str) -> None:
    closing = "".join({"[": "]", "{": "}"}[char] for char in reversed(opening) if char in "[{")
    deepest = MAX_DEPTH // len(closing)
    parse(opening * deepest + "0" + closing * deepest)
    assert f"more than {MAX_DEPTH} objects or arrays inside each other" in fault(
        opening * (deepest + 1) + "0" + closing * (deepest + 1)
    )


def test_brackets_in_strings_are_no_nesting() -> None:
    assert parse('["' + '[{\\"' * 1000 + '"]').content == ['[{"' * 1000]


def test_a_text_longer_than_anybody_needs_is_refused() -> None:
    parse('"' + "x" * (MAX_LENGTH - 2) + '"')
    said = fault('"' + "x" * (MAX_LENGTH - 1) + '"')
    assert said == f"it is longer than {MAX_LENGTH} characters"


def test_values_are_read_as_their_types() -> None:
    value = parse('{"a": [1, "x", {"b": null}]}')
    entries = value.member("a")
    assert entries is not None
    number, word, inner = entries.items()
    assert (number.whole(), word.text(), value.member("c")) == (1, "x", None)
    assert list(inner.entries()) == [("b", Value(None, ("a", 2, "b")))]


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("[]", "entries", "an array isn't an object"),
        ("{}", "items", "an object isn't an array"),
        ("null", "text", "null isn't a string (in quotes)"),
        ("true", "whole", "true isn't a whole number"),
        ("1.0", "whole", "1.0 isn't a whole number"),
        ('"' + "x" * 500 + '"', "whole", "'" + "x" * 56 + "... isn't a whole number"),
    ],
)
def test_a_value_of_another_type_is_refused(text: str, read: str, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        list(getattr(parse(text), read)())
    assert str(caught.value) == message


def test_a_member_with_other_capitals_is_refused_since_go_would_take_it() -> None:
    with pytest.raises(JsonError, match=r"^CPUSet: this member is written 'cpuset'$"):
        parse('{"CPUSet": "2-3"}').member("cpuset")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("cpu", "cpus"),
        ("CPUS", "cpus"),
        ("memss", "mems"),
        ("", None),
        ("zzz", None),
        ("cpus" * 50_000, None),
    ],
)
def test_the_nearest_known_word_is_suggested(word: str, found: str | None) -> None:
    assert nearest(word, ("cpus", "mems", "nodes")) == found


def test_an_excerpt_shows_the_place_and_never_the_whole_of_a_long_text() -> None:
    text = "a" * 5000 + "FAULT" + "b" * 5000
    around = excerpt(text, 5000)
    assert "FAULT" in around
    assert around.startswith("...'aaa")
    assert around.endswith("bbb'...")
    assert len(around) < 220
    assert excerpt(text, None) == "'" + "a" * 200 + "'..."
    assert excerpt("short", 3) == "'short'"
    assert len(excerpt("\U0010ffff" * 300, None)) < 220


def test_a_long_path_is_cut_at_its_start() -> None:
    name = "n" * 60
    text = f'{{"{name}": {{"{name}": {{"{name}": {{"last": NaN}}}}}}}}'
    message = fault(text)
    assert message.startswith("...")
    assert message.endswith(".last: NaN isn't JSON")
    assert len(message) < 150
