"""How kubelet and the runtimes name cgroups, and which names are none of theirs."""

import pytest

from numa_agent.core.pods import QosClass
from numa_agent.host.cgroups.layout import (
    Driver,
    Layout,
    container_id,
    layouts_below,
    root_names,
)
from tests.host.cgroups.hierarchies import HASH, STATIC, UID, UID_
from tests.machine_tree import container_id as cid
from tests.machine_tree import pod

GUARANTEED, BURSTABLE, BEST_EFFORT = QosClass.GUARANTEED, QosClass.BURSTABLE, QosClass.BEST_EFFORT

# kubelet's two drivers, its three classes and its cgroupRoot (kind's is /kubelet).
DIRECTORIES = [
    ("", GUARANTEED, f"kubepods/pod{UID}"),
    ("/", BURSTABLE, f"kubepods/burstable/pod{UID}"),
    ("", BEST_EFFORT, f"kubepods/besteffort/pod{UID}"),
    ("/kubelet", GUARANTEED, f"kubelet/kubepods/pod{UID}"),
    ("kubelet/", BEST_EFFORT, f"kubelet/kubepods/besteffort/pod{UID}"),
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

LEAVES = [
    f"{cid(1)}",
    f"crio-{cid(1)}",
    f"cri-containerd-{cid(1)}.scope",
    f"crio-{cid(1)}.scope",
    f"docker-{cid(1)}.scope",
]


def layout(cgroup_root: str, directory: str) -> Layout:
    driver = Driver.SYSTEMD if directory.endswith(".slice") else Driver.CGROUPFS
    return Layout(driver=driver, root=root_names(cgroup_root))


@pytest.mark.parametrize(("cgroup_root", "qos", "directory"), DIRECTORIES)
def test_a_pod_s_directory_is_named_and_its_name_is_read_back(
    cgroup_root: str, qos: QosClass, directory: str
) -> None:
    named = layout(cgroup_root, directory)
    parts = tuple(directory.split("/"))
    assert named.pod(pod(1, qos=qos)) == parts
    assert named.pod_uid(qos, parts[-1]) == UID
    assert named.qos(qos) == parts[:-1]
    assert named.kubepods == parts[: len(named.kubepods)]


@pytest.mark.parametrize(("cgroup_root", "qos", "directory"), DIRECTORIES)
def test_a_pod_s_directory_and_what_is_in_it_are_a_pod_s_and_nothing_above_is(
    cgroup_root: str, qos: QosClass, directory: str
) -> None:
    named = layout(cgroup_root, directory)
    parts = tuple(directory.split("/"))
    assert named.holds(parts)
    assert named.holds((*parts, LEAVES[0], "container"))
    for depth in range(len(parts)):
        assert not named.holds(parts[:depth]), parts[:depth]
    assert not named.holds(("x", *parts))


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        (Driver.CGROUPFS, f"pod{HASH}"),
        (Driver.SYSTEMD, f"kubepods-burstable-pod{HASH}.slice"),
    ],
)
def test_a_static_pod_is_named_by_its_config_s_hash(driver: Driver, name: str) -> None:
    # Case 12.
    named = Layout(driver=driver)
    assert named.pod(pod(1, qos=BURSTABLE, annotations=STATIC))[-1] == name
    assert named.pod_uid(BURSTABLE, name) == HASH


@pytest.mark.parametrize(
    "name",
    [
        "pod",
        f"pod{UID}/..",
        f"pod{UID_}",
        f"podA{UID[1:]}",
        f"pod{UID}x",
        f"xpod{UID}",
        f"pod{UID}.slice",
        f"kubepods-burstable-pod{UID}.slice",
        f"kubepods-besteffort-pod{UID_}.slice",
        f"kubepods-burstable-pod{UID_}.scope",
        f"kubepods-burstable-pod{UID_}",
        f"kubepods-burstable-pod{UID_[:-1]}.slice",
        f"kubepods-burstable-pod{UID_}.slice:cri-containerd:{cid(1)}",
        "burstable",
        "",
    ],
)
def test_another_name_is_no_pod_s(name: str) -> None:
    for driver in Driver:
        assert Layout(driver=driver).pod_uid(BURSTABLE, name) is None


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_container_s_directory_is_known_by_its_id_whatever_the_runtime(leaf: str) -> None:
    assert container_id(leaf) == cid(1)


@pytest.mark.parametrize(
    "leaf",
    [
        f"crio-conmon-{cid(1)}.scope",
        f"crio-conmon-{cid(1)}",
        f"cri-o-{cid(1)}.scope",
        f"libpod-{cid(1)}.scope",
        f"cri-containerd-{cid(1)}0.scope",
        f"cri-containerd-{cid(1)[:-1]}.scope",
        f"cri-containerd-{cid(1)[:-1]}A.scope",
        f"{cid(1)}.slice",
        f"{cid(1)}\n",
        f"kata_{cid(1)}",
        f"kubepods-pod{UID_}.slice:cri-containerd:{cid(1)}",
        "container",
        "",
    ],
)
def test_another_directory_is_no_container_s(leaf: str) -> None:
    assert container_id(leaf) is None


@pytest.mark.parametrize("cgroup_root", ["/..", "a/../b", "./a", "a/\0", "\ud800"])
def test_a_cgroup_root_that_leads_elsewhere_is_refused(cgroup_root: str) -> None:
    with pytest.raises(ValueError, match="isn't a cgroup's path"):
        root_names(cgroup_root)


def test_a_directory_at_the_top_may_be_a_kubelet_s_root() -> None:
    assert layouts_below("kubelet") == (Layout(driver=Driver.CGROUPFS, root=("kubelet",)),)
    kind = Layout(driver=Driver.SYSTEMD, root=("kubelet",))
    assert layouts_below("kubelet.slice") == (kind,)
    assert kind.kubepods == ("kubelet.slice", "kubelet-kubepods.slice")
    assert layouts_below("a-b.slice") == ()
