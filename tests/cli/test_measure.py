"""`numa-agent measure`: what it prints of recorded numbers, and what it does on this machine."""

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from numa_agent.cli.measure_options import declare
from numa_agent.cli.measure_text import matrix_lines
from numa_agent.cli.trial_text import trial_lines
from numa_agent.core.measuring import Failure, Gain, Matrix, Placement, Trial
from numa_agent.core.measuring.answers import FORMAT, matrix_json, trial_json
from numa_agent.core.measuring.distances import of_text
from numa_agent.core.measuring.planning import only_node
from numa_agent.core.topology import Topology
from numa_agent.host.sysfs import read_topology
from tests.core.measuring.machines import FAR, NEAR, matrix, two, two_measured, with_expander
from tests.host.measuring.able import needs_policy
from tests.machine_tree import cpus, machine, numa_node
from tests.recorded import ROOT
from tests.recorded import machine as recorded

PLACES = (
    Placement(name="near", cpus=cpus("0-3"), mem=0),
    Placement(name="far", cpus=cpus("4-7"), mem=0),
    Placement(name="unbound", cpus=cpus("0-7"), mem=None),
)
ALONE = only_node(read_topology(Path("/"))) is not None
one_node_only = pytest.mark.skipif(not ALONE, reason="this machine has several NUMA nodes")


def trial(
    seconds: Mapping[str, tuple[float, ...]],
    failure: Failure | None = None,
    spilled: int | None = 0,
) -> Trial:
    return Trial(
        command=("./train", "--name", "a b"),
        placements=PLACES,
        seconds=seconds,
        failure=failure,
        spilled={"near": 0, "far": spilled, "unbound": None},
    )


def text(found: Trial) -> list[str]:
    return list(trial_lines(found))


def of(found: Matrix, topology: Topology) -> str:
    return "\n".join(matrix_lines(found, topology, "A CPU"))


def test_two_nodes_are_shown_as_measured() -> None:
    assert (
        of(two_measured(), two())
        == """\
A CPU: median of 5 rounds (lowest-highest)

latency of a read that waits for the one before it, in ns
from CPUs of  memory of 0    memory of 1
  node 0      101 (100-103)  170 (169-176)
  node 1      170 (169-176)  101 (100-103)

bandwidth of reading in order, all cores of the node, in GB/s
from CPUs of  memory of 0       memory of 1
  node 0      20.0 (20.0-20.0)  20.0 (20.0-20.0)
  node 1      20.0 (20.0-20.0)  20.0 (20.0-20.0)

distance by latency, 10 is local (the firmware's)
from CPUs of  memory of 0  memory of 1
  node 0      10 (10)      17 (21)
  node 1      17 (21)      10 (10)

node 0: a read of node 1's memory takes 1.69 (1.65-1.74) times as long as one of node 0's
node 1: a read of node 0's memory takes 1.69 (1.65-1.74) times as long as one of node 1's"""
    )


def test_where_far_is_as_quick_there_is_no_gain() -> None:
    same = matrix({(0, 0): NEAR, (0, 1): NEAR[::-1], (1, 0): NEAR, (1, 1): NEAR})
    said = of(same, two())
    assert (
        "no gain here: node 0: a read of node 1's memory takes 1.00 (0.98-1.02) times as long as"
        " one of node 0's, which chance or less than 1 % explains"
    ) in said


def test_a_difference_that_chance_explains_is_told_with_how_large_it_may_be() -> None:
    noisy = (90.0, 130.0, 100.0, 180.0, 95.0)
    found = matrix({(0, 0): NEAR, (0, 1): noisy, (1, 0): NEAR, (1, 1): NEAR})
    (line,) = [
        each for each in of(found, two()).splitlines() if each.startswith("no gain here: node 0")
    ]
    assert "takes no longer" not in line
    assert "takes 0.99 (0.89-1.78) times as long" in line


def test_memory_only_nodes_missing_pairs_and_notes_are_shown() -> None:
    found = replace(
        matrix({(0, 0): NEAR, (0, 2): FAR, (1, 2): NEAR}, cached=True), left_out=("node 1: gone",)
    )
    said = of(found, with_expander())
    assert "memory of 2 (no CPUs)" in said
    assert "  node 1      ?  " in said
    assert "note: there is too little memory to read past the caches" in said
    assert said.endswith("note: node 1: gone")


