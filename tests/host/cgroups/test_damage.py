"""Damaged, hostile and huge hierarchies: what is bad is left out and named, and costs no more."""

import os
from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.host.cgroups import CgroupError, GoneError, NeverWrittenError, RefusedError
from numa_agent.host.cgroups.folder import MAX_ENTRIES
from numa_agent.host.cgroups.reading import MAX_DEPTH, MAX_NESTED
from tests.host.cgroups.hierarchies import Hierarchy
from tests.machine_tree import container_id, cpus, pod

POD = f"kubepods/pod{pod(1).uid}"
LEAF = f"{POD}/{container_id(1)}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"all\n", "not a CPU list: 'all'"),
        (b"0-3\n junk\n", "not a CPU list"),
        (b"0-3 4\n", "not a CPU list"),
        (b"0-3", "it doesn't end with a newline, so it was cut short"),
        (b"", "it doesn't end with a newline, so it was cut short"),
        (b"\xff\n", "it isn't text"),
        (b"0\0\n", "not a CPU list"),
        (b"3-1\n", "reversed range"),
        (b"0-4294967295\n", "more than 65535"),
        (b"1," * 40000 + b"1\n", "longer than 65536 bytes"),
    ],
)
@pytest.mark.parametrize("name", ["cpus", "effective_cpus", "mems", "effective_mems"])
def test_a_damaged_set_is_unknown_and_named_and_the_others_are_read(
    name: str, content: bytes, why: str, tmp_path: Path
) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group(LEAF, (7,), cpus="1", mems="1")
    file = machine.names[name]
    machine.machine.raw(f"{machine.at}/{LEAF}/{file}", content)
    groups = machine.tree(warn=said.append).find(pod(1))
    assert groups is not None
    group = groups.containers[0].group
    right = {
        "cpus": cpus("1"),
        "effective_cpus": cpus("0-7"),
        "mems": cpus("1"),
        "effective_mems": cpus("0-1"),
    } | {name: None}
    assert {key: getattr(group, key) for key in right} == right
    assert len(said) == 1
    assert said[0].startswith(f"{LEAF}/{file}: ")
    assert why in said[0]
    assert said[0].endswith("; taken as unknown")


def test_a_missing_set_is_unknown_without_a_word(tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    (machine.folder / LEAF / "cpuset.mems.effective").unlink()
    assert machine.tree(warn=said.append).read(LEAF).effective_mems is None
    assert said == []


@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
def test_what_is_no_file_is_unknown_and_blocks_nobody(kind: str, tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group(LEAF, (7,))
    file = machine.folder / LEAF / "cpuset.cpus"
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    else:
        file.symlink_to(machine.folder / LEAF / "cpuset.cpus.effective")
    groups = machine.tree(warn=said.append).find(pod(1))
    assert groups is not None
    assert groups.containers[0].group.cpus is None
    assert groups.containers[0].group.effective_cpus == cpus("0-7")
    assert any(sentence.startswith(f"{LEAF}/cpuset.cpus") for sentence in said)


def outside(machine: Hierarchy) -> Path:
    """A directory beside the hierarchy that looks like a container's."""
    other = Hierarchy(machine.machine.root, machine.version, at="outside")
    other.group("x", (9,), cpus="7", effective_cpus="7")
    return other.folder / "x"


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("level", ["kubepods", "kubepods/burstable", POD, LEAF, f"{LEAF}/nested"])
def test_a_planted_link_is_never_followed(level: str, version: Version, tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path, version)
    target = outside(machine)
    link = machine.folder / level
    if "/" in level:
        machine.group(str(Path(level).parent))
    link.symlink_to(target)
    tree = machine.tree(warn=said.append)
    groups = tree.find(pod(1))
    read = groups and [c.group for c in groups.containers] + [
        group for c in groups.containers for group in c.nested
    ]
    assert all(group.cpus != cpus("7") for group in read or ())
    assert all(level not in path for path in tree.pod_directories().values())
    assert any(sentence.startswith(f"{level}: ") for sentence in said)
    for act in (lambda: tree.read(level), lambda: tree.tasks_allowed(level)):
        with pytest.raises(RefusedError, match="never followed"):
            act()
    if level in {POD, LEAF, f"{LEAF}/nested"}:
        with pytest.raises(RefusedError, match="never followed"):
            tree.write(level, "cpus", cpus("1"))
    else:
        with pytest.raises(NeverWrittenError):
            tree.write(level, "cpus", cpus("1"))
    name = machine.names["cpus"]
    assert (target / name).read_text() == "7\n"


def test_a_link_in_a_longer_path_is_not_followed_either(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(LEAF)
    (machine.folder / POD / "way").symlink_to(outside(machine).parent)
    for path in (f"{POD}/way/x", f"{POD}/way/../x", f"{POD}//{container_id(1)}", f"/{LEAF}", ".."):
        with pytest.raises(CgroupError):
            machine.tree().write(path, "cpus", cpus("1"))
        with pytest.raises(CgroupError):
            machine.tree().read(path)


def test_a_path_that_isn_t_there_is_gone(tmp_path: Path) -> None:
    tree = Hierarchy(tmp_path).group(POD).tree()
    for act in (tree.read, tree.tasks_allowed):
        with pytest.raises(GoneError, match=f"{LEAF}: not there"):
            act(LEAF)


def test_the_hierarchy_s_root_is_read_by_the_empty_path(tmp_path: Path) -> None:
    assert Hierarchy(tmp_path).tree().read("").effective_cpus == cpus("0-7")


@pytest.mark.parametrize("version", Version)
def test_cgroups_inside_a_container_are_counted_up_to_a_bound(
    version: Version, tmp_path: Path
) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path, version).group(LEAF)
    for number in range(MAX_NESTED + 5):
        (machine.folder / LEAF / f"n{number:04}").mkdir()
    groups = machine.tree(warn=said.append).find(pod(1))
    assert groups is not None
    (only,) = groups.containers
    assert len(only.nested) == MAX_NESTED
    assert f"{LEAF}: over {MAX_NESTED} cgroups in it; the rest is left out" in said
    # A process may be in one that wasn't looked at, which v2 tells without looking.
    assert only.group.populated is (False if version is Version.V2 else None)


def test_cgroups_inside_a_container_are_looked_at_down_to_a_bound(tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group("/".join([LEAF, *"d" * (MAX_DEPTH + 3)]))
    groups = machine.tree(warn=said.append).find(pod(1))
    assert groups is not None
    assert len(groups.containers[0].nested) == MAX_DEPTH
    assert any(f"over {MAX_DEPTH} cgroups deep" in sentence for sentence in said)


def test_a_directory_is_listed_up_to_a_bound(tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group("kubepods/burstable")
    folder = machine.folder / "kubepods"
    for number in range(MAX_ENTRIES):
        os.link(folder / "cgroup.procs", folder / f"f{number}")
    tree = machine.tree(warn=said.append)
    assert len(tree.pod_directories()) == 0
    assert f"kubepods: over {MAX_ENTRIES} entries; the rest is left out" in said


def test_a_name_of_any_bytes_is_read_and_can_be_shown(tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path).group(LEAF)
    odd = os.fsencode(machine.folder / LEAF) + b"/\xff\xfe"
    os.mkdir(odd)
    Path(os.fsdecode(odd), "cpuset.cpus").write_text("junk\n")
    groups = machine.tree(warn=said.append).find(pod(1))
    assert groups is not None
    assert len(groups.containers[0].nested) == 1
    for sentence in said:
        sentence.encode("utf-8")
    assert any(sentence.startswith(f"{LEAF}/\\xff\\xfe/cpuset.cpus: ") for sentence in said)
