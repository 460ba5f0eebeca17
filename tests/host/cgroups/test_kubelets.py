"""Which of kubelet's layouts is taken, where its configuration doesn't say or two are there."""

from pathlib import Path

import pytest

from numa_agent.core.cgroups import Version
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import QosClass
from numa_agent.host.cgroups import CpusetTree
from tests.host.cgroups.hierarchies import UID, UID_, Hierarchy
from tests.machine_tree import container_id, pod, uid

CGROUPFS = f"kubepods/burstable/pod{UID}"
SYSTEMD = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_}.slice"
KIND = (
    "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
    f"kubelet-kubepods-burstable-pod{UID_}.slice"
)
LEAF = {
    CGROUPFS: f"{CGROUPFS}/{container_id(1)}",
    SYSTEMD: f"{SYSTEMD}/cri-containerd-{container_id(1)}.scope",
    KIND: f"{KIND}/cri-containerd-{container_id(1)}.scope",
}
OF = pod(1, qos=QosClass.BURSTABLE)


def path(tree: CpusetTree) -> str | None:
    """A pod's path, by every way in which it is told."""
    listed, located = tree.pod_directories().get(UID), tree.locate(OF)
    groups = tree.find(OF)
    assert listed == located == (groups.group.path if groups else None)
    return located


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize(("used", "stale"), [(CGROUPFS, SYSTEMD), (SYSTEMD, CGROUPFS)])
def test_of_two_drivers_directories_it_is_the_populated_one(
    used: str, stale: str, version: Version, tmp_path: Path
) -> None:
    machine = Hierarchy(tmp_path, version).group(stale).group(LEAF[used], (7,))
    assert path(machine.tree()) == used
    machine.group(LEAF[stale])
    assert path(machine.tree()) == used


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize(("used", "stale"), [(CGROUPFS, SYSTEMD), (SYSTEMD, CGROUPFS)])
def test_of_two_without_processes_it_is_the_one_with_containers(
    used: str, stale: str, version: Version, tmp_path: Path
) -> None:
    machine = Hierarchy(tmp_path, version).group(stale).group(f"{stale}/x").group(LEAF[used])
    assert path(machine.tree()) == used


@pytest.mark.parametrize("version", Version)
def test_a_driver_that_changes_is_followed(version: Version, tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path, version)
    tree = machine.tree()
    assert path(tree) is None
    machine.group(LEAF[CGROUPFS], (7,))
    assert path(tree) == CGROUPFS
    # kubelet makes the new directory before a container is in it, with the old ones still there.
    machine.group(SYSTEMD)
    assert path(tree) == CGROUPFS
    machine = Hierarchy(tmp_path / "later", version).group(CGROUPFS).group(LEAF[SYSTEMD], (7,))
    assert path(machine.tree()) == SYSTEMD


def test_a_new_pod_of_a_changed_driver_is_found_before_it_is_populated(tmp_path: Path) -> None:
    other = f"kubepods/burstable/pod{uid(2)}/{container_id(2)}"
    assert path(Hierarchy(tmp_path).group(other, (7,)).group(SYSTEMD).tree()) == SYSTEMD


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("used", [KIND, f"kubelet/{CGROUPFS}"])
def test_a_cgroup_root_that_no_configuration_names_is_found(
    used: str, version: Version, tmp_path: Path
) -> None:
    machine = (
        Hierarchy(tmp_path, version).group("kubepods").group(f"{used}/{container_id(1)}", (7,))
    )
    tree = machine.tree()
    assert path(tree) == used
    assert path(machine.tree("/kubelet")) == used
    other = used.replace(UID_, uid(2).replace("-", "_")).replace(UID, uid(2))
    machine.group(other)
    groups = tree.find(pod(2, qos=QosClass.BURSTABLE))
    assert groups is not None
    assert groups.group.path == other


def test_another_node_s_cgroups_inside_this_one_s_are_not_its_own(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path).group(
        f"system.slice/docker-{container_id(3)}.scope/{KIND}", (7,)
    )
    assert path(machine.tree()) is None


def test_a_configuration_that_can_t_be_read_costs_nothing_but_a_sentence(tmp_path: Path) -> None:
    def unreadable() -> str:
        raise SourceError("config.yaml: not YAML")

    said: list[str] = []
    machine = Hierarchy(tmp_path).group(LEAF[KIND], (7,))
    tree = CpusetTree(machine.machine.root, unreadable, warn=said.append)
    assert path(tree) == KIND
    assert set(said) == {
        "config.yaml: not YAML; kubelet's cgroups are looked for where they usually are"
    }
    said.clear()
    assert path(CpusetTree(machine.machine.root, lambda: "/../x", warn=said.append)) == KIND
    assert any("'/../x' isn't a cgroup's path" in sentence for sentence in said)


def test_a_cgroup_root_that_is_configured_later_is_asked_for_again(tmp_path: Path) -> None:
    answers = [""]
    machine = Hierarchy(tmp_path)
    tree = CpusetTree(machine.machine.root, lambda: answers[-1])
    assert path(tree) is None
    answers.append("/a/b")
    machine.group(f"a/b/{LEAF[CGROUPFS]}", (7,))
    assert path(tree) == f"a/b/{CGROUPFS}"


def test_pods_appear_below_kubelet_s_and_its_classes_cgroups(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path)
    assert machine.tree().parents() == ()
    machine.group(LEAF[SYSTEMD], (7,)).group("kubepods/besteffort")
    assert machine.tree().parents() == (
        "kubepods",
        "kubepods/besteffort",
        "kubepods.slice",
        "kubepods.slice/kubepods-burstable.slice",
    )


def test_every_pod_s_directory_is_listed_by_its_uid_and_nothing_else_is(tmp_path: Path) -> None:
    machine = Hierarchy(tmp_path)
    paths = {
        uid(1): f"kubepods/pod{uid(1)}",
        uid(2): f"kubepods/burstable/pod{uid(2)}",
        uid(3): f"kubepods/besteffort/pod{uid(3)}",
    }
    for directory in (*paths.values(), "kubepods/podx", "kubepods/burstable/x", "other"):
        machine.group(directory)
    machine.file("kubepods", f"pod{uid(4)}", "a file")
    assert machine.tree().pod_directories() == paths