def test_a_wide_matrix_has_blocks_below_each_other() -> None:
    topology = machine(*(numa_node(number, str(number)) for number in range(12)))
    said = of(matrix({(0, number): NEAR for number in range(12)}), topology)
    assert max(map(len, said.splitlines())) < 160
    assert said.count("memory of 8") == 3


def test_one_node_is_said_to_have_nothing_far() -> None:
    said = of(matrix({(0, 0): NEAR}), machine(numa_node(0, "0-1")))
    assert said.startswith("this machine has one NUMA node (0): near and far are the same")


def test_a_command_that_gains_is_told_with_the_ratio_and_its_interval() -> None:
    near, far = (10.0, 10.1, 9.9, 10.2, 10.0), (12.1, 12.0, 12.3, 11.9, 12.2)
    assert text(trial({"near": near, "far": far, "unbound": near})) == [
        "./train --name 'a b'",
        "",
        "         CPUS  MEMORY  SECONDS (LOWEST-HIGHEST)  RUNS  TIMES NEAR (95 %)",
        "near     0-3   node 0  10.000 (9.900-10.200)     5",
        "far      4-7   node 0  12.100 (11.900-12.300)    5     1.21 (1.18-1.23)",
        "unbound  0-7   any     10.000 (9.900-10.200)     5     1.00 (0.98-1.02)",
        "",
        "near is quicker than far, which takes 1.21 (1.18-1.23) times as long",
        "no gain here: unbound takes 1.00 (0.98-1.02) times as long as near, which chance or less"
        " than 1 % explains",
        "near and far have 4 CPUs, unbound has 8",
    ]


def test_a_command_that_gains_nothing_or_loses_is_told_so() -> None:
    one, other = (10.0, 10.4, 9.6, 10.2, 9.9), (9.8, 10.3, 9.9, 10.1, 10.2)
    said = text(trial({"near": one, "far": other, "unbound": other}))
    assert "no gain here: far takes" in said[7]
    slow = tuple(each * 1.5 for each in one)
    said = text(trial({"near": slow, "far": one, "unbound": one}))
    assert said[7].startswith("near is slower than far, which takes 0.6")


def test_too_few_runs_are_told_so() -> None:
    said = text(trial({"near": (1.0,) * 3, "far": (2.0,) * 3, "unbound": (1.0,) * 3}))
    assert "3 runs of each are too few to tell a difference from chance: give --runs 5" in said
    assert trial_json(trial({"near": (1.0,), "far": (2.0,)}))["verdict"] == "too-few-runs"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Failure(placement="far", run=2, exit_code=3, signal=None), "far in run 2: exit code 3;"),
        (Failure(placement="unbound", run=0, exit_code=1, signal=None), "while warming up: exit"),
        (Failure(placement="near", run=1, exit_code=None, signal=9), "signal 9 (the kernel sends"),
        (Failure(placement="near", run=1, exit_code=None, signal=11), "run 1: signal 11;"),
        (
            Failure(placement="near", run=1, exit_code=None, signal=15, timed_out=True),
            "no end in the time that --timeout gives",
        ),
    ],
)
def test_a_run_that_failed_is_told_and_nothing_else_is_said(failure: Failure, said: str) -> None:
    found = trial({"near": (1.0,), "far": (2.0,), "unbound": ()}, failure)
    assert said in text(found)[-1]
    assert text(found)[-1].endswith("nothing is said of it")
    document = trial_json(found)
    assert document["verdict"] == "failed"
    shown: Any = document["failure"]
    assert (shown["placement"], shown["exit_code"]) == (failure.placement, failure.exit_code)


def test_programs_are_told_every_run_and_the_ratio() -> None:
    found: Any = trial_json(
        trial({"near": (1.0,) * 5, "far": (1.5,) * 5, "unbound": (1.0, 1.1, 1.0, 1.0, 1.0)})
    )
    assert found["format"] == "numa-agent.measure/v1"
    assert found["verdict"] == "near-faster"
    assert [place["name"] for place in found["placements"]] == ["near", "far", "unbound"]
    assert found["placements"][1] == {
        "name": "far",
        "cpus": "4-7",
        "memory_node": 0,
        "seconds": {"median": 1.5, "low": 1.5, "high": 1.5, "samples": [1.5] * 5},
        "times_near": {"value": 1.5, "low": 1.5, "high": 1.5},
        "spilled_allocations": 0,
    }


