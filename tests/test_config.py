"""The configuration: where each value comes from, and every mistake at once."""

from pathlib import Path

import pytest

from numa_agent.config import KEYS, Config, ConfigError, load, read_overrides

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
    known = f"(known: {', '.join(KEYS)})"
    assert [mistake.strip() for mistake in mistakes] == [
        f"{path}: unknown key hostroot {known}",
        f"{path}: nodeName must be text, not 7",
        f"{path}: kubeconfig must be text, not [a]",
        f"{path}: unknown key 8 {known}",
        f"{path}: liveRoot must be text, not ''",
    ]


@pytest.mark.parametrize("value", ["", "true", "1.5", "{a: b}", "2026-03-02", "~", "''"])
def test_a_value_that_is_no_text_is_a_mistake(value: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"nodeName: {value}\n")
    with pytest.raises(ConfigError, match="nodeName must be text"):
        load(path, {"nodeName": "flag-node"}, {})


@pytest.mark.parametrize("content", ["a: [", "a: b: c", "\x00", "%", "a: *b", "a: 1\n---\nb: 2"])
def test_a_file_that_isn_t_yaml_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=f"configuration {path} isn't YAML: ."):
        load(path, {}, {})


@pytest.mark.parametrize("content", ["text", "- hostRoot", "7", "!!python/none x"])
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


def test_a_root_that_is_a_loop_of_symlinks_is_not_the_live_machine(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert not load(None, {"hostRoot": str(tmp_path / "loop")}, {}).live


@pytest.mark.parametrize("content", ["nodeName: 2026-13-45", "nodeName: !!int x", "[" * 5000])
def test_yaml_of_impossible_values_is_named(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError, match=str(path)):
        load(path, {}, {})


def test_an_empty_flag_is_a_mistake_and_not_the_current_folder() -> None:
    with pytest.raises(ConfigError, match="hostRoot must not be empty"):
        load(None, {"hostRoot": ""}, {})


@pytest.mark.parametrize("key", ["hostRoot", "nodeName", "kubeconfig", "localityOverrides"])
def test_an_empty_flag_is_a_mistake_whichever_it_is(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} must not be empty"):
        load(None, {key: ""}, {})


def test_an_empty_file_name_is_a_mistake_and_not_the_current_folder() -> None:
    with pytest.raises(ConfigError, match="configuration file's name must not be empty"):
        load("", {}, {})


@pytest.mark.parametrize("value", ["auto", "off", '"off"', "/lib/libnvidia-ml.so.1"])
def test_nvml_is_one_of_two_words_or_an_absolute_path(value: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, f"nvml: {value}\n"), {}, {}).nvml == value.strip('"')


@pytest.mark.parametrize("value", ["on", "lib.so", "./lib.so", "Auto"])
def test_nvml_of_another_word_is_a_mistake_whichever_machine_is_looked_at(
    value: str, tmp_path: Path
) -> None:
    said = f"nvml must be auto, off or the absolute path of a libnvidia-ml.so.1, not '{value}'"
    with pytest.raises(ConfigError, match=said):
        load(None, {"hostRoot": str(tmp_path), "nvml": value}, {})
    with pytest.raises(ConfigError, match="nvml must be"):
        load(written(tmp_path, f"nvml: {value}\n"), {"nvml": "auto"}, {})


@pytest.mark.parametrize("key", ["hostRoot", "liveRoot", "nodeName", "kubeconfig", "nvml"])
def test_what_can_t_name_a_file_is_a_mistake(key: str, tmp_path: Path) -> None:
    for bad in ("/a\\0b", "/a\\ud800b"):
        path = written(tmp_path, f'{key}: "{bad}"\n')
        with pytest.raises(ConfigError, match=f"{path}: {key} (must not hold a NUL|holds what)"):
            load(path, {}, {})
    with pytest.raises(ConfigError, match=f"{key} must not hold a NUL byte"):
        load(None, {key: "/a\0b"}, {})
    with pytest.raises(ConfigError, match="null byte"):
        load("/a\0b", {}, {})


def test_a_file_name_of_bytes_that_are_no_text_is_taken() -> None:
    assert load(None, {"hostRoot": "/a\udcffb"}, {}).host_root == Path("/a\udcffb")


def test_mistakes_of_file_and_flags_are_told_together(tmp_path: Path) -> None:
    path = written(tmp_path, "nvml: on\nhostRoot: /a\nnodeName: 7\n")
    with pytest.raises(ConfigError) as caught:
        load(path, {"hostRoot": "", "nvml": "x"}, {})
    assert len(str(caught.value).splitlines()) == 5


