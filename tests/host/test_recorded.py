"""A recorded machine's cgroups keep the rules that were measured on real kernels."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.recorded import RecordedKernel, is_recorded, read_answer
from tests.machine_tree import CGROUP, CPU, Tree

POD, LEAF = "kubepods/pod1", "kubepods/pod1/c1"


def v1(root: Path) -> Tree:
    """CPUs 0-7 of 16 possible are online; the pod has 0-5 and its container 0-3."""
    tree = Tree(root).file(f"{CPU}/online", "0-7").file(f"{CPU}/possible", "0-15")
    tree.cgroup_v1("", "0-7").cgroup_v1("kubepods", "0-7")
    return tree.cgroup_v1(POD, "0-5").cgroup_v1(LEAF, "0-3")


def v2(root: Path) -> Tree:
    """The same on v2, where the container's own container inherits."""
    tree = Tree(root).file(f"{CPU}/online", "0-7").file(f"{CPU}/possible", "0-15")
    tree.cgroup_v2("", "", "0-7").cgroup_v2("kubepods", "", "0-7").cgroup_v2(POD, "0-5", "0-5")
    return tree.cgroup_v2(LEAF, "0-3", "0-3", procs="17").cgroup_v2(f"{LEAF}/x", "", "0-3", "18")


def put(tree: Tree, path: str, text: str) -> None:
    RecordedKernel(tree.root).put(tree.root / CGROUP / path / "cpuset.cpus", f"{text}\n")


def refused(tree: Tree, path: str, text: str) -> int | None:
    """The errno of a write that must not change the file."""
    file = tree.root / CGROUP / path / "cpuset.cpus"
    before = file.read_text()
    with pytest.raises(OSError, match=path) as caught:
        put(tree, path, text)
    assert file.read_text() == before
    return caught.value.errno


def in_force(tree: Tree, path: str, name: str = "cpuset.cpus.effective") -> str:
    return (tree.root / CGROUP / path / name).read_text().strip()


def test_v1_takes_a_set_within_the_parent_s_and_has_it_in_force(tmp_path: Path) -> None:
    tree = v1(tmp_path)
    put(tree, f"cpuset/{LEAF}", "2,4-5")
    assert in_force(tree, f"cpuset/{LEAF}", "cpuset.cpus") == "2,4-5"
    assert in_force(tree, f"cpuset/{LEAF}", "cpuset.effective_cpus") == "2,4-5"
    assert in_force(tree, f"cpuset/{POD}", "cpuset.effective_cpus") == "0-5"


# Case 06: neither a child beyond its parent nor a parent below its child.
@pytest.mark.parametrize(
    ("path", "text", "number"),
    [
        (LEAF, "4-6", errno.EACCES),
        (POD, "0-2", errno.EBUSY),
        ("kubepods", "0-4", errno.EBUSY),
        (LEAF, "3,8", errno.EINVAL),
        (LEAF, "15", errno.EINVAL),
        (LEAF, "16", errno.ERANGE),
        (LEAF, "", errno.ENOSPC),
    ],
)
def test_v1_refuses_with_the_kernel_s_errno_and_keeps_what_was(
    path: str, text: str, number: int, tmp_path: Path
) -> None:
    assert refused(v1(tmp_path), f"cpuset/{path}", text) == number


def test_v1_moves_a_container_when_its_parent_is_widened_first(tmp_path: Path) -> None:
    # Case 06: 0-1 to 1-2 below a parent of 0-1: widen, write the leaf, then narrow.
    tree = Tree(tmp_path).file(f"{CPU}/online", "0-7").file(f"{CPU}/possible", "0-7")
    tree.cgroup_v1("", "0-7").cgroup_v1("p", "0-1").cgroup_v1("p/c", "0-1")
    assert refused(tree, "cpuset/p/c", "1-2") == errno.EACCES
    put(tree, "cpuset/p", "0-2")
    put(tree, "cpuset/p/c", "1-2")
    put(tree, "cpuset/p", "1-2")
    assert in_force(tree, "cpuset/p/c", "cpuset.effective_cpus") == "1-2"


def test_v2_takes_any_set_and_what_it_shares_with_the_parent_is_in_force(tmp_path: Path) -> None:
    tree = v2(tmp_path)
    put(tree, LEAF, "4-6")
    assert in_force(tree, LEAF, "cpuset.cpus") == "4-6"
    assert in_force(tree, LEAF) == "4-5"