def test_memory_that_spilled_is_told_whatever_came_of_the_runs() -> None:
    times = dict.fromkeys(("near", "far", "unbound"), (1.0,) * 5)
    failed = Failure(placement="far", run=2, exit_code=3, signal=None)
    for failure in (None, failed):
        notes = [line for line in text(trial(times, failure, 70)) if line.startswith("note:")]
        assert len(notes) == 1
        assert "far's memory may not have been all on node 0: 70 times in a run" in notes[0]
    found: Any = trial_json(trial(times, spilled=70))
    assert [each["spilled_allocations"] for each in found["placements"]] == [0, 70, None]


def test_where_the_kernel_doesn_t_count_that_is_told_of_places_with_a_node() -> None:
    said = text(trial(dict.fromkeys(("near", "far", "unbound"), (1.0,) * 5), spilled=None))
    (note,) = [line for line in said if line.startswith("note:")]
    assert note.startswith("note: whether far's memory was all on node 0 can't be told")


def test_a_recorded_machine_can_t_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--host-root", str(recorded("two-socket-8gpu"))]) == 2
    assert "isn't the live machine (liveRoot: /)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "distances", "--", "true"], "-o distances belongs to the matrix"),
        (["--seconds", "5", "--", "true"], "--seconds belongs to the matrix"),
        (["--near", "0"], "--near belongs to a command"),
        (["--far", "0"], "--far belongs to a command"),
        (["--log", "x"], "--log belongs to a command"),
        (["--timeout", "3"], "--timeout belongs to a command"),
    ],
)
def test_options_that_don_t_go_together_are_named(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", *words]) == 2
    assert said in capsys.readouterr().err


def test_words_of_the_command_are_its_own_whatever_they_look_like() -> None:
    parser = argparse.ArgumentParser()
    declare(parser)
    words = ["sh", "-c", "exit", "--", "--runs", "x", "-o"]
    found = parser.parse_args(["--runs", "7", "--", *words])
    assert (found.words, found.runs, found.output) == (words, 7, "table")


@pytest.mark.parametrize(
    "words",
    [
        *(["--runs", text] for text in ("0", "31", "-1", "1.5", "many", "", "\u0665", "9" * 99)),
        *(["--seconds", text] for text in ("0", "86401", "inf")),
        *(["--near", text, "--", "true"] for text in ("-1", "x", "0-1", "99999")),
        ["-o", "yaml"],
    ],
)
def test_what_is_no_number_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["measure", *words])
    assert ended.value.code == 2
    assert "numa-agent measure --help" in capsys.readouterr().err


def test_the_page_names_every_field_and_verdict() -> None:
    page = (ROOT / "docs" / "measure.md").read_text(encoding="utf-8")
    command: Any = trial_json(trial({"near": (1.0,), "far": (1.0,)}))
    documents: list[Any] = [matrix_json(two_measured(), two(), None), command]
    names = {key for document in documents for key in document} - {"format", "kind"}
    names |= {key for each in documents[0]["pairs"] for key in each}
    names |= {key for each in command["placements"] for key in each}
    assert [name for name in sorted(names) if f"`{name}" not in page] == []
    assert [word for word in (*Gain, "failed", "one-node") if f"`{word}`" not in page] == []
    assert FORMAT in page


def test_the_page_s_file_of_distances_is_one() -> None:
    page = (ROOT / "docs" / "measure.md").read_text(encoding="utf-8")
    (block,) = re.findall(r'    \{\n      "format".*?\n    \}\n', page, re.DOTALL)
    assert of_text(block).rows == {0: {0: 10, 1: 17}, 1: {0: 17, 1: 10}}


@needs_policy
def test_this_machine_is_measured_in_a_format_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["measure", "--runs", "1", "--seconds", "1", "-o", "json"]) in (0, 1)
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "matrix"
    assert document["one_node"] is ALONE
    assert document["pairs"]
    assert all(each["pages_on_node"] for each in document["targets"])


@one_node_only
@needs_policy
def test_its_distances_are_ten_on_one_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--runs", "1", "--seconds", "1", "-o", "distances"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["distances"] for each in document["nodes"].values()] == ["10"]


@one_node_only
def test_on_one_node_a_command_isn_t_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--", "touch", str(tmp_path / "made")]
    assert main(["measure", *words]) == 0
    assert capsys.readouterr().out.endswith("no gain here\n")
    assert main(["measure", "-o", "json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "one-node"
    assert not (tmp_path / "made").exists()
