"""Against this computer's own v1 cpuset hierarchy, where it has one and we are root."""

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups import CpusetTree, GoneError, RefusedError
from numa_agent.host.cgroups.reading import sets_of
from tests.machine_tree import container_id, cpus, pod, uid
from tests.v1_cpuset import CPUSET, needs_v1_cpuset, process_in

ROOT = f"numa-agent-test-cgroups-{os.getpid()}"
POD = f"{ROOT}/kubepods/pod{uid(1)}"
LEAF = f"{POD}/{container_id(1)}"
INSIDE = f"{LEAF}/container"


pytestmark = needs_v1_cpuset


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a cgroup inside a container's, below a cgroupRoot of ours."""
    groups = [ROOT, f"{ROOT}/kubepods", POD, LEAF, INSIDE]
    with process_in([CPUSET / group for group in groups]) as running:
        yield running


def test_a_pod_is_found_read_and_written_and_its_task_s_mask_follows(
    process: subprocess.Popen[bytes],
) -> None:
    tree = CpusetTree(Path("/"), lambda: ROOT)
    tree.check_writable()
    assert (tree.mount().path, tree.mount().version) == (CPUSET, Version.V1)
    assert tree.pod_directories() == {uid(1): POD}
    assert tree.parents() == (f"{ROOT}/kubepods",)
    for path in (INSIDE, LEAF):
        tree.write(path, "cpus", cpus("1"))
    groups = tree.find(pod(1))
    assert groups is not None
    (only,) = groups.containers
    assert (only.group.cpus, only.group.effective_cpus) == (cpus("1"), cpus("1"))
    assert [(group.path, group.cpus) for group in only.nested] == [(INSIDE, cpus("1"))]
    assert (groups.group.populated, only.group.populated) == (True, True)
    (task,) = tree.tasks_allowed(INSIDE).tasks
    assert (task.id, task.cpus, task.mems) == (process.pid, cpus("1"), only.group.effective_mems)


def test_the_kernel_s_refusals_are_told_apart(process: subprocess.Popen[bytes]) -> None:
    tree = CpusetTree(Path("/"), lambda: ROOT)
    absent = max(cpus((CPUSET / "cpuset.cpus").read_text())) + 1
    cases = [
        (cpus("1"), {errno.EBUSY}),
        # What no CPU can be is out of range; what is only absent isn't online.
        (cpus("0-1") | {absent}, {errno.EINVAL, errno.ERANGE}),
        (frozenset({60000}), {errno.ERANGE}),
    ]
    for ids, numbers in cases:
        with pytest.raises(RefusedError) as caught:
            tree.write(LEAF, "cpus", ids)
        assert caught.value.number in numbers
    tree.write(INSIDE, "cpus", cpus("1"))
    tree.write(LEAF, "cpus", cpus("1"))
    with pytest.raises(RefusedError, match="the set must lie within the parent's"):
        tree.write(INSIDE, "cpus", cpus("0"))
    assert tree.read(INSIDE).cpus == cpus("1")
    process.kill()
    process.wait(timeout=10)
    (CPUSET / INSIDE).rmdir()
    with pytest.raises(GoneError):
        tree.write(INSIDE, "cpus", cpus("1"))


def test_containers_that_come_and_go_are_whole_or_not_there(
    process: subprocess.Popen[bytes],
) -> None:
    said: list[str] = []
    tree = CpusetTree(Path("/"), lambda: ROOT, warn=said.append)
    brief = CPUSET / POD / f"crio-{container_id(2)}"
    stop, begun = threading.Event(), threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            (brief / "inside").mkdir(parents=True)
            (brief / "inside").rmdir()
            brief.rmdir()
            begun.set()

    thread = threading.Thread(target=come_and_go, daemon=True)
    thread.start()
    seen = 0
    try:
        assert begun.wait(30)
        end, looks = time.monotonic() + 30, 0
        # On a busy computer it may be seldom caught.
        while looks < 300 or (not seen and time.monotonic() < end):
            looks += 1
            groups = tree.find(pod(1))
            assert groups is not None
            for each in groups.containers:
                seen += each.group.path == str(brief.relative_to(CPUSET))
                assert all(None not in sets_of(group) for group in (each.group, *each.nested))
    finally:
        stop.set()
        thread.join(timeout=30)
    assert seen
    assert said == []


PIDS = Path("/sys/fs/cgroup/pids")
LOOK = f"""
from pathlib import Path
from numa_agent.host.cgroups import CpusetTree
tree = CpusetTree(Path("/"), lambda: {ROOT!r})
print(tree.read({INSIDE!r}).populated, tree.tasks_allowed({INSIDE!r}).unseen)
"""


@pytest.mark.skipif(not PIDS.is_dir(), reason="no v1 pids hierarchy is mounted")
def test_from_another_pid_namespace_the_pids_controller_tells_what_is_in_a_cgroup(
    process: subprocess.Popen[bytes],
) -> None:
    elsewhere = ["unshare", "--pid", "--fork"]
    shown = subprocess.run(
        [*elsewhere, "cat", CPUSET / INSIDE / "cgroup.procs"], capture_output=True, check=True
    )
    assert shown.stdout == b"", "v1 hides tasks of other PID namespaces"
    group = PIDS / INSIDE
    group.mkdir(parents=True)
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        assert told_from(elsewhere) == "True 1"
        process.kill()
        process.wait(10)
        assert told_from(elsewhere) == "None 0"
    finally:
        process.kill()
        process.wait(10)
        for each in (group, *list(group.relative_to(PIDS).parents)[:-1]):
            (PIDS / each).rmdir()


def told_from(elsewhere: list[str]) -> str:
    """Whether a process is in INSIDE and how many are hidden there, as seen from there."""
    done = subprocess.run(
        [*elsewhere, sys.executable, "-c", LOOK], capture_output=True, check=True, text=True
    )
    return done.stdout.strip()
