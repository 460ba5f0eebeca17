"""Files that aren't what they should be: each is named with the line and column, none hurts."""

import os
import re
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.config import ConfigError, load, read_overrides
from numa_agent.config.document import MAX_BYTES, MAX_DEPTH, read_entries
from numa_agent.config.settings import KEYS
from tests.config.files import mistakes_of, written


@pytest.mark.parametrize(
    "content", ["", "\n", "# nothing set\n", "---\n", "{}", "~", "---\n...\n", "\ufeff", "null"]
)
def test_an_empty_file_sets_nothing(content: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, content), {}, {}) == load(None, {}, {})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: [", "1:5: isn't YAML: .*expected the node content"),
        ("a: b: c", "1:5: isn't YAML: mapping values are not allowed here"),
        ("nodeName: a\n  b: c\n", "2:4: isn't YAML: mapping values are not allowed"),
        ("%", "1:2: isn't YAML: .*alphabetic or numeric"),
        ("hostRoot: *b", "1:11: isn't YAML: found undefined alias 'b'"),
        ("a: &x 1\nb: &x 2\n", "2:4: isn't YAML: .*duplicate anchor"),
        ("mems: off\n---\nmems: off\n", "2:1: isn't YAML: .*one document, without a second ---"),
        ("hostRoot: /\n\tmems: off\n", "2:1: isn't YAML: .*with spaces, not with tabs"),
        ("trustedManagers:\n\t- a\n", "2:1: isn't YAML: .*with spaces, not with tabs"),
        ("mems: off\nnodeName: a\0b\n", r"2:12: isn't YAML: the character '\\x00' isn't allowed"),
        ("\x1b", r"1:1: isn't YAML: the character '\\x1b'"),
        ('nodeName: "\\q"', "1:13: isn't YAML: .*unknown escape character"),
        ('nodeName: "\\UFFFFFFFF"', "1:14: isn't YAML: an escape of a character"),
        ('nodeName: "\\U00110000"', "1:14: isn't YAML: an escape of a character"),
        ("nodeName: 'a", "1:13: isn't YAML: .*unexpected end"),
        ("@a", "1:1: isn't YAML: "),
        ("nodeName: !<x", "1:14: isn't YAML: "),
        ("%YAML 3.0\n---\n", "1:1: isn't YAML: .*incompatible"),
    ],
)
def test_what_isn_t_yaml_is_named_with_its_place(content: str, said: str, tmp_path: Path) -> None:
    (mistake,) = mistakes_of(written(tmp_path, content))
    assert re.match(said, mistake, re.DOTALL), mistake


@pytest.mark.parametrize("content", ["text", "- hostRoot", "7", "!!python/none x", "[hostRoot]"])
def test_a_file_without_keys_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"# a note\n{content}")
    assert mistakes_of(path) == ["2:1: expected keys and values, such as hostRoot: /host"]


def test_a_file_that_can_t_be_read_is_named(tmp_path: Path) -> None:
    assert mistakes_of(tmp_path / "none") == [" can't be read: No such file or directory"]
    assert mistakes_of(tmp_path) == [" can't be read: Is a directory"]
    (tmp_path / "loop").symlink_to("loop")
    assert mistakes_of(tmp_path / "loop") == [" can't be read: Too many levels of symbolic links"]
    written(tmp_path, "")
    assert mistakes_of(tmp_path / "config.yaml" / "x") == [" can't be read: Not a directory"]
    with pytest.raises(ConfigError, match=r"can't be read: .*null byte"):
        load("/a\0b", {}, {})
    with pytest.raises(ConfigError, match=r"can't be read: .*too long"):
        load("/" + "a" * 300, {}, {})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\xfd", "1:1: isn't UTF-8: byte 0xff"),
        (b"mems: off\nnodeName: caf\xe9\n", "2:14: isn't UTF-8: byte 0xe9"),
        ("nodeName: é".encode() + b"\xe9", "1:12: isn't UTF-8: byte 0xe9"),
        ("mems: off".encode("utf-16"), "1:1: isn't UTF-8: byte 0xff"),
    ],
)
def test_bytes_that_are_no_text_are_named(content: bytes, said: str, tmp_path: Path) -> None:
    assert mistakes_of(written(tmp_path, content)) == [said]


