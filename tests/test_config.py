"""The configuration: where each value comes from, and every mistake at once."""

from pathlib import Path

import pytest

from numa_agent.config import Config, ConfigError, load, read_overrides

ALL = "hostRoot: /file\nliveRoot: /live\nnodeName: file-node\nkubeconfig: /file/kubeconfig\n"


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "config.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_without_anything_it_is_this_machine() -> None:
    assert load(None, {}, {}) == Config(
        host_root=Path("/"), live_root=Path("/"), node_name=None, kubeconfig=None
    )


def test_the_file_s_values_count(tmp_path: Path) -> None:
    assert load(written(tmp_path, ALL), {}, {}) == Config(
        host_root=Path("/file"),
        live_root=Path("/live"),
        node_name="file-node",
        kubeconfig=Path("/file/kubeconfig"),
    )


def test_a_flag_comes_before_the_file_which_comes_before_the_environment(tmp_path: Path) -> None:
    path = written(tmp_path, ALL)
    environment = {"NODE_NAME": "env-node"}
    flags = {"hostRoot": "/flag", "nodeName": "flag-node"}
    assert load(path, flags, environment).node_name == "flag-node"
    assert load(path, flags, environment).host_root == Path("/flag")
    assert load(path, {"nodeName": None}, environment).node_name == "file-node"
    assert load(None, {"nodeName": None}, environment).node_name == "env-node"
    assert load(None, {}, {"NODE_NAME": ""}).node_name is None


def test_a_flag_that_isn_t_given_leaves_the_file_s_value(tmp_path: Path) -> None:
    flags = {"hostRoot": None, "kubeconfig": None}
    assert load(written(tmp_path, ALL), flags, {}).host_root == Path("/file")


@pytest.mark.parametrize("content", ["", "\n", "# nothing set\n", "---\n", "{}"])
def test_an_empty_file_sets_nothing(content: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, content), {}, {}) == load(None, {}, {})


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "hostroot: /x\nnodeName: 7\nkubeconfig: [a]\n8: b\nliveRoot: ''\n")
    with pytest.raises(ConfigError) as caught:
        load(path, {}, {})
    head, *mistakes = str(caught.value).splitlines()
    assert head == "the configuration has mistakes:"
    known = "(known: hostRoot, liveRoot, nodeName, kubeconfig, nvml, localityOverrides)"
    assert [mistake.strip() for mistake in mistakes] == [
        f"{path}: unknown key 'hostroot' {known}",
        f"{path}: nodeName must be text, not 7",
        f"{path}: kubeconfig must be text, not ['a']",
        f"{path}: unknown key 8 {known}",
        f"{path}: liveRoot must be text, not ''",
    ]


@pytest.mark.parametrize("value", ["", "true", "1.5", "{a: b}", "2026-03-02", "~", "''"])
def test_a_value_that_is_no_text_is_a_mistake(value: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"nodeName: {value}\n")
    with pytest.raises(ConfigError, match="nodeName must be text"):
        load(path, {"nodeName": "flag-node"}, {})


@pytest.mark.parametrize("content", ["a: [", "a: b: c", "\x00", "%", "a: *b", "!!python/none x"])
def test_a_file_that_isn_t_yaml_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=f"configuration {path} isn't YAML: ."):
        load(path, {}, {})


@pytest.mark.parametrize("content", ["text", "- hostRoot", "7"])
def test_a_file_without_keys_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=f"configuration {path}: expected keys and values"):
        load(path, {}, {})


def test_a_file_that_can_t_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"configuration {tmp_path / 'none'}: .*No such file"):
        load(tmp_path / "none", {}, {})
    with pytest.raises(ConfigError, match=f"configuration {tmp_path}: .*Is a directory"):
        load(tmp_path, {}, {})
    path = written(tmp_path, b"\xff\xfe\xfd")
    with pytest.raises(ConfigError, match=f"configuration {path}: .*decode"):
        load(path, {}, {})


def test_the_machine_is_live_where_both_roots_are_one_folder(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "link").symlink_to("host")
    roots = {"hostRoot": str(tmp_path / "link"), "liveRoot": str(tmp_path / "host/../host")}
    assert load(None, roots, {}).live
    assert not load(None, roots | {"hostRoot": str(tmp_path)}, {}).live
    assert load(None, {}, {}).live


@pytest.mark.parametrize("content", ["nodeName: 2026-13-45", "nodeName: !!int x", "[" * 5000])
def test_yaml_of_impossible_values_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=str(path)):
        load(path, {}, {})


def test_an_empty_flag_is_a_mistake_and_not_the_current_folder() -> None:
    with pytest.raises(ConfigError, match="hostRoot must not be empty"):
        load(None, {"hostRoot": ""}, {})


def test_overrides_are_read_from_a_file_and_a_bad_entry_costs_itself(tmp_path: Path) -> None:
    overrides = read_overrides(written(tmp_path, '"0000:3b:00.0": 1\n"0000:zz:00.0": 1\n'))
    assert [entry.node for entry in overrides.entries] == [1]
    assert "0000:zz:00.0" in overrides.problems[0]


def test_overrides_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "- 1\n")
    with pytest.raises(ConfigError, match=str(path)):
        read_overrides(path)
