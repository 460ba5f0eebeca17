"""`numa-agent config`: what is in force and why, and what is wrong with a file."""

import json
import re
from pathlib import Path

import pytest

from numa_agent.cli import config as command
from numa_agent.cli import main
from numa_agent.config import KEYS, load
from numa_agent.config.loading import effective


@pytest.fixture(autouse=True)
def _no_node_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text("# mine\nscheduler: ack\ntakeover: on\ntrustedManagers: [a, b]\n")
    return path


def test_each_setting_is_shown_with_where_it_comes_from(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_NAME", "gpu-7")
    assert main(["config", "--show", "--config", str(file), "--host-root", "/host"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["SETTING", "VALUE", "FROM"]
    rows = [re.split("  +", line) for line in lines]
    assert [row[0] for row in rows] == [*KEYS]
    assert [row for row in rows if row[2] != "default"] == [
        ["hostRoot", "/host", "flag --host-root"],
        ["nodeName", "gpu-7", "environment NODE_NAME"],
        ["scheduler", "ack", f"{file}:2"],
        ["takeover", "on", f"{file}:3"],
        ["trustedManagers", "a,b", f"{file}:4"],
    ]
    assert ["kubeconfig", "-", "default"] in rows


def test_the_json_says_which_settings_a_running_agent_takes(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--show", "--config", str(file), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "numa-agent.config/v1"
    by_key = {each["setting"]: each for each in found["settings"]}
    assert [*by_key] == [*KEYS]
    assert by_key["trustedManagers"] == {
        "setting": "trustedManagers",
        "value": ["a", "b"],
        "origin": f"{file}:4",
        "live": True,
    }
    assert (by_key["passSeconds"]["value"], by_key["nodeName"]["value"]) == (60, None)
    assert by_key["hostRoot"]["live"] is False


@pytest.mark.parametrize(
    "content",
    [
        "",
        "takeover: on\nevents: off\npassSeconds: 7\ntrustedManagers: [a, 'b,c', 'off']\n",
        'nodeName: "7"\nhostRoot: "/a \\"b\\\\c # d: é \\U0001F600 \\u2028 \\udcff"\n',
        "metrics: '[::1]:80'\nmetricsTlsCert: /c\nmetricsTlsKey: /k\nmetricsAuth: token-review\n",
    ],
)
def test_the_yaml_is_a_file_that_sets_the_same(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first\nfile é.yaml", tmp_path / "second.yaml"
    first.write_text(content)
    assert main(["config", "--show", "--config", str(first), "-o", "yaml"]) == 0
    second.write_text(capsys.readouterr().out)
    assert load(second, {}, {}) == load(first, {}, {})
    assert len(second.read_text().splitlines()) == len(KEYS)


def test_a_right_file_passes_the_check(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: no mistakes\n"


@pytest.mark.parametrize("how", ["--check", "--config"])
def test_a_wrong_file_ends_with_code_two_and_every_mistake(
    how: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("shceduler: ack\nmems: on\n")
    words = [how, str(file)] if how == "--check" else ["--show", how, str(file)]
    assert main(["config", *words]) == 2
    said, errors = capsys.readouterr()
    assert said == ""
    assert errors.splitlines() == [
        "numa-agent config: error: the configuration has mistakes:",
        f"  {file}:1:1: unknown key shceduler: did you mean scheduler?",
        f"  {file}:2:7: mems must be with-cpus, off or migrate, not on",
    ]


@pytest.mark.parametrize("path", ["", "/none/such", "/"])
def test_a_file_that_isn_t_there_ends_with_code_two(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--check", path]) == 2
    assert "numa-agent config: error: " in capsys.readouterr().err


def test_two_files_at_once_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--check", str(file), "--config", str(file)]) == 2
    assert "leave --config out" in capsys.readouterr().err


def test_the_options_are_checked_with_the_file(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "--check", str(file), "--nvml", "x"]) == 2
    assert "--nvml: nvml must be" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--show", "--check", "x"], ["--show", "-o", "toml"]])
def test_what_to_do_must_be_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", *words])
    assert ended.value.code == 2
    assert "numa-agent config --help" in capsys.readouterr().err


def test_the_help_s_file_is_a_right_one(tmp_path: Path) -> None:
    lines = re.findall(r"^    (\w+: .*)$", command.EPILOG, re.MULTILINE)
    path = tmp_path / "config.yaml"
    path.write_text("\n".join(lines))
    assert len([each for each in effective(path, {}, {}) if each.origin != "default"]) == 3
