"""A command in turn, with real runs; near and far are the same here, since one node is enough."""

import os
from pathlib import Path

import pytest

from numa_agent.config import Config, ConfigError
from numa_agent.core.errors import SourceError
from numa_agent.core.measuring import Allowed, Placement, Trial
from numa_agent.host.measuring import Runner
from numa_agent.host.measuring.limits import read_mems
from numa_agent.wiring.measures import Machine, machine, measured, places, tried
from tests.core.measuring.machines import allowed, two
from tests.host.measuring.able import needs_policy

CPUS = frozenset(os.sched_getaffinity(0))
NODE = min(read_mems())
PLACES = (
    Placement(name="near", cpus=frozenset({min(CPUS)}), mem=NODE),
    Placement(name="far", cpus=frozenset({max(CPUS)}), mem=NODE),
    Placement(name="unbound", cpus=CPUS, mem=None),
)


def trial(script: str, log: Path, runs: int = 3, said: list[str] | None = None) -> Trial:
    command = ("sh", "-c", script)
    with log.open("ab") as file:
        runner = Runner(command, file.fileno(), 30)
        say = (lambda _: None) if said is None else said.append
        return tried(command, PLACES, runs, runner, say)


@needs_policy
def test_the_command_runs_in_each_place_in_turn_after_one_that_warms_up(tmp_path: Path) -> None:
    script = (
        "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status;"
        " cut -d' ' -f2 /proc/self/numa_maps | sort -u"
    )
    said: list[str] = []
    found = trial(script, tmp_path / "log", said=said)
    near, far, free = f"{min(CPUS)} prefer:{NODE}", f"{max(CPUS)} prefer:{NODE}", "unbound"
    words = (tmp_path / "log").read_text().split()
    shown = [
        free if policy == "default" else f"{cpus} {policy}"
        for cpus, policy in zip(words[::2], words[1::2], strict=True)
    ]
    turns = [free, near, far, free, far, free, near, free, near, far]
    assert shown == turns
    assert said[0] == "a run to warm up, unbound"
    assert said[1:4] == ["run 1 of 3, near", "run 1 of 3, far", "run 1 of 3, unbound"]
    assert {name: len(times) for name, times in found.seconds.items()} == dict.fromkeys(
        ("near", "far", "unbound"), 3
    )
    assert found.failure is None
    assert set(found.spilled) == {"near", "far", "unbound"}
    assert found.spilled["unbound"] is None


@needs_policy
def test_the_run_in_which_most_spilled_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter((3, 3, 10, 15, 20, 22, 30, 30))
    monkeypatch.setattr(
        "numa_agent.wiring.measures.spilled_so_far",
        lambda node: None if node is None else next(counts),
    )
    assert trial("true", tmp_path / "log", runs=2).spilled == {
        # near, far; then far, near.
        "near": 0,
        "far": 5,
        "unbound": None,
    }


@needs_policy
def test_the_first_run_that_fails_is_the_last(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"echo >>{count}; test $(wc -l <{count}) -lt 4 || exit 5"
    found = trial(script, tmp_path / "log")
    assert found.failure is not None
    assert (found.failure.placement, found.failure.run, found.failure.exit_code) == (
        "unbound",
        1,
        5,
    )
    assert {name: len(times) for name, times in found.seconds.items()} == {
        "near": 1,
        "far": 1,
        "unbound": 0,
    }
    assert len(count.read_text().splitlines()) == 4


@needs_policy
def test_a_run_that_fails_while_warming_up_is_the_only_one(tmp_path: Path) -> None:
    found = trial("echo once; exit 7", tmp_path / "log")
    assert found.failure is not None
    assert (found.failure.run, found.failure.exit_code) == (0, 7)
    assert (tmp_path / "log").read_text() == "once\n"


def seen(limits: Allowed) -> Machine:
    return Machine(topology=two(), cpu_model=None, allowed=limits)


def test_where_nothing_is_far_the_limits_are_named() -> None:
    limits = allowed(two(), frozenset({0}), frozenset({0}))
    with pytest.raises(ConfigError, match="it may use CPUs 0 and memory of nodes 0"):
        places(seen(limits), None, None)


def test_where_nothing_can_be_measured_the_reasons_are_named() -> None:
    with pytest.raises(
        SourceError, match=r"nothing can be measured: node 0: .* too little memory"
    ):
        measured(seen(allowed(two(), free=0)), 1, 1)


def test_only_the_live_machine_is_measured(tmp_path: Path) -> None:
    def config(root: Path) -> Config:
        return Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)

    with pytest.raises(ConfigError, match="isn't the live machine"):
        machine(config(tmp_path))
    here = machine(config(Path("/")))
    assert here.topology.nodes
    assert here.allowed.cpus == CPUS
