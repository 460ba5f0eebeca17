"""The configuration: where each value comes from, and every mistake at once."""

from pathlib import Path

import pytest

from numa_agent.config import Config, ConfigError, load, read_overrides
from numa_agent.config.loading import effective
from tests.config.files import mistakes_of, written

ALL = "hostRoot: /file\nliveRoot: /live\nnodeName: file-node\nkubeconfig: /file/kubeconfig\n"
TLS = "metricsTlsCert: /tls.crt\nmetricsTlsKey: /tls.key\n"


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


def test_every_setting_reaches_its_field(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"{ALL}{TLS}nvml: /lib/nvml.so\nlocalityOverrides: overrides.yaml\nscheduler: ack\n"
        "kubeletConfig: /k.yaml\nkubeletConfigDir: /k.d\npodresources: off\n"
        "topologyPolicy: restricted\ntopologyScope: pod\npodFingerprintPods: Shared\n"
        "podFingerprint: with-exclusive-resources\nmemoryZones: on\ntakeover: on\nmems: migrate\n"
        "sharedPods: leave\ncpuQuota: lift\ntrustedManagers: [one, two]\nmetrics: '[::1]:9316'\n"
        "metricsAuth: token-review\nmetricsContainers: on\nevents: off\npassSeconds: 5\n"
        "lockFile: /run/lock/agent\nlogFormat: json\n",
    )
    assert load(path, {}, {}) == Config(
        host_root=Path("/file"),
        live_root=Path("/live"),
        node_name="file-node",
        kubeconfig=Path("/file/kubeconfig"),
        nvml="/lib/nvml.so",
        locality_overrides=Path("overrides.yaml"),
        scheduler="ack",
        kubelet_config="/k.yaml",
        kubelet_config_dir="/k.d",
        podresources="off",
        topology_policy="restricted",
        topology_scope="pod",
        pod_fingerprint="with-exclusive-resources",
        pod_fingerprint_pods="Shared",
        memory_zones=True,
        takeover=True,
        mems="migrate",
        shared_pods=False,
        lift_quota=True,
        trusted_managers=("one", "two"),
        metrics="[::1]:9316",
        metrics_tls_cert=Path("/tls.crt"),
        metrics_tls_key=Path("/tls.key"),
        metrics_auth="token-review",
        metrics_containers=True,
        events=False,
        pass_seconds=5,
        lock_file="/run/lock/agent",
        log_format="json",
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


def test_each_value_says_where_it_comes_from(tmp_path: Path) -> None:
    path = written(tmp_path, "# first\nscheduler: ack\n\ntrustedManagers:\n  - one\n")
    found = effective(path, {"hostRoot": "/flag"}, {"NODE_NAME": "env-node"})
    assert {each.setting.key: each.origin for each in found if each.origin != "default"} == {
        "hostRoot": "flag --host-root",
        "nodeName": "environment NODE_NAME",
        "scheduler": f"{path}:2",
        "trustedManagers": f"{path}:5",
    }


def test_a_flag_that_isn_t_given_leaves_the_file_s_value(tmp_path: Path) -> None:
    flags = {"hostRoot": None, "kubeconfig": None}
    assert load(written(tmp_path, ALL), flags, {}).host_root == Path("/file")


def test_all_mistakes_are_told_at_once_each_with_its_place(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "hostroot: /x\nnodeName: 7\nkubeconfig: [a]\n8: b\nliveRoot: ''\nmetricsAuth: on\n"
        "passSeconds: 4\nlockFile: lock\n",
    )
    assert mistakes_of(path, {"hostRoot": "", "nvml": "x"}) == [
        "1:1: unknown key hostroot: did you mean hostRoot?",
        "2:11: nodeName must be text, not 7: put it in quotes",
        "3:13: kubeconfig must be a path, not [a]",
        "4:1: unknown key 8: `numa-agent config --show` lists the settings",
        "5:11: liveRoot must not be empty",
        "6:14: metricsAuth must be off or token-review, not on",
        "7:14: passSeconds must be a whole number from 5 to 3600, such as 60, not '4'",
        "8:11: lockFile must be an absolute path, such as /run/numa-agent/lock, not 'lock'",
        "--host-root: hostRoot must not be empty",
        "--nvml: nvml must be auto, off or an absolute path, such as"
        " /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1, not 'x'",
    ]


def test_mistakes_of_the_flags_are_told_beside_those_of_a_file_that_isn_t_yaml(
    tmp_path: Path,
) -> None:
    first, second = mistakes_of(written(tmp_path, "a: ["), {"nodeName": ""})
    assert first.startswith("1:5: isn't YAML: ")
    assert second == "--node-name: nodeName must not be empty"


def test_a_flag_doesn_t_hide_the_file_s_mistake(tmp_path: Path) -> None:
    path = written(tmp_path, "nvml: on\n")
    assert mistakes_of(path, {"nvml": "auto"})[0].startswith("1:7: nvml must be auto, off or")


def test_a_node_name_of_the_environment_is_looked_at_where_it_counts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="environment NODE_NAME: nodeName must not hold control"):
        load(None, {}, {"NODE_NAME": "gpu-7\n"})
    assert load(None, {"nodeName": "gpu-7"}, {"NODE_NAME": "gpu-8\n"}).node_name == "gpu-7"


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