@pytest.mark.parametrize("text", ["6-7", "9-10", "15"])
def test_v2_has_the_parent_s_cpus_in_force_where_nothing_is_shared(
    text: str, tmp_path: Path
) -> None:
    # Case 49. CPUs 9-10 and 15 may be plugged in one day, and 6-7 aren't the pod's.
    tree = v2(tmp_path)
    put(tree, LEAF, text)
    assert in_force(tree, LEAF, "cpuset.cpus") == text
    assert in_force(tree, LEAF) == "0-5"


def test_v2_narrows_what_is_in_force_below_a_parent_too(tmp_path: Path) -> None:
    tree = v2(tmp_path)
    put(tree, POD, "2-3,7")
    assert [in_force(tree, path) for path in (POD, LEAF, f"{LEAF}/x")] == ["2-3,7", "2-3", "2-3"]
    assert in_force(tree, LEAF, "cpuset.cpus") == "0-3"
    put(tree, POD, "7")
    assert [in_force(tree, path) for path in (POD, LEAF, f"{LEAF}/x")] == ["7", "7", "7"]
    put(tree, POD, "0-5")
    assert [in_force(tree, path) for path in (POD, LEAF, f"{LEAF}/x")] == ["0-5", "0-3", "0-3"]


def test_v2_inherits_where_a_group_without_processes_has_no_set(tmp_path: Path) -> None:
    tree = v2(tmp_path).cgroup_v2(f"{POD}/c2", "1", "1")
    put(tree, f"{POD}/c2", "")
    assert in_force(tree, f"{POD}/c2") == "0-5"


@pytest.mark.parametrize(("text", "number"), [("16", errno.ERANGE), ("", errno.ENOSPC)])
def test_v2_refuses_an_impossible_cpu_and_emptying_a_group_with_processes(
    text: str, number: int, tmp_path: Path
) -> None:
    assert refused(v2(tmp_path), LEAF, text) == number


def test_a_cgroup_that_has_gone_isn_t_made_anew(tmp_path: Path) -> None:
    tree = v2(tmp_path).files(f"{CGROUP}/{POD}/c9")
    with pytest.raises(FileNotFoundError):
        put(tree, f"{POD}/c9", "0")
    assert not (tmp_path / CGROUP / POD / "c9/cpuset.cpus").exists()


def test_a_folder_with_the_mark_is_a_recorded_machine(tmp_path: Path) -> None:
    assert not is_recorded(tmp_path)
    assert is_recorded(Tree(tmp_path).file("recorded.yaml", "name: x").root)


def test_an_answer_is_a_json_object(tmp_path: Path) -> None:
    tree = Tree(tmp_path).file("answers/node.json", '{"kind": "Node"}')
    assert read_answer(tree.root, "node") == {"kind": "Node"}


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 50_000])
def test_an_answer_that_is_none_is_named(content: bytes, tmp_path: Path) -> None:
    Tree(tmp_path).raw("answers/pods.json", content)
    with pytest.raises(SourceError, match=f"^{tmp_path / 'answers/pods.json'}: "):
        read_answer(tmp_path, "pods")


def test_an_answer_that_isn_t_kept_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not there; a recorded machine keeps the answer in it"):
        read_answer(tmp_path, "pods")


@pytest.mark.parametrize("linked", ["kubepods/pod1/c1", "kubepods", ""])
def test_nothing_outside_the_folder_is_written_wherever_links_lead(
    linked: str, tmp_path: Path
) -> None:
    outside = v2(tmp_path / "outside").root / CGROUP
    tree = v2(tmp_path / "machine")
    shutil.rmtree(tree.root / CGROUP / linked)
    (tree.root / CGROUP / linked).symlink_to(outside / linked)
    before = (outside / LEAF / "cpuset.cpus").read_text()
    with pytest.raises(OSError, match=os.strerror(errno.EXDEV)):
        RecordedKernel(tree.root).put(tree.root / CGROUP / LEAF / "cpuset.cpus", "2-3\n")
    assert (outside / LEAF / "cpuset.cpus").read_text() == before


def test_a_garbled_file_on_the_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    tree = v2(tmp_path)
    (tree.root / CGROUP / POD / "cpuset.cpus.effective").write_text("what\n")
    before = (tree.root / CGROUP / LEAF / "cpuset.cpus").read_text()
    with pytest.raises(OSError, match="not a CPU list"):
        RecordedKernel(tree.root).put(tree.root / CGROUP / LEAF / "cpuset.cpus", "2-3\n")
    assert (tree.root / CGROUP / LEAF / "cpuset.cpus").read_text() == before
