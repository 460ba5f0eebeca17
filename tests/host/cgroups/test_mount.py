"""Where the cpuset hierarchy is found: by the machine's list of mounts, or by looking."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups import CpusetTree, ReadOnlyError
from numa_agent.host.cgroups.mount import find_mount, parse_mountinfo
from tests.host.cgroups.hierarchies import NOPREFIX, Hierarchy
from tests.machine_tree import CGROUP, Tree, pod

ROOT_FS = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw"
TMPFS = "30 22 0:26 / /sys/fs/cgroup ro,nosuid shared:4 - tmpfs tmpfs ro,size=4096k,mode=755"
UNIFIED = "31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:5 - cgroup2 cgroup2 rw,nsdelegate"
MEMORY = "33 30 0:29 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory"


def v2_line(point: str, root: str = "/") -> str:
    return f"25 22 0:23 {root} {point} rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate"


def v1_line(point: str, options: str = "rw,cpuset", root: str = "/") -> str:
    return f"35 30 0:31 {root} {point} rw,nosuid,relatime shared:9 - cgroup cgroup {options}"


def mounts(tree: Tree, *lines: str, process: str = "1") -> Tree:
    return tree.file(f"proc/{process}/mountinfo", "\n".join([ROOT_FS, *lines]))


def test_the_unified_hierarchy_is_found_without_a_list_of_mounts(tmp_path: Path) -> None:
    found = find_mount(Hierarchy(tmp_path).machine.root)
    assert (found.path, found.version) == (tmp_path / CGROUP, Version.V2)
    assert found.names.effective_cpus == "cpuset.cpus.effective"


@pytest.mark.parametrize("folder", ["cpuset", "cpu,cpuacct,cpuset", "cpuset,cpu", "odd"])
def test_a_v1_hierarchy_is_found_without_a_list_of_mounts(folder: str, tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, Version.V1, at=f"{CGROUP}/{folder}")
    hierarchy.machine.file(f"{CGROUP}/memory/cgroup.procs", "1")
    found = find_mount(tmp_path)
    assert (found.path, found.version) == (hierarchy.folder, Version.V1)
    assert found.names.effective_cpus == "cpuset.effective_cpus"


def test_a_v1_hierarchy_mounted_as_the_place_itself_is_found(tmp_path: Path) -> None:
    Hierarchy(tmp_path, Version.V1, at=CGROUP).group("kubepods")
    found = find_mount(tmp_path)
    assert (found.path, found.version) == (tmp_path / CGROUP, Version.V1)


@pytest.mark.parametrize("listed", [True, False])
def test_of_a_hybrid_it_is_v1_that_has_the_controller(listed: bool, tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, Version.V1)
    hierarchy.machine.file(f"{CGROUP}/unified/cgroup.controllers", "hugetlb")
    if listed:
        mounts(hierarchy.machine, TMPFS, UNIFIED, v1_line("/sys/fs/cgroup/cpuset"), MEMORY)
    found = find_mount(tmp_path)
    assert (found.path, found.version) == (hierarchy.folder, Version.V1)


def test_of_a_hybrid_without_v1_s_cpuset_it_is_the_unified_one(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, at=f"{CGROUP}/unified")
    hierarchy.machine.file(f"{CGROUP}/memory/cgroup.procs", "1")
    assert find_mount(tmp_path).path == hierarchy.folder
    mounts(hierarchy.machine, TMPFS, MEMORY, UNIFIED)
    assert find_mount(tmp_path).path == hierarchy.folder


@pytest.mark.parametrize("process", ["1", "self"])
@pytest.mark.parametrize("options", ["rw,cpuset", "rw,cpu,cpuacct,cpuset", "rw,cpuset,noprefix"])
def test_a_v1_hierarchy_is_found_by_its_option_wherever_it_is_mounted(
    options: str, process: str, tmp_path: Path
) -> None:
    names = NOPREFIX if "noprefix" in options else None
    hierarchy = Hierarchy(tmp_path, Version.V1, at="dev/cpuset", names=names)
    mounts(hierarchy.machine, MEMORY, v1_line("/dev/cpuset", options), process=process)
    found = find_mount(tmp_path)
    assert (found.path, found.version) == (hierarchy.folder, Version.V1)
    assert found.names.cpus == hierarchy.names["cpus"]
    assert found.names.effective_mems == hierarchy.names["effective_mems"]


def test_a_mount_point_s_escaped_characters_are_put_back(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, at="run/c group\\v2")
    mounts(hierarchy.machine, v2_line(r"/run/c\040group\134v2"))
    assert find_mount(tmp_path).path == hierarchy.folder


def test_a_mount_that_isn_t_below_the_host_root_is_looked_for_where_it_usually_is(
    tmp_path: Path,
) -> None:
    hierarchy = Hierarchy(tmp_path)
    mounts(hierarchy.machine, v2_line("/elsewhere"))
    assert find_mount(tmp_path).path == hierarchy.folder


def test_the_mount_that_shows_the_whole_hierarchy_comes_first(tmp_path: Path) -> None:
    part, whole = Hierarchy(tmp_path, at="part"), Hierarchy(tmp_path, at="whole")
    lines = [v2_line("/part", "/system.slice/docker-1.scope"), v2_line("/whole", "/../..")]
    mounts(whole.machine, *lines)
    assert find_mount(tmp_path).path == whole.folder
    mounts(part.machine, lines[0])
    assert find_mount(tmp_path).path == part.folder


def test_a_hidden_mount_and_a_damaged_line_are_passed_over() -> None:
    text = "\n".join(
        [
            v1_line("/a"),
            "35 30 0:31 / /a rw - tmpfs tmpfs rw",
            "35 30 0:31 /",
            "35 30 0:31 / /b rw",
            "35 30 0:31 / /b rw - cgroup2",
            " - ",
            v1_line("/c", "rw,memory"),
            v2_line("/d", r"/x\011y"),
        ]
    )
    read = parse_mountinfo(text)
    assert [(line.point, line.root, line.version) for line in read] == [
        ("/c", "/", Version.V1),
        ("/d", "/x\ty", Version.V2),
    ]
    assert read[0].options == {"rw", "memory"}


def test_without_any_hierarchy_it_is_said_what_to_mount(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no cgroup hierarchy is mounted; mount the host's"):
        find_mount(tmp_path)
    (tmp_path / CGROUP).mkdir(parents=True)
    with pytest.raises(SourceError, match=r"no cgroup hierarchy is mounted; mount the host's"):
        find_mount(tmp_path)


def test_v1_hierarchies_without_cpuset_are_told_from_none(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file(f"{CGROUP}/memory/cgroup.procs", "1")
    mounts(tree, TMPFS, MEMORY)
    with pytest.raises(SourceError, match="no cpuset hierarchy is mounted"):
        find_mount(tmp_path)


@pytest.mark.parametrize("listed", [True, False])
def test_a_controller_that_isn_t_enabled_is_told_from_one_that_isn_t_mounted(
    listed: bool, tmp_path: Path
) -> None:
    tree = Tree(tmp_path).file(f"{CGROUP}/cgroup.controllers", "cpu io memory cpusets")
    if listed:
        mounts(tree, v2_line("/sys/fs/cgroup"))
    with pytest.raises(SourceError, match=r"fs/cgroup: the cpuset controller isn't enabled: "):
        find_mount(tmp_path)


def test_a_hierarchy_that_wasn_t_there_is_looked_for_again(tmp_path: Path) -> None:
    tree = CpusetTree(tmp_path)
    with pytest.raises(SourceError):
        tree.find(pod(1))
    Hierarchy(tmp_path)
    assert tree.find(pod(1)) is None
    assert tree.mount().version is Version.V2


def test_a_writable_mount_passes_the_check(tmp_path: Path) -> None:
    Hierarchy(tmp_path).tree().check_writable()


_READ_ONLY = """
import sys
from pathlib import Path
from numa_agent.host.cgroups import CpusetTree, ReadOnlyError
try:
    CpusetTree(Path(sys.argv[1])).check_writable()
