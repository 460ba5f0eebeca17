"""A pod's cgroups: where they are under every driver, runtime and version, and what they hold."""

import os
from collections import Counter
from pathlib import Path

import pytest

from numa_agent.core.cgroups import ContainerGroups, Group, PodGroups, Version
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod, QosClass
from numa_agent.host.cgroups import CpusetTree, DriverMismatchError
from numa_agent.host.cgroups.folder import open_mount
from tests.host.cgroups.hierarchies import HASH, NOPREFIX, STATIC, UID_, Hierarchy
from tests.host.cgroups.test_layout import DIRECTORIES, LEAVES
from tests.machine_tree import CGROUP, container, container_id, cpus, pod, uid
from tests.opens import counted_opens

BURSTABLE = QosClass.BURSTABLE
CID, SANDBOX = container_id(1), container_id(9)
POD_SLICE = f"kubepods-burstable-pod{UID_}.slice"
SLICES = f"kubepods.slice/kubepods-burstable.slice/{POD_SLICE}"


def hierarchy(version: Version, root: Path) -> Hierarchy:
    return Hierarchy(root, version)


def found(tree: CpusetTree, of: Pod) -> PodGroups:
    answer = tree.find(of)
    assert answer is not None
    return answer


def paths(groups: PodGroups) -> list[str]:
    return [container.group.path for container in groups.containers]


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize(("cgroup_root", "qos", "directory"), DIRECTORIES)
def test_a_pod_and_its_container_are_found(
    cgroup_root: str, qos: QosClass, directory: str, leaf: str, version: Version, tmp_path: Path
) -> None:
    # Case 11.
    tree = hierarchy(version, tmp_path).group(f"{directory}/{leaf}", (7,)).tree(cgroup_root)
    groups = found(tree, pod(1, qos=qos))
    parts = directory.split("/")
    assert groups.version is version
    assert groups.group.path == directory
    above = ["/".join(parts[:depth]) for depth in range(len(parts))]
    assert [group.path for group in groups.above] == above
    assert [(c.id, c.group.path) for c in groups.containers] == [(CID, f"{directory}/{leaf}")]
    assert groups.containers[0].group.populated is True
    assert groups.left_out == ()
    assert tree.locate(pod(1, qos=qos)) == directory
    assert tree.pod_directories() == {pod(1).uid: directory}


@pytest.mark.parametrize("version", Version)
def test_what_is_configured_and_what_is_in_force_are_read_apart(
    version: Version, tmp_path: Path
) -> None:
    # Case 49.
    machine = hierarchy(version, tmp_path)
    machine.group("kubepods", cpus="0-5", effective_cpus="0-5")
    path = f"kubepods/pod{pod(1).uid}/{CID}"
    machine.group(path, (7,), cpus="2-3", effective_cpus="3", mems="0-1", effective_mems="1")
    groups = found(machine.tree(), pod(1))
    group = Group(
        path=path,
        cpus=cpus("2-3"),
        effective_cpus=cpus("3"),
        mems=cpus("0-1"),
        effective_mems=cpus("1"),
        populated=True,
    )
    assert groups.containers == (ContainerGroups(id=CID, group=group),)
    kubepods = groups.above[1]
    assert (kubepods.cpus, kubepods.effective_cpus) == (cpus("0-5"), cpus("0-5"))
    root = groups.above[0]
    # v2 has no configured set at its root.
    assert root.cpus == (None if version is Version.V2 else cpus("0-7"))
    assert root.effective_cpus == cpus("0-7")