def test_a_huge_file_is_refused_and_read_no_further(tmp_path: Path) -> None:
    path = written(tmp_path, "#" * MAX_BYTES)
    assert load(path, {}, {}) == load(None, {}, {})
    assert mistakes_of(written(tmp_path, "#" * (MAX_BYTES + 1))) == [" is larger than 64 KiB"]
    endless = Path(os.devnull).with_name("zero")
    assert mistakes_of(endless) == [" is larger than 64 KiB"]


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? ", "&a [", "!!x ["])
def test_a_file_that_nests_deep_is_refused_where_it_does(opened: str, tmp_path: Path) -> None:
    (mistake,) = mistakes_of(written(tmp_path, opened * 5000))
    deep = f"isn't YAML: lists and mappings are more than {MAX_DEPTH} deep in each other"
    assert re.fullmatch(rf"\d+:\d+: ({re.escape(deep)}|isn't YAML: .*)", mistake, re.DOTALL)


def test_what_is_as_deep_as_allowed_is_a_wrong_value_and_no_more(tmp_path: Path) -> None:
    nested = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert mistakes_of(written(tmp_path, f"nodeName: {nested}")) == [
        f"1:11: nodeName must be text, not {nested}"
    ]
    (said,) = mistakes_of(written(tmp_path, f"nodeName: [{nested}]"))
    assert "more than 16 deep" in said


def test_an_alias_stands_for_what_it_names(tmp_path: Path) -> None:
    path = written(tmp_path, "hostRoot: &root /host\nliveRoot: *root\n")
    assert load(path, {}, {}).live_root == Path("/host")
    path = written(tmp_path, "kubeconfig: &x [a, b]\nnodeName: *x\ntrustedManagers: *x\n")
    assert mistakes_of(path) == [
        "1:13: kubeconfig must be a path, not &x [a, b]",
        "1:13: nodeName must be text, not &x [a, b]",
    ]


def test_a_merge_key_is_no_setting(tmp_path: Path) -> None:
    (said,) = mistakes_of(written(tmp_path, "<<: {hostRoot: /x}\n"))
    assert said.startswith("1:1: unknown key <<")


def test_aliases_that_multiply_cost_little(tmp_path: Path) -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 50)}]\n" for n in range(1, 9))
    bomb = f"a0: &a0 {'x' * 1000}\n{levels}trustedManagers: [*a8, *a8]\n"
    started = time.process_time()
    for content in (bomb, "trustedManagers: &a [*a]\n", "a: &a {a: *a}\n"):
        assert mistakes_of(written(tmp_path, content))
        read_overrides(written(tmp_path, content))
    assert time.process_time() - started < 5


def test_a_long_value_that_is_repeated_is_held_once(tmp_path: Path) -> None:
    aliases = "".join(f"b{n}: *a\n" for n in range(1500))
    path = written(tmp_path, f"a: &a [{'x' * 40_000}]\n{aliases}")
    tracemalloc.start()
    try:
        assert len(mistakes_of(path)) == 51
        assert len(read_overrides(path).problems) == 1501
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_file_of_something_else_gives_no_endless_list(tmp_path: Path) -> None:
    started = time.process_time()
    mistakes = mistakes_of(written(tmp_path, "".join(f"k{n}: 1\n" for n in range(6000))))
    assert len(mistakes) == 51
    assert mistakes[-1] == "51:1: and so on: the first 50 mistakes are listed"
    assert time.process_time() - started < 10


def test_a_long_value_is_shown_short(tmp_path: Path) -> None:
    long = "x" * 5000
    for content in (
        f"nvml: {long}",
        f"nodeName: [{long}]",
        f"{long}: 1",
        f'nodeName: "a\0{long}"',
    ):
        (said,) = mistakes_of(written(tmp_path, content))
        assert len(said) < 300
    for flags in ({"nvml": long}, {"nodeName": f"a\0{long}"}, {"hostRoot": f"\ud800{long}"}):
        (said,) = mistakes_of(None, dict(flags))
        assert len(said) < 300


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_a_config_error(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.getbasetemp(), content)
    try:
        load(path, {}, {})
    except ConfigError as error:
        mistakes = error.mistakes
    else:
        return
    assert mistakes


PIECES = st.sampled_from(
    [
        *KEYS,
        *(": ", "\n", "- ", "[", "]", "{", "}", ", ", "'", '"', "&a ", "*a", "!!str ", "|", ">"),
        *("#", "---\n", "~", " ", "\t", "? ", "\\u0000", "\\Uffffffff", "on", "/a", "7", "true"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(PIECES, max_size=20))
def test_any_yaml_is_a_configuration_or_mistakes_that_name_the_place(
    pieces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.getbasetemp(), "".join(pieces))
    try:
        load(path, {}, {})
    except ConfigError as error:
        mistakes = error.mistakes
    else:
        return
    assert [each for each in mistakes if not _placed(each, path)] == []


def _placed(mistake: str, path: Path) -> bool:
    lines = path.read_text(encoding="utf-8").count("\n") + 1
    found = re.match(rf"{re.escape(str(path))}:(\d+):(\d+): ", mistake)
    return found is not None and 1 <= int(found[1]) <= lines + 1 and int(found[2]) >= 1


def test_entries_say_where_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, "# note\r\na: b\r\nc:\r\n  - d\r\n")
    found = [
        (key.text, key.line, value.line, value.column) for key, value in read_entries(path, "")
    ]
    assert found == [("a", 2, 2, 4), ("c", 3, 4, 3)]