def test_a_key_that_is_there_twice_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, 'hostRoot: /a\nnodeName: n\n"hostRoot": /b\n')
    with pytest.raises(ConfigError, match=f"{path}: hostRoot is given more than once"):
        load(path, {}, {})


def test_overrides_are_read_from_a_file_and_a_bad_entry_costs_itself(tmp_path: Path) -> None:
    overrides = read_overrides(written(tmp_path, '"0000:3b:00.0": 1\n"0000:zz:00.0": 1\n'))
    assert [entry.node for entry in overrides.entries] == [1]
    assert "0000:zz:00.0" in overrides.problems[0]


def test_overrides_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "- 1\n")
    with pytest.raises(ConfigError, match=str(path)):
        read_overrides(path)


def test_addresses_need_no_quotes_though_yaml_takes_some_for_numbers(tmp_path: Path) -> None:
    lines = "0000:03:00.0: 1\n0000:18:00.0: 0\n3b:00.0: 1\n0000:80:00.0-0000:ff:1f.7: 1\n"
    overrides = read_overrides(written(tmp_path, lines))
    assert overrides.problems == ()
    assert [entry.text for entry in overrides.entries] == lines.splitlines()


def test_an_address_that_is_there_twice_is_named_and_the_first_holds(tmp_path: Path) -> None:
    overrides = read_overrides(written(tmp_path, "0000:03:00.0: 1\n0000:03:00.0: 0\n"))
    assert [entry.node for entry in overrides.entries] == [1]
    assert "'0000:03:00.0': '0': given more than once" in overrides.problems[0]


@pytest.mark.parametrize(
    "bad", ["[a, b]: 1", "? {a: b}\n: 1", "? {[a]: b}\n: 1", "0000:04:00.0: [0, 1]", "~: 1"]
)
def test_a_bad_entry_of_any_shape_costs_itself_and_is_named(bad: str, tmp_path: Path) -> None:
    overrides = read_overrides(written(tmp_path, f"0000:03:00.0: 1\n{bad}\n0000:05:00.0: 0\n"))
    assert [entry.node for entry in overrides.entries] == [1, 0]
    (problem,) = overrides.problems
    assert bad.removeprefix("? ").splitlines()[0].split(": 1")[0].split(": [")[0] in problem


@pytest.mark.parametrize("content", ["", "~", "---\n", "# none"])
def test_an_empty_file_of_overrides_corrects_nothing(content: str, tmp_path: Path) -> None:
    assert read_overrides(written(tmp_path, content)).entries == ()


def test_a_setting_that_is_one_of_a_few_words_is_refused_with_the_words() -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {"scheduler": "volcano", "takeover": "yes", "topologyScope": "node"}, {})
    assert [line.strip() for line in str(caught.value).splitlines()[1:]] == [
        "scheduler must be kube-scheduler, koordinator or ack, not 'volcano'",
        "takeover must be off or on, not 'yes'",
        "topologyScope must be kubelet, container or pod, not 'node'",
    ]


def test_words_that_yaml_takes_for_truth_values_are_words_here(tmp_path: Path) -> None:
    text = "takeover: on\nmemoryZones: off\npodresources: off\nscheduler: koordinator\n"
    config = load(written(tmp_path, text), {}, {})
    assert (config.takeover, config.memory_zones) == (True, False)
    assert (config.podresources, config.scheduler) == ("off", "koordinator")


def test_what_publishing_takes_has_a_default_that_asks_for_nothing() -> None:
    config = load(None, {}, {})
    assert (config.scheduler, config.kubelet_config, config.podresources) == (
        "kube-scheduler",
        "auto",
        "auto",
    )
    assert (config.topology_policy, config.topology_scope) == ("kubelet", "kubelet")
    assert (config.pod_fingerprint, config.memory_zones, config.takeover) == ("all", False, False)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("podresources", "kubelet.sock", "auto, off or the absolute path of kubelet's"),
        ("kubeletConfig", "config.yaml", "auto, configz or the absolute path of kubelet's"),
        ("kubeletConfigDir", "conf.d", "the absolute path of kubelet's drop-in directory"),
    ],
)
def test_a_path_on_the_machine_is_absolute(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} must be {expected}"):
        load(None, {key: value}, {})


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("off", None),
        ("127.0.0.1:9316", ("127.0.0.1", 9316)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_metrics_are_off_or_at_an_address(value: str, address: object) -> None:
    assert load(None, {"metrics": value}, {}).metrics_address == address


@pytest.mark.parametrize("value", ["on", "9316", "host:", "host:0", ":80", "a b:80"])
def test_what_is_no_address_for_metrics_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="metrics must be off or an address and a port"):
        load(None, {"metrics": value}, {})