def test_an_empty_set_is_empty_and_not_unknown(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(f"kubepods/pod{pod(1).uid}")
    group = found(machine.tree(), pod(1)).group
    assert (group.cpus, group.mems) == (frozenset(), frozenset())
    assert group.effective_cpus == cpus("0-7")
    assert group.populated is False


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize(
    "directory", [f"kubepods/burstable/pod{HASH}", f"{SLICES.replace(UID_, HASH)}"]
)
def test_a_static_pod_is_found_by_its_config_s_hash(
    directory: str, version: Version, tmp_path: Path
) -> None:
    # Case 12.
    tree = hierarchy(version, tmp_path).group(f"{directory}/{LEAVES[2]}").tree()
    static = pod(1, qos=BURSTABLE, annotations=STATIC)
    assert found(tree, static).group.path == directory
    assert tree.pod_directories() == {HASH: directory}
    # Only kubelet's mirror of a static pod has that directory.
    claimed = {"kubernetes.io/config.hash": HASH}
    assert tree.find(pod(1, qos=BURSTABLE, annotations=claimed)) is None


@pytest.mark.parametrize(
    ("directory", "leaf", "conmon"),
    [
        (SLICES, f"crio-{CID}.scope", f"crio-conmon-{CID}.scope"),
        (f"kubepods/burstable/pod{pod(1).uid}", f"crio-{CID}", f"crio-conmon-{CID}"),
    ],
)
def test_cri_o_s_conmon_is_not_taken_for_the_container(
    directory: str, leaf: str, conmon: str, tmp_path: Path
) -> None:
    machine = Hierarchy(tmp_path).group(f"{directory}/{conmon}", (5,))
    machine.group(f"{directory}/{leaf}", (7,))
    groups = found(machine.tree(), pod(1, qos=BURSTABLE))
    assert paths(groups) == [f"{directory}/{leaf}"]
    assert groups.left_out == (f"{directory}/{conmon}",)


def test_the_sandbox_is_the_container_that_no_status_names(tmp_path: Path) -> None:
    of = pod(1, containers=(container(1), container(2)))
    machine = Hierarchy(tmp_path)
    for number in (1, 2, 9):
        machine.group(f"kubepods/pod{of.uid}/{container_id(number)}", (number,))
    groups = found(machine.tree(), of)
    named = {c.id for c in of.containers}
    assert [c.id for c in groups.containers if c.id not in named] == [SANDBOX]
    assert len(groups.containers) == 3


@pytest.mark.parametrize("version", Version)
def test_cgroups_inside_a_container_are_nested_parents_first(
    version: Version, tmp_path: Path
) -> None:
    scope = f"{SLICES}/cri-containerd-{CID}.scope"
    machine = hierarchy(version, tmp_path)
    machine.machine.file("proc/1/status", "Name: its processes are seen")
    # crun puts the processes one level down, and systemd in a pod makes its own.
    machine.group(f"{scope}/container", (7,), cpus="1", effective_cpus="1")
    machine.group(f"{scope}/container/init.scope/a")
    machine.group(f"{scope}/b")
    groups = found(machine.tree(), pod(1, qos=BURSTABLE))
    (only,) = groups.containers
    inside = ["b", "container", "container/init.scope", "container/init.scope/a"]
    assert [group.path for group in only.nested] == [f"{scope}/{name}" for name in inside]
    assert [group.populated for group in only.nested] == [False, True, False, False]
    assert only.nested[1].cpus == cpus("1")
    # v1 tells of no group what is below it, so that it is the processes that tell.
    assert only.group.populated is True
    assert groups.group.populated is True


def test_without_processes_v1_doesn_t_tell_of_a_pod_and_tells_of_its_containers(
    tmp_path: Path,
) -> None:
    machine = Hierarchy(tmp_path, Version.V1).group(f"kubepods/pod{pod(1).uid}/{CID}")
    machine.machine.file("proc/1/status", "Name: its processes are seen")
    groups = found(machine.tree(), pod(1))
    assert groups.group.populated is None
    assert groups.containers[0].group.populated is False


def test_of_two_directories_of_one_container_the_one_in_use_is_it(tmp_path: Path) -> None:
    directory = f"kubepods/pod{pod(1).uid}"
    for number, names in enumerate([(CID, f"crio-{CID}"), (f"crio-{CID}", CID)]):
        machine = Hierarchy(tmp_path / str(number))
        machine.group(f"{directory}/{names[0]}", (7,)).group(f"{directory}/{names[1]}")
        groups = found(machine.tree(), pod(1))
        assert paths(groups) == [f"{directory}/{names[0]}"]
        assert groups.left_out == (f"{directory}/{names[1]}",)


def test_files_without_prefix_are_read(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path, Version.V1, f"{CGROUP}/cpuset", NOPREFIX)
    machine.group(f"kubepods/pod{pod(1).uid}/{CID}", (7,), cpus="4", effective_cpus="4")
    group = found(machine.tree(), pod(1)).containers[0].group
    assert (group.cpus, group.effective_cpus) == (cpus("4"), cpus("4"))
    assert (group.mems, group.effective_mems) == (cpus("0-1"), cpus("0-1"))


@pytest.mark.parametrize("version", Version)
def test_a_pod_that_has_no_cgroup_is_none(version: Version, tmp_path: Path) -> None:
    machine = hierarchy(version, tmp_path)
    tree = machine.tree()
    assert tree.find(pod(1)) is None
    assert tree.locate(pod(1)) is None
    assert tree.pod_directories() == {}
    machine.group("kubepods/burstable").group(f"kubepods/pod{pod(2).uid}/{CID}")
    assert tree.find(pod(1)) is None
    # Nothing is remembered of what wasn't there.
    machine.group(f"kubepods/pod{pod(1).uid}")
    groups = found(tree, pod(1))
    assert groups.containers == ()


@pytest.mark.parametrize("uid", ["", "..", "../../x", "a/b", "\0", "pod", f"{pod(1).uid}/x", "é"])
def test_a_hostile_uid_is_refused_by_name(uid: str, tmp_path: Path) -> None:
    tree = Hierarchy(tmp_path).group(f"kubepods/pod{pod(1).uid}/{CID}").tree()
    hostile = Pod(
        namespace="shop",
        name="p1",
        uid=uid,
        phase="Running",
        started="",
        qos=QosClass.GUARANTEED,
        annotations={},
        containers=(),
    )
    with pytest.raises(SourceError, match=r"^pod shop/p1: .* isn't a pod's uid$"):
        tree.find(hostile)


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("prefix", ["cri-containerd", "crio", "docker"])
@pytest.mark.parametrize("place", ["", "system.slice", "system.slice/containerd.service"])
def test_containers_of_a_runtime_with_another_driver_are_recognised(
    place: str, prefix: str, version: Version, tmp_path: Path
) -> None:
    literal = f"{place}/{POD_SLICE}:{prefix}:{CID}".lstrip("/")
    machine = hierarchy(version, tmp_path).group(SLICES).group(literal, (7,))
    with pytest.raises(DriverMismatchError) as caught:
        machine.tree().find(pod(1, qos=BURSTABLE))
    assert str(caught.value).startswith(f"pod shop/p1: its container {CID} is in {literal} and")
    assert "SystemdCgroup = true" in str(caught.value)
    assert caught.value.path == SLICES


def test_a_container_that_is_nowhere_yet_is_no_mismatch(tmp_path: Path) -> None:
    literal = f"system.slice/containerd.service/{POD_SLICE}:cri-containerd:"
    machine = Hierarchy(tmp_path).group(SLICES)
    machine.group(f"{literal}{container_id(2)}").group(f"{literal}{CID[:-1]}")
    waiting = pod(1, qos=BURSTABLE, containers=(container(2, running=False), container(1)))
    assert found(machine.tree(), waiting).containers == ()
    # One that is in its place shows that the drivers agree.
    machine.group(f"{SLICES}/cri-containerd-{SANDBOX}.scope").group(f"{literal}{CID}")
    assert len(found(machine.tree(), waiting).containers) == 1


def test_a_missing_controller_is_said_of_the_pod(tmp_path: Path) -> None:
    said: list[str] = []
    machine = Hierarchy(tmp_path)
    folder = machine.folder / f"kubepods/pod{pod(1).uid}"
    machine.machine.file(f"{CGROUP}/kubepods/pod{pod(1).uid}/cgroup.events", "populated 0")
    group = found(machine.tree(warn=said.append), pod(1)).group
    assert (group.cpus, group.effective_cpus, group.mems, group.effective_mems) == (None,) * 4
    assert said == [
        f"kubepods/{folder.name}: without cpuset files: the controller isn't enabled in it"
    ]


@pytest.mark.parametrize("version", Version)
def test_finding_a_pod_opens_each_of_its_files_once_and_nothing_of_other_pods(
    version: Version, tmp_path: Path
) -> None:
    machine = hierarchy(version, tmp_path)
    for number in range(1, 6):
        machine.group(f"kubepods/pod{uid(number)}/{container_id(number)}", (number,))
    tree = machine.tree()
    assert tree.find(pod(1)) is not None
    with counted_opens(tmp_path) as opens:
        assert tree.locate(pod(2)) is not None
    assert opens == {}
    with counted_opens(tmp_path) as opens:
        found(tree, pod(2))
    groups = [
        "",
        "kubepods/",
        f"kubepods/pod{uid(2)}/",
        f"kubepods/pod{uid(2)}/{container_id(2)}/",
    ]
    sets = [machine.names[name] for name in ("cpus", "mems", "effective_cpus", "effective_mems")]
    told = "cgroup.events" if version is Version.V2 else "cgroup.procs"
    expected = {f"{machine.at}/{group}{name}" for group in groups for name in sets}
    expected |= {f"{machine.at}/{group}{told}" for group in groups[2:]}
    if version is Version.V2:
        # Its root has no configured sets.
        expected -= {f"{machine.at}/{name}" for name in sets[:2]}
    assert opens == dict.fromkeys(expected, 1)


@pytest.mark.parametrize(
    ("held", "content", "used"),
    [
        ("1", "4096\n", 4096),
        ("", "4096\n", None),  # nothing asks for it
        ("1", None, None),
        ("1", "max\n", None),
        ("1", "", None),
        ("1", "9" * 30 + "\n", None),
    ],
)
def test_the_memory_of_a_pod_that_is_held_to_nodes_is_read(
    held: str, content: str | None, used: int | None, tmp_path: Path
) -> None:
    path = f"kubepods/pod{pod(1).uid}"
    machine = Hierarchy(tmp_path).group(path, mems=held)
    if content is not None:
        (tmp_path / "sys/fs/cgroup" / path / "memory.current").write_text(content)
    assert found(machine.tree(), pod(1)).memory_used == used


@pytest.mark.parametrize("version", Version)
def test_what_is_above_pods_is_read_once_for_all_that_are_looked_for(
    version: Version, tmp_path: Path
) -> None:
    machine = hierarchy(version, tmp_path)
    for number in (1, 2, 3):
        machine.group(f"kubepods/pod{uid(number)}/{container_id(number)}")
    tree = machine.tree()
    each = [found(tree, pod(number)) for number in (1, 2, 3)]
    with counted_opens(tmp_path) as opens:
        find = tree.finder()
        together = [find(pod(number)) for number in (1, 2, 3)]
    assert together == each
    assert set(opens.values()) == {1}
    machine.file("kubepods", "effective_cpus", "0-3")
    assert [group.effective_cpus for group in found(tree, pod(1)).above] == [
        cpus("0-7"),
        cpus("0-3"),
    ]


def test_the_kernel_s_count_of_directories_is_what_a_list_of_them_says() -> None:
    seen = Counter[bool]()
    for place, below, _ in os.walk("/sys/kernel"):
        names = sorted(name for name in below if not Path(place, name).is_symlink())
        try:
            folder = open_mount(Path(place))
        except SourceError:
            continue
        with folder:
            assert folder.directories(lambda _: None) == names, place
        seen[bool(names)] += 1
    if len(seen) < 2:
        pytest.skip("no directories of sysfs are to be seen here")
