"""What the kernel lets a process have, by its files."""

import os
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.measuring import read_allowed
from numa_agent.host.measuring.limits import read_headroom, read_mems, read_quota

MIB = 1 << 20


class Process:
    """A process's proc folder and the cgroup mount that it sees."""

    def __init__(self, root: Path, cgroup: str, status: str = "") -> None:
        self.root = root
        self.file("proc/self/cgroup", cgroup)
        self.file("proc/self/status", status)

    def file(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def group(self, path: str, **files: str) -> "Process":
        for name, text in files.items():
            self.file(f"cgroup/{path}/{name.replace('__', '.')}", f"{text}\n")
        return self

    @property
    def headroom(self) -> int | None:
        return read_headroom(str(self.root / "proc"), str(self.root / "cgroup"))

    @property
    def quota(self) -> float | None:
        return read_quota(str(self.root / "proc"), str(self.root / "cgroup"))


def test_of_all_cgroups_above_the_tightest_counts(tmp_path: Path) -> None:
    process = Process(tmp_path, "0::/a/b\n")
    process.group("", memory__max="max", memory__current="0")
    process.group("a", memory__max=str(100 * MIB), memory__current=str(60 * MIB))
    process.group("a/b", memory__max=str(64 * MIB), memory__current=str(4 * MIB))
    assert process.headroom == 40 * MIB


def test_in_a_container_the_mount_is_its_own_cgroup(tmp_path: Path) -> None:
    limits = {"memory__max": str(128 * MIB), "memory__current": str(30 * MIB)}
    assert Process(tmp_path / "v2", "0::/\n").group("", **limits).headroom == 98 * MIB
    v1 = Process(tmp_path / "v1", "9:memory:/kubepods/pod1/c1\n3:cpu,cpuacct:/x\n")
    v1.group("memory", memory__limit_in_bytes=str(128 * MIB), memory__usage_in_bytes=str(28 * MIB))
    assert v1.headroom == 100 * MIB


def test_more_than_the_limit_leaves_nothing(tmp_path: Path) -> None:
    process = Process(tmp_path, "0::/a\n").group("a", memory__max="10", memory__current="20")
    assert process.headroom == 0


@pytest.mark.parametrize("cgroup", ["", "0::/../../etc\n", "nonsense\n", "0::\n", ":::\n" * 99])
def test_where_nothing_is_known_nothing_limits(cgroup: str, tmp_path: Path) -> None:
    process = Process(tmp_path, cgroup)
    assert (process.headroom, process.quota) == (None, None)
    process.group("", memory__max="many", memory__current="-3", cpu__max="a lot of it")
    assert (process.headroom, process.quota) == (None, None)


def test_without_proc_nothing_is_known_to_limit(tmp_path: Path) -> None:
    assert read_headroom(str(tmp_path), str(tmp_path)) is None


def test_a_quota_of_cpu_time_is_the_tightest_of_all(tmp_path: Path) -> None:
    process = Process(tmp_path, "0::/a/b\n")
    process.group("a", cpu__max="150000 100000").group("a/b", cpu__max="max 100000")
    assert process.quota == 1.5
    v1 = Process(tmp_path / "v1", "3:cpu,cpuacct:/x\n")
    v1.group("cpu/x", cpu__cfs_quota_us="20000", cpu__cfs_period_us="100000")
    assert v1.quota == 0.2
    v1.group("cpu/x", cpu__cfs_quota_us="-1")
    assert v1.quota is None


def test_memory_nodes_are_those_of_the_cpuset(tmp_path: Path) -> None:
    Process(tmp_path, "", "Mems_allowed:\t0b\nMems_allowed_list:\t0-1,3\n")
    assert read_mems(str(tmp_path / "proc")) == {0, 1, 3}


@pytest.mark.parametrize(
    ("status", "said"),
    [("Name: x\n", "has no Mems_allowed_list"), ("Mems_allowed_list:\tall\n", "not a CPU list")],
)
def test_unknown_memory_nodes_are_an_error_with_the_path(
    status: str, said: str, tmp_path: Path
) -> None:
    Process(tmp_path, "", status)
    with pytest.raises(SourceError, match=f"proc/self/status.*{said}"):
        read_mems(str(tmp_path / "proc"))
    with pytest.raises(SourceError, match="can't be read"):
        read_mems(str(tmp_path / "nowhere"))


def test_this_process_is_allowed_what_the_kernel_says() -> None:
    found = read_allowed(Path("/"), [0])
    assert found.cpus == os.sched_getaffinity(0)
    assert found.mems
    assert found.headroom is None or found.headroom >= 0
    free = found.free[0]
    assert free is None or free > 0
