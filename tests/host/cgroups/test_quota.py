"""How much CPU time a cgroup may use."""

from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.cgroups import CpusetTree
from tests.machine_tree import CGROUP, Tree

PATH = "kubepods/pod1"


def v2(root: Path, text: str) -> CpusetTree:
    tree = Tree(root).file(f"{CGROUP}/cgroup.controllers", "cpuset cpu")
    tree.cgroup_v2("", "", "0-7").cgroup_v2(PATH, "", "0-7")
    tree.file(f"{CGROUP}/{PATH}/cpu.max", text)
    return CpusetTree(root)


def v1(root: Path, quota: str, mount: str = "cpu,cpuacct") -> CpusetTree:
    tree = Tree(root).cgroup_v1("", "0-7").cgroup_v1(PATH, "0-7")
    files = {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000"}
    tree.files(f"{CGROUP}/{mount}/{PATH}", **files)
    return CpusetTree(root)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("max 100000", None),
        ("200000 100000", 2.0),
        ("50000 100000", 0.5),
        ("odd", None),
        ("0 100000", None),
        ("1 0", None),
    ],
)
def test_a_v2_quota_is_its_share_of_the_period(
    text: str, cpus: float | None, tmp_path: Path
) -> None:
    assert v2(tmp_path, text).quota(PATH) == cpus


@pytest.mark.parametrize(("quota", "cpus"), [("-1", None), ("150000", 1.5)])
@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
def test_a_v1_quota_is_in_another_hierarchy(
    quota: str, cpus: float | None, mount: str, tmp_path: Path
) -> None:
    assert v1(tmp_path, quota, mount).quota(PATH) == cpus


def test_without_the_controller_or_the_cgroup_there_is_none(tmp_path: Path) -> None:
    tree = v2(tmp_path, "200000 100000")
    assert tree.quota("kubepods/pod2") is None
    (tmp_path / CGROUP / PATH / "cpu.max").unlink()
    assert tree.quota(PATH) is None


def test_lifting_writes_what_means_unbounded(tmp_path: Path) -> None:
    written: list[tuple[str, str]] = []
    pod = "kubepods/pod" + "1" * 8 + "-1111-4111-8111-" + "1" * 12
    tree = Tree(tmp_path).file(f"{CGROUP}/cgroup.controllers", "cpuset cpu")
    tree.cgroup_v2("", "", "0-7").cgroup_v2("kubepods", "", "0-7").cgroup_v2(pod, "", "0-7")
    tree.file(f"{CGROUP}/{pod}/cpu.max", "200000 100000")
    cpusets = CpusetTree(
        tmp_path, put=lambda path, text: written.append((str(path.relative_to(tmp_path)), text))
    )
    cpusets.pod_directories()
    cpusets.lift_quota(pod)
    assert written == [(f"{CGROUP}/{pod}/cpu.max", "max\n")]
    with pytest.raises(SourceError, match="never written"):
        cpusets.lift_quota("kubepods")
