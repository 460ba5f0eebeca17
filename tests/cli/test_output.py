"""Where the answer goes: a full disk, a closed stream, a terminal without the tree's letters."""

import json
import os
import subprocess
import sys

import pytest

from tests.recorded import machine

TOPOLOGY = ["topology", "--host-root", str(machine("four-node-snc"))]


def typed(words: list[str], redirected: str = "", **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command in a shell, with what the shell redirects."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "numa_agent", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [TOPOLOGY, [*TOPOLOGY, "-o", "json"], ["--help"], ["demo"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_named_and_ends_with_code_two(words: list[str], unbuffered: str) -> None:
    status, _, said = typed(words, "> /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert status == 2
    (line,) = said.splitlines()
    assert "standard output" in line
    assert "No space left" in line


def test_a_closed_stdout_is_named_and_ends_with_code_two() -> None:
    assert typed(TOPOLOGY, ">&-") == (2, "", "numa-agent: error: standard output is closed\n")


def test_with_a_closed_stderr_errors_do_not_become_the_answer() -> None:
    assert typed(["topology", "--host-root", "/gone"], "2>&-") == (2, "", "")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    assert typed(TOPOLOGY, "| head -n 1")[1:] == (
        "machine: 48 CPUs online, 24 cores, 2 packages, 4 NUMA nodes, 384 GiB memory\n",
        "",
    )


def test_where_letters_are_missing_they_are_question_marks() -> None:
    status, tree, said = typed(TOPOLOGY, PYTHONIOENCODING="ascii")
    assert (status, said) == (0, "")
    assert "\n?? package 0  12 cores, 24 CPUs\n" in tree
    status, answer, _ = typed([*TOPOLOGY, "-o", "json"], PYTHONIOENCODING="ascii")
    assert status == 0
    assert json.loads(answer)["cpus"]["count"] == 48