def test_an_empty_file_name_is_a_mistake_and_not_the_current_folder() -> None:
    with pytest.raises(ConfigError, match="configuration file's name must not be empty"):
        load("", {}, {})


def test_a_file_name_of_bytes_that_are_no_text_is_taken() -> None:
    assert load(None, {"hostRoot": "/a\udcffb"}, {}).host_root == Path("/a\udcffb")


def test_the_lock_is_the_machine_s_and_found_below_the_host_root() -> None:
    assert load(None, {}, {}).lock_path == Path("/run/numa-agent/lock")
    assert load(None, {"hostRoot": "/host"}, {}).lock_path == Path("/host/run/numa-agent/lock")
    flags = {"hostRoot": "/host", "lockFile": "/var/lock/agent"}
    assert load(None, flags, {}).lock_path == Path("/host/var/lock/agent")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "kubeletConfigDir: /k.d\nkubeletConfig: configz\n",
            "1:19: kubeletConfigDir belongs to a file: kubeletConfig: configz asks the running"
            " kubelet, which has read it",
        ),
        (
            "metrics: 127.0.0.1:9316\nmetricsTlsCert: /c\n",
            "2:17: metricsTlsCert needs metricsTlsKey beside it",
        ),
        (
            "metrics: 127.0.0.1:9316\nmetricsTlsKey: /k\n",
            "2:16: metricsTlsKey needs metricsTlsCert beside it",
        ),
        (TLS, "1:17: metricsTlsCert needs metrics: an address, such as 127.0.0.1:9316"),
        (
            f"{TLS}metrics: off\n",
            "1:17: metricsTlsCert needs metrics: an address, such as 127.0.0.1:9316",
        ),
    ],
)
def test_settings_that_can_t_be_together_are_named(
    content: str, said: str, tmp_path: Path
) -> None:
    assert mistakes_of(written(tmp_path, content)) == [said]


def test_a_contradiction_is_told_beside_the_other_mistakes_and_across_the_sources(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, f"mem: off\n{TLS}")
    assert mistakes_of(path, {"metrics": "off"}) == [
        "1:1: unknown key mem: did you mean mems?",
        "2:17: metricsTlsCert needs metrics: an address, such as 127.0.0.1:9316",
    ]


def test_a_mistake_makes_no_contradiction_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, f"{TLS}metrics: 9316\n")
    (said,) = mistakes_of(path)
    assert said.startswith("3:10: metrics must be off or an address and a port")


def test_overrides_are_read_from_a_file_and_a_bad_entry_costs_itself(tmp_path: Path) -> None:
    overrides = read_overrides(written(tmp_path, '"0000:3b:00.0": 1\n"0000:zz:00.0": 1\n'))
    assert [entry.node for entry in overrides.entries] == [1]
    assert "0000:zz:00.0" in overrides.problems[0]


def test_overrides_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "- 1\n")
    with pytest.raises(ConfigError, match=f"{path}:1:1: expected keys and values, such as 0000:"):
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
