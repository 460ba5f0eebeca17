"""What the kernel may refuse, by its own limits and by every errno that it has for it."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from numa_agent.host.watch import Followed, Instance, Raw, Role, Watch, open_instance
from tests.host.watch.events import created, gone, lost, write, written

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
MOST_QUEUED = 100_000
"""The longest queue that a test fills."""


def failed(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@dataclass
class Kernel:
    """The real inotify, which refuses what a test says."""

    room: int = 1_000
    refused: dict[str, int] = field(default_factory=dict)
    open_error: int | None = None
    read_error: int | None = None

    def open(self) -> Instance:
        if self.open_error is not None:
            raise failed(self.open_error)
        return Limited(self, open_instance())


@dataclass
class Limited:
    """An inotify instance with room for so many watches."""

    kernel: Kernel
    real: Instance
    held: set[int] = field(default_factory=set)

    def fileno(self) -> int:
        return self.real.fileno()

    def add_watch(self, path: Path, mask: int) -> int:
        if (number := self.kernel.refused.get(path.name)) is not None:
            raise failed(number)
        wd = self.real.add_watch(path, mask)
        if wd not in self.held and len(self.held) >= self.kernel.room:
            self.real.rm_watch(wd)
            raise failed(errno.ENOSPC)
        self.held.add(wd)
        return wd

    def rm_watch(self, wd: int) -> None:
        self.held.discard(wd)
        self.real.rm_watch(wd)

    def read(self, timeout: int) -> Iterable[Raw]:
        if self.kernel.read_error is not None:
            raise failed(self.kernel.read_error)
        return self.real.read(timeout)

    def close(self) -> None:
        self.held.clear()
        self.real.close()


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def limited(kernel: Kernel) -> Iterator[Watch]:
    with closing(Watch(kernel.open)) as watch:
        yield watch


@pytest.fixture
def pods(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths:
        path.mkdir()
    return paths


def test_without_room_for_a_watch_the_others_go_on_and_it_says_what_to_do(
    kernel: Kernel, limited: Watch, pods: list[Path]
) -> None:
    kernel.room = 1
    outcomes = [limited.follow(pod, Role.CGROUP) for pod in pods]
    assert outcomes == [Followed.FOLLOWED, Followed.REFUSED, Followed.REFUSED]
    assert limited.degraded == (
        f"2 directories aren't followed, list periodically: {pods[1]}: No space left on device"
        " (the user has no inotify watch left, raise fs.inotify.max_user_watches)"
    )
    for pod in pods:
        (pod / "c1").mkdir()
    assert limited.events(0) == [created(pods[0] / "c1")]


def test_when_there_is_room_again_it_follows_and_lists_what_it_missed(
    kernel: Kernel, limited: Watch, pods: list[Path]
) -> None:
    kernel.room = 1
    for pod in pods[:2]:
        limited.follow(pod, Role.CGROUP)
    (pods[1] / "c1").mkdir()
    limited.forget(pods[0])
    assert limited.follow(pods[1], Role.CGROUP) is Followed.FOLLOWED
    assert limited.degraded is None
    assert limited.events(0) == [created(pods[1] / "c1")]


def test_without_an_instance_it_waits_in_vain_until_one_can_be_opened(
    kernel: Kernel, limited: Watch, pods: list[Path]
) -> None:
    kernel.open_error = errno.EMFILE
    assert limited.follow(pods[0], Role.CGROUP) is Followed.REFUSED
    assert "raise fs.inotify.max_user_instances" in (limited.degraded or "")
    assert limited.events(0.01) == []
    kernel.open_error = None
    (pods[0] / "c1").mkdir()
    assert limited.follow(pods[0], Role.CGROUP) is Followed.FOLLOWED
    assert limited.degraded is None
    assert limited.events(0) == [created(pods[0] / "c1")]


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENODEV])
def test_what_has_gone_is_no_refusal(
    kernel: Kernel, limited: Watch, pods: list[Path], number: int
) -> None:
    limited.follow(pods[0], Role.CGROUP)
    kernel.refused["a"] = number
    assert limited.follow(pods[0], Role.CGROUP) is Followed.GONE
    assert limited.degraded is None
    assert limited.followed == frozenset()


REFUSALS = [
    *(errno.EACCES, errno.EBADF, errno.EEXIST, errno.EINVAL, errno.EIO, errno.ELOOP, errno.EMFILE),
    *(errno.ENAMETOOLONG, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.ENOTDIR, errno.EPERM),
    *(errno.EROFS, errno.ESTALE),
]


@pytest.mark.parametrize("number", REFUSALS, ids=errno.errorcode.get)
def test_any_other_refusal_costs_that_directory_alone_and_is_said(
    kernel: Kernel, limited: Watch, pods: list[Path], number: int
) -> None:
    kernel.refused["b"] = number
    outcomes = [limited.follow(pod, Role.CGROUP) for pod in pods]
    assert outcomes == [Followed.FOLLOWED, Followed.REFUSED, Followed.FOLLOWED]
    assert f"{pods[1]}: {os.strerror(number)}" in (limited.degraded or "")
    (pods[1] / "c1").mkdir()
    (pods[2] / "c1").mkdir()
    assert limited.events(0) == [created(pods[2] / "c1")]


@pytest.mark.parametrize(
    "number",
    [errno.EBADF, errno.EINVAL, errno.EIO, errno.ENOMEM],
    ids=errno.errorcode.get,
)
def test_an_instance_that_can_t_be_read_any_more_is_told_and_replaced(
    kernel: Kernel, limited: Watch, pods: list[Path], number: int
) -> None:
    for pod in pods[:2]:
        limited.follow(pod, Role.CGROUP)
    kernel.read_error = number
    assert limited.events(0) == [lost(pod) for pod in pods[:2]]
    assert limited.events(0.01) == []
    assert "2 directories aren't followed" in (limited.degraded or "")
    kernel.read_error = None
    (pods[0] / "c1").mkdir()
    assert [limited.follow(pod, Role.CGROUP) for pod in pods[:2]] == [Followed.FOLLOWED] * 2
    assert limited.degraded is None
    assert limited.events(0) == [created(pods[0] / "c1")]


def fill_queue(folder: Path) -> None:
    """Let more happen in a followed directory than the kernel keeps for one who doesn't read."""
    length = int(QUEUE.read_text())
    if length > MOST_QUEUED:
        pytest.skip(f"the kernel queues {length} events here")
    files = (folder / "cpuset.cpus", folder / "cpuset.mems")
    for file in files:
        file.touch()
    # In turns, since the kernel merges an event with an equal one that is queued last.
    for _ in range(length // 2 + 1):
        for file in files:
            write(file, "0\n")


def test_a_full_queue_is_told_for_every_directory_with_what_is_there_now(
    watch: Watch, pods: list[Path]
) -> None:
    first, second, third = pods
    for pod in pods:
        watch.follow(pod, Role.CGROUP)
    fill_queue(first)
    (second / "c1").mkdir()
    third.rmdir()
    told = watch.events(0)
    assert told[told.index(lost(first)) :] == [
        lost(first),
        lost(second),
        created(second / "c1"),
        lost(third),
        gone(third),
    ]
    assert watch.followed == {first, second}
    assert watch.degraded is None
    write(first / "cpuset.cpus", "0\n")
    assert watch.events(0) == [written(first / "cpuset.cpus")]


def test_a_full_queue_finds_the_directory_that_was_replaced_meanwhile(
    watch: Watch, pods: list[Path]
) -> None:
    first, second, _ = pods
    for pod in pods[:2]:
        watch.follow(pod, Role.CGROUP)
    fill_queue(first)
    second.rmdir()
    (second / "c1").mkdir(parents=True)
    told = watch.events(0)
    assert told[-3:] == [lost(first), lost(second), created(second / "c1")]
    (second / "c2").mkdir()
    assert watch.events(0) == [created(second / "c2")]


LIMITED = """
import sys
from pathlib import Path
from numa_agent.host.watch import Role, Watch
folder, limits = Path(sys.argv[1]), Path("/proc/sys/user")
(limits / "max_inotify_watches").write_text("2")
watch = Watch()
print(*(watch.follow(folder / name, Role.CGROUP) for name in "abc"))
print(watch.degraded)
(limits / "max_inotify_instances").write_text("1")
other = Watch()
print(other.follow(folder / "a", Role.CGROUP), other.events(0))
print(other.degraded)
watch.close()
print(other.follow(folder / "a", Role.CGROUP), other.degraded)
other.close()
"""


def test_the_kernel_s_own_limits_are_met_with_words(tmp_path: Path, pods: list[Path]) -> None:
    """A user namespace has limits of its own: sysctl user.max_inotify_watches."""
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("this machine lets nobody make a user namespace")
    done = subprocess.run(
        [*alone, sys.executable, "-c", LIMITED, tmp_path],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "followed followed refused",
        f"1 directory isn't followed, list periodically: {pods[2]}: No space left on device"
        " (the user has no inotify watch left, raise fs.inotify.max_user_watches)",
        "refused []",
        f"1 directory isn't followed, list periodically: {pods[0]}: Too many open files"
        " (no inotify instance or open file is left, raise fs.inotify.max_user_instances"
        " or the limit of open files)",
        "followed None",
    ]


OUT_OF_FILES = """
import os, resource
from pathlib import Path
from numa_agent.core.errors import SourceError
from numa_agent.host.watch import Watch
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 4096))
try:
    Watch()
except SourceError as error:
    print(error)
"""


def test_a_process_that_may_open_no_more_files_is_told_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_FILES],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == (
        "nothing can be waited for: Too many open files; raise the limit of open files\n"
    )
