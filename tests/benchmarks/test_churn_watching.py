"""What is watched on the node, on files instead of a kernel."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.churn.sampler import Sampler
from benchmarks.churn.watching import writers

TRACE = """\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
      numa-agent-427     [004] .....   181.805622: churn: (cpuset_write_resmask+0x0/0xbc0)
 runc:[2:INIT]-638     [004] .....   192.974266: churn: (cpuset_write_resmask+0x0/0xbc0)
      numa-agent-427     [004] d..1.   193.002544: churn: (cpuset_write_resmask+0x0/0xbc0)
      numa-agent-427     [004] .....   193.100000: other: (something+0x0/0xbc0)
"""


def test_writes_are_counted_by_command() -> None:
    assert writers(TRACE) == {"numa-agent": 2, "runc:[2:INIT]": 1}


@pytest.fixture
def leaf(tmp_path: Path) -> Path:
    made = tmp_path / "kubepods/burstable/poda/app"
    made.mkdir(parents=True)
    (made / "cpuset.cpus.effective").write_text("0-7\n")
    return made


@pytest.fixture
def sampler(leaf: Path, tmp_path: Path) -> Iterator[Sampler]:
    """On what `leaf` made."""
    assert leaf.exists()
    with closing(Sampler(tmp_path, tmp_path)) as made:
        yield made


def seen(folder: Path) -> list[tuple[Any, ...]]:
    lines = map(json.loads, (folder / "samples").read_text().splitlines())
    return [(each["pod"], each["leaf"], each["cpus"]) for each in lines]


def test_a_change_is_told_once_and_the_end_too(
    sampler: Sampler, leaf: Path, tmp_path: Path
) -> None:
    sampler.look()
    sampler.look()
    assert seen(tmp_path) == [("a", "app", "0-7")]
    (leaf / "cpuset.cpus.effective").write_text("2-3\n")
    sampler.look()
    shutil.rmtree(leaf)
    sampler.look()
    sampler.look()
    assert seen(tmp_path) == [("a", "app", "0-7"), ("a", "app", "2-3"), ("a", "app", None)]


def test_a_container_that_comes_later_is_followed(
    sampler: Sampler, leaf: Path, tmp_path: Path
) -> None:
    sampler.look()
    later = leaf.with_name("again")
    later.mkdir()
    (later / "cpuset.cpus.effective").write_text("4\n")
    sampler.look()
    assert seen(tmp_path) == [("a", "app", "0-7"), ("a", "again", "4")]
