"""What is told of the process itself, whatever /proc says."""

import os
from pathlib import Path

import pytest

from numa_agent.serve.metrics.process import Process

STAT = f"{os.getpid()} (a b) c) S " + " ".join(str(number) for number in range(4, 53))
LIMITS = "Limit  Soft  Hard\nMax open files            1024                 4096        files\n"
GOOD = {"stat": "cpu 1\nbtime 1767225600\n", "self/stat": STAT, "self/limits": LIMITS}


def told(proc: Path, **changes: str | None) -> set[str]:
    files: dict[str, str | None] = {**GOOD, **changes}
    (proc / "self" / "fd").mkdir(parents=True)
    for name, text in files.items():
        if text is not None:
            (proc / name).write_text(text)
    return {family.name for family in Process("ack", str(proc)).collect()}


OWN = {"numa_agent_build_info", "numa_agent_threads"}
TIMES = {
    "process_virtual_memory_bytes",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_cpu_seconds",
}
FILES = {"process_open_fds", "process_max_fds"}


def test_all_is_told_of_a_usual_proc(tmp_path: Path) -> None:
    assert told(tmp_path) == OWN | TIMES | FILES


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"stat": None}, set()),
        ({"stat": ""}, set()),
        ({"self/stat": None}, FILES),
        ({"self/stat": ""}, set()),
        ({"self/stat": "1 (x) S"}, set()),
        ({"self/limits": None}, TIMES),
        ({"self/limits": ""}, set()),
        ({"self/limits": LIMITS.replace("1024", "unlimited")}, set()),
    ],
)
def test_what_proc_does_not_tell_is_left_out(
    changes: dict[str, str | None], left: set[str], tmp_path: Path
) -> None:
    assert told(tmp_path, **changes) == OWN | left
