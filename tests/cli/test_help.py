"""The help teaches: every command has one, with an example that can be typed."""

import pytest

from numa_agent.cli import COMMANDS, main


def _help(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = _help(["--help"], capsys)
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _help([command, "--help"], capsys)
    assert f"  numa-agent {command}" in text.split("examples:")[1]


def test_an_unknown_command_ends_with_code_two_and_says_where_help_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["frobnicate"])
    assert ended.value.code == 2
    assert "numa-agent --help" in capsys.readouterr().err


def test_the_version_is_the_packages_own(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert _help(["--version"], capsys) == f"numa-agent {version('numa-agent')}\n"
