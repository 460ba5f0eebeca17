"""What each setting takes, and that the table, Config and the docs are one."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from numa_agent.config import KEYS, SCHEDULERS, Config, load
from numa_agent.config.contradictions import contradictions
from numa_agent.config.kinds import Kind
from numa_agent.config.settings import BY_KEY, SETTINGS
from tests.config.files import mistakes_of, written

WORDS = [(each.key, word) for each in SETTINGS for word in each.words]


def mistake_of(path: Path | None, flags: dict[str, str | None] | None = None) -> str:
    """The one mistake, besides those that tell which settings are needed beside another."""
    (said,) = [each for each in mistakes_of(path, flags) if " needs " not in each]
    return said


def value_of(key: str, path: Path) -> object:
    return getattr(load(path, {}, {}), BY_KEY[key].field)


def test_the_table_has_every_field_of_config_and_its_default() -> None:
    assert {each.field for each in SETTINGS} == {each.name for each in dataclasses.fields(Config)}
    bare = Config(host_root=Path("/"), live_root=Path("/"), node_name=None, kubeconfig=None)
    assert load(None, {}, {}) == bare
    assert len(set(KEYS)) == len(SETTINGS)


def test_every_setting_can_be_told_from_the_others_and_says_what_it_means() -> None:
    for each in SETTINGS:
        assert each.meaning[0].isupper() or each.meaning.startswith("kubelet")
        assert not each.meaning.endswith(".")
        assert each.on is None or each.on in each.words
        free = each.kind in {Kind.TEXT, Kind.PATH}
        assert free or each.words or each.example, "what would a mistake name?"


def test_settings_that_depend_on_each_other_change_together() -> None:
    """Else a running agent could have a pair that no file may have."""
    tree = ast.parse(inspect.getsource(contradictions))
    values = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    named = [key for key in KEYS if key in values]
    assert len(named) == 5
    assert {BY_KEY[key].live for key in named} == {False}


@pytest.mark.parametrize(("key", "word"), WORDS)
def test_every_word_is_taken_with_quotes_and_without_and_from_a_flag(
    key: str, word: str, tmp_path: Path
) -> None:
    setting = BY_KEY[key]
    wanted = word if setting.on is None else word == setting.on
    for text in (word, f'"{word}"', f"'{word}'", f"!!str {word}"):
        assert value_of(key, written(tmp_path, f"{key}: {text}\n")) == wanted
    assert getattr(load(None, {key: word}, {}), setting.field) == wanted


@pytest.mark.parametrize(("key", "word"), WORDS)
def test_a_word_in_other_letters_is_another_word(key: str, word: str, tmp_path: Path) -> None:
    said = mistake_of(written(tmp_path, f"{key}: {word.upper()}\n"))
    assert f"{key} must be " in said
    assert f"not {word.upper()}" in said.replace("'", "")


@pytest.mark.parametrize("key", [each.key for each in SETTINGS if {"on", "off"} <= {*each.words}])
def test_what_yaml_takes_for_truth_values_are_words_where_they_are_allowed(
    key: str, tmp_path: Path
) -> None:
    for text, wanted in (("on", True), ("off", False), ("true", True), ("False", False)):
        assert value_of(key, written(tmp_path, f"{key}: {text}\n")) is wanted
    for text in ("yes", "no", "y", "On", "OFF", "1", "0", '"true"'):
        said = mistake_of(written(tmp_path, f"{key}: {text}\n"))
        assert said.startswith(f"1:{len(key) + 3}: {key} must be ")


@pytest.mark.parametrize("key", ["nvml", "podresources", "metrics", "mems", "metricsAuth"])
def test_false_is_off_where_that_is_a_word_and_true_is_nothing_there(
    key: str, tmp_path: Path
) -> None:
    assert value_of(key, written(tmp_path, f"{key}: false\n")) == "off"
    assert "not true" in mistakes_of(written(tmp_path, f"{key}: true\n"))[0]


@pytest.mark.parametrize("value", ["", "~", "null", "''", '""', "' '", "{a: b}", "{}", "[]"])
def test_what_is_no_value_is_a_mistake_for_every_setting(value: str, tmp_path: Path) -> None:
    for key in KEYS:
        said = mistake_of(written(tmp_path, f"{key}: {value}\n"))
        assert said.startswith(f"1:{len(key) + (3 if value else 2)}: {key} must ")


@pytest.mark.parametrize("bad", ["/a\\0b", "/a\\ud800b", "/a\\nb", "/a\\u007fb", "/a\\eb"])
def test_what_can_t_name_a_file_is_a_mistake(bad: str, tmp_path: Path) -> None:
    for key in KEYS:
        said = mistake_of(written(tmp_path, f'{key}: "{bad}"\n'))
        assert said.startswith(f"1:{len(key) + 3}: {key} ")


@pytest.mark.parametrize("key", KEYS)
def test_an_empty_flag_is_a_mistake_and_not_the_current_folder(key: str) -> None:
    flag = BY_KEY[key].flag
    assert mistake_of(None, {key: ""}) == f"{flag}: {key} must not be empty"
    assert mistake_of(None, {key: " "}) == f"{flag}: {key} must not be empty"
    assert "must not hold a NUL byte" in mistake_of(None, {key: "/a\0b"})


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_there_twice_is_named_with_the_first(key: str, tmp_path: Path) -> None:
    example = BY_KEY[key].example or BY_KEY[key].default or "/x"
    path = written(tmp_path, f'\n{key}: {example}\n"{key}": {example}\n')
    said = f"3:1: {key} is given more than once, first at {path}:2"
    assert said in mistakes_of(path)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_nearly_right_is_refused_with_the_right_one(
    key: str, tmp_path: Path
) -> None:
    kebab = BY_KEY[key].flag.removeprefix("--")
    wrong = {key.upper(), f"{key}s", kebab.replace("-", "_"), f"{kebab}-", f"{key[:2]}_{key[2:]}"}
    for each in sorted(wrong - {*KEYS}):
        said = mistake_of(written(tmp_path, f"{each}: off\n"))
        assert said == f"1:1: unknown key {each}: did you mean {key}?"


@pytest.mark.parametrize("key", ["volcano", "''", "7", "[a]", "{a: b}", "~", "2026-03-02"])
def test_a_key_like_none_is_refused_with_where_they_are_listed(key: str, tmp_path: Path) -> None:
    said = mistake_of(written(tmp_path, f"{key} : off\n"))
    assert said.endswith(f" unknown key {key}: `numa-agent config --show` lists the settings")


@pytest.mark.parametrize("value", ["7", "1.5", "2026-03-02", "0x10", "1_000", "10:18", "true"])
def test_text_that_yaml_takes_for_something_else_goes_in_quotes(
    value: str, tmp_path: Path
) -> None:
    for key in ("nodeName", "hostRoot", "trustedManagers"):
        said = mistake_of(written(tmp_path, f"{key}: {value}\n"))
        assert said.endswith(f", not {value}: put it in quotes")
    assert value_of("nodeName", written(tmp_path, f'nodeName: "{value}"\n')) == value


def test_a_tag_that_isn_t_text_s_is_refused(tmp_path: Path) -> None:
    for tagged in ("!secret x", "!!python/name:os.system x", "!!binary eA==", "!!int 'x'"):
        said = mistake_of(written(tmp_path, f"nodeName: {tagged}\n"))
        assert said.startswith(f"1:11: nodeName must be text, not {tagged}")


@pytest.mark.parametrize("value", ["5", "60", "3600"])
def test_seconds_are_whole_and_within_bounds(value: str, tmp_path: Path) -> None:
    assert value_of("passSeconds", written(tmp_path, f"passSeconds: {value}\n")) == int(value)
    assert load(None, {"passSeconds": value}, {}).pass_seconds == int(value)


@pytest.mark.parametrize(
    "value",
    [
        *("0", "4", "3601", "-60", "+60", "60.0", "6e1", "060", "0x3c", "1:00", "6_0", "60s"),
        *('"60"', "99999999999999999999", "soon", "[60]", "true", ".inf", ".nan"),
    ],
)
def test_what_are_no_seconds_is_refused(value: str, tmp_path: Path) -> None:
    said = mistake_of(written(tmp_path, f"passSeconds: {value}\n"))
    assert said.startswith("1:14: passSeconds must be a whole number from 5 to 3600, such as 60")
    for text in ("4", "3601", "60.0", "\u096c\u0966", "60s", "6" * 5000):
        assert "must be a whole number" in mistakes_of(None, {"passSeconds": text})[0]


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("off", None),
        ("127.0.0.1:9316", ("127.0.0.1", 9316)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:80", ("::1", 80)),
        ("[::ffff:10.0.0.1]:80", ("::ffff:10.0.0.1", 80)),
    ],
)
def test_metrics_are_off_or_at_an_address(value: str, address: object) -> None:
    assert load(None, {"metrics": value}, {}).metrics_address == address


@pytest.mark.parametrize(
    "value",
    [
        *("on", "9316", "host:", "host:0", ":80", "a b:80", "host:65536", "host:99999"),
        *("host:080", "::1:80", "[::1]", "[::1:80", "::1]:80", "[]:80", "host:80/metrics"),
        *("http://host:80", "h:80:80", "host:8\u0660"),
    ],
)
def test_what_is_no_address_for_metrics_is_refused(value: str) -> None:
    said = mistake_of(None, {"metrics": value})
    assert said.startswith("--metrics: metrics must be off or an address and a port, such as 127.")


@pytest.mark.parametrize("key", [each.key for each in SETTINGS if each.example.startswith("/")])
def test_a_path_on_the_machine_is_absolute(key: str, tmp_path: Path) -> None:
    for value in ("x", "./x", "~/x", "../x"):
        said = mistake_of(None, {key: value})
        assert f"{key} must be " in said
        assert f"not '{value}'" in said


@pytest.mark.parametrize(
    ("value", "managers"),
    [
        ("one", ("one",)),
        ("one, two", ("one", "two")),
        ("'one,two,'", ("one", "two")),
        ("[one, two]", ("one", "two")),
        ("\n  - one\n  - ' two '", ("one", "two")),
        ("['one,two']", ("one,two",)),
        ("[off]", None),
        ("[one, 7]", None),
        ("[one, [two]]", None),
        ("[one, '']", None),
        ("[one, ~]", None),
        ("[one, {two: x}]", None),
        ('[one, "t\\0wo"]', None),
        ("','", None),
        ("7", None),
    ],
)
def test_trusted_managers_are_a_list_or_text_with_commas_and_never_nobody(
    value: str, managers: object, tmp_path: Path
) -> None:
    path = written(tmp_path, f"trustedManagers: {value}\n")
    if managers is not None:
        assert load(path, {}, {}).trusted_managers == managers
        return
    said = mistake_of(path)
    assert ": trustedManagers must " in said


def test_the_schedulers_are_the_first_setting_s_words() -> None:
    assert BY_KEY["scheduler"].words == SCHEDULERS