except ReadOnlyError as error:
    print(error)
"""


def test_a_read_only_mount_is_told_without_a_write(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path)
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    inside = ["unshare", "-m", "sh", "-c", script, "sh", str(hierarchy.folder)]
    if os.geteuid() != 0 or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("needs a mount namespace of its own")
    answer = subprocess.run(
        [*inside, sys.executable, "-c", _READ_ONLY, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert answer.stdout == (
        f"{hierarchy.folder}: mounted read-only; mount the host's /sys/fs/cgroup read-write\n"
    )
    assert issubclass(ReadOnlyError, SourceError)


def test_a_mount_that_goes_while_two_threads_ask_for_it_is_an_error_of_ours(
    tmp_path: Path,
) -> None:
    """The watch's thread asks too; a surprise in it would end the process."""
    hierarchy = Hierarchy(tmp_path / "host")
    tree, ending = CpusetTree(tmp_path / "host"), threading.Event()
    surprises: list[Exception] = []

    def ask() -> None:
        while not ending.is_set():
            try:
                assert tree.mount().path
            except SourceError:
                continue
            except Exception as error:
                surprises.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 1.0
        while time.monotonic() < end and not surprises:
            hierarchy.folder.rename(tmp_path / "away")
            (tmp_path / "away").rename(hierarchy.folder)
    finally:
        ending.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join(timeout=10)
    assert surprises == []
