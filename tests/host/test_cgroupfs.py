"""Where a container's cgroup is, what is read of it, and how it is written."""

from pathlib import Path

import pytest

from numa_agent.core.binding import Cgroup
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod, QosClass
from numa_agent.host.cgroupfs import CgroupFs
from tests.machine_tree import CGROUP, Tree, container, container_id, cpus, pod

UID = "00000001-1111-4222-8333-444444444444"
UID_ = "00000001_1111_4222_8333_444444444444"
HASH = "0123456789abcdef0123456789abcdef"
STATIC = {"kubernetes.io/config.hash": HASH, "kubernetes.io/config.mirror": HASH}
CID = container_id(1)

GUARANTEED, BURSTABLE, BEST_EFFORT = QosClass.GUARANTEED, QosClass.BURSTABLE, QosClass.BEST_EFFORT

# Case 11: kubelet's two drivers, its three classes, and its cgroupRoot.
DIRECTORIES = [
    ("", GUARANTEED, f"kubepods/pod{UID}"),
    ("/", BURSTABLE, f"kubepods/burstable/pod{UID}"),
    ("", BEST_EFFORT, f"kubepods/besteffort/pod{UID}"),
    ("/kubelet", GUARANTEED, f"kubelet/kubepods/pod{UID}"),
    ("kubelet", BEST_EFFORT, f"kubelet/kubepods/besteffort/pod{UID}"),
    ("/a-b/c", BURSTABLE, f"a-b/c/kubepods/burstable/pod{UID}"),
    ("", GUARANTEED, f"kubepods.slice/kubepods-pod{UID_}.slice"),
    (
        "/",
        BURSTABLE,
        f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID_}.slice",
    ),
    (
        "",
        BEST_EFFORT,
        f"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{UID_}.slice",
    ),
    (
        "/kubelet",
        GUARANTEED,
        f"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{UID_}.slice",
    ),
    (
        "/kubelet",
        BEST_EFFORT,
        "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
        f"kubelet-kubepods-besteffort-pod{UID_}.slice",
    ),
    (
        "/a-b/c",
        GUARANTEED,
        f"a_b.slice/a_b-c.slice/a_b-c-kubepods.slice/a_b-c-kubepods-pod{UID_}.slice",
    ),
]

LEAVES = [CID, f"crio-{CID}", f"cri-containerd-{CID}.scope", f"crio-{CID}.scope"]
LEAVES += [f"docker-{CID}.scope"]


def v2(root: Path) -> Tree:
    return Tree(root).cgroup_v2("", "", "0-7").file(f"{CGROUP}/cgroup.controllers", "cpuset cpu")


def v1(root: Path) -> Tree:
    return Tree(root).cgroup_v1("", "0-7")


def found(tree: Tree, of: Pod, cgroup_root: str = "") -> Cgroup | None:
    return CgroupFs(tree.root, lambda: cgroup_root).find(of, of.containers[0])


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize(("cgroup_root", "qos", "directory"), DIRECTORIES)
def test_a_container_is_found_by_its_id_on_v2(
    cgroup_root: str, qos: QosClass, directory: str, leaf: str, tmp_path: Path
) -> None:
    path = f"{directory}/{leaf}"
    tree = v2(tmp_path).cgroup_v2(path, "2-3", "3")
    answer = Cgroup(path=path, cpus=cpus("2-3"), effective=cpus("3"))
    assert found(tree, pod(1, qos=qos), cgroup_root) == answer


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize(("cgroup_root", "qos", "directory"), DIRECTORIES)
def test_a_container_is_found_by_its_id_on_v1(
    cgroup_root: str, qos: QosClass, directory: str, leaf: str, tmp_path: Path
) -> None:
    path = f"{directory}/{leaf}"
    # Case 49: what is configured and what is in force are two things.
    tree = v1(tmp_path).cgroup_v1(path, "2-3", effective="3")
    answer = Cgroup(path=f"cpuset/{path}", cpus=cpus("2-3"), effective=cpus("3"))
    assert found(tree, pod(1, qos=qos), cgroup_root) == answer


@pytest.mark.parametrize(
    "directory",
    [
        f"kubepods/burstable/pod{HASH}",
        f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{HASH}.slice",
    ],
)
def test_a_static_pod_is_found_by_its_config_s_hash(directory: str, tmp_path: Path) -> None:
    # Case 12.
    path = f"{directory}/cri-containerd-{CID}.scope"
    static = pod(1, qos=BURSTABLE, annotations=STATIC)
    cgroup = found(v2(tmp_path).cgroup_v2(path, "", "0-7"), static)
    assert cgroup is not None
    assert cgroup.path == path


@pytest.mark.parametrize(
    "leaf",
    [
        f"crio-conmon-{CID}.scope",
        f"crio-conmon-{CID}",
        f"cri-containerd-{container_id(2)}.scope",
        f"cri-containerd-{CID}0.scope",
        f"cri-containerd-{CID[:-1]}.scope",
        f"{CID}.slice",
        f"other-{CID}.scope",
    ],
)
def test_a_directory_of_another_name_is_not_the_container(leaf: str, tmp_path: Path) -> None:
    directory = f"kubepods.slice/kubepods-pod{UID_}.slice"
    tree = v2(tmp_path).cgroup_v2(f"{directory}/{leaf}", "", "0-7")
    right = f"{directory}/cri-containerd-{CID}.scope"
    assert found(tree, pod(1)) is None
    cgroup = found(tree.cgroup_v2(right, "1", "1"), pod(1))
    assert cgroup is not None
    assert cgroup.path == right


def test_a_container_that_has_gone_is_none(tmp_path: Path) -> None:
    tree = v2(tmp_path)
    assert found(tree, pod(1)) is None
    tree.cgroup_v2(f"kubepods/pod{UID}", "", "0-7")
    assert found(tree, pod(1)) is None


@pytest.mark.parametrize("text", [b"all\n", b"\xff\n", None])
def test_a_set_that_can_t_be_read_is_unknown(text: bytes | None, tmp_path: Path) -> None:
    path = f"kubepods/pod{UID}/{CID}"
    tree = v2(tmp_path).cgroup_v2(path, "0", "0")
    file = f"{CGROUP}/{path}/cpuset.cpus.effective"
    if text is None:
        tree.without(file)
    else:
        tree.raw(file, text)
    assert found(tree, pod(1)) == Cgroup(path=path, cpus=cpus("0"), effective=None)


def test_an_empty_set_is_read_as_empty_and_not_as_unknown(tmp_path: Path) -> None:
    path = f"kubepods/pod{UID}/{CID}"
    cgroup = found(v2(tmp_path).cgroup_v2(path, "", "0-7"), pod(1))
    assert cgroup == Cgroup(path=path, cpus=cpus(""), effective=cpus("0-7"))


def test_without_a_hierarchy_it_is_said_what_to_mount(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="mount the host's /sys/fs/cgroup"):
        CgroupFs(tmp_path / "0").find(pod(1), container(1))
