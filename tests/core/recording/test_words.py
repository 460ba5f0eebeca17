"""Which texts stay as they are, kind by kind, and that everything else is hidden."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core import cpulist, quantity
from numa_agent.core.recording import groups, words
from numa_agent.core.recording.pseudonyms import Names

Shown = Callable[[Names, str], str]

STAY: list[tuple[Shown, tuple[str, ...]]] = [
    (words.cpus, ("", "0-3,8", "0-30:2/4", "1")),
    (words.amount, ("1", "1500m", "4Gi", "5%", "1e3", "0.5")),
    (words.version, ("580.95.05", "13.580.95.05", "1")),
    (words.kubelet_version, ("v1.34.1", "1.30.0")),
    (
        words.resource,
        (
            *("cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"),
            *("nvidia.com/gpu.shared", "kubernetes.io/batch-cpu", "huawei.com/Ascend910"),
            *("habana.ai/gaudi", "gpu.intel.com/i915", "ephemeral-storage", "pods"),
        ),
    ),
    (words.unit, ("0000:3b:00.0", "0", "nvidia3", "card0-0", "Ascend910-0", "mlx5_1", "0::3")),
    (words.driver_domain, ("gpu.nvidia.com", "nvidia.com", "gpu.intel.com")),
    (
        words.interface,
        (
            *("eth0", "enp1s0f0np0", "ens1f0v3", "enP2p1s0f0", "ibp9s0", "eno1", "mlx5_0", "ib0"),
            *("bnxt_re0", "rocep24s0f1", "mlx5_bond_0", "enp50s0f1", "irdma1"),
        ),
    ),
    (words.driver, ("nvidia", "mlx5_core", "vfio-pci", "amdgpu")),
    (words.manager, ("koord-scheduler", "kubelet")),
    (words.reason, ("TopologyAffinityError", "Evicted", "OutOfcpu", "OutOfnvidia.com/gpu")),
    (words.runtime_class, ("nvidia", "runc", "kata")),
    (
        words.product,
        (
            *("NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB", "NVIDIA L40S", "NVIDIA GB200"),
            *("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA RTX 6000 Ada Generation"),
            *("Intel(R) Xeon(R) Platinum 8480C", "AMD EPYC 9534", "POWER9, altivec supported"),
            *("GenuineIntel", "AuthenticAMD", "NVIDIA A100 80GB PCIe", "NVIDIA GH200 480GB"),
        ),
    ),
    (groups.group, ("kubepods.slice", "kubepods-burstable.slice", "kubepods", "system.slice")),
    (groups.cgroup_root, ("", "/", "/kubelet", "kubelet")),
]
HIDE: list[tuple[Shown, tuple[str, ...]]] = [
    (words.cpus, ("acme", "9-1", "0-3,acme")),
    (words.amount, ("acme", "1acme", "%", "5%%")),
    (words.version, ("acme", "580.95.05-acme")),
    (words.kubelet_version, ("acme", "acme-v1.30.0")),
    (words.uuid, ("acme", "275ef510-9903-477e-8b7c-66bbd1930b1f", "A" * 32)),
    (words.resource, ("acme", "acme.com/gpu", "nvidia.com/acme", "acme.kubernetes.io/x")),
    (words.resource, ("attachable-volumes-acme", "attachable-volumes-acme-pd")),
    (words.unit, ("acme", "GPU-275ef510-9903-477e-8b7c-66bbd1930b1f", "acme::1", "0::acme")),
    (words.driver_domain, ("acme.com", "acme.nvidia.com", "acme")),
    (words.cdi_device, ("acme", "acme.com/gpu=acme", "nvidia.com/gpu=acme")),
    (words.interface, ("acme0", "enx001122334455", "eth0.acme", "wlx001122334455")),
    (words.driver, ("acme",)),
    (words.manager, ("acme-operator",)),
    (words.reason, ("acme", "OutOfacme", "OutOfacme.com/gpu")),
    (words.runtime_class, ("acme",)),
    (words.container_id, ("acme", f"acme://{'a' * 64}", f"docker://{'b' * 64}")),
    (words.product, ("ACME", "NVIDIA ACME", "acme2000acme")),
    (groups.group, ("acme.slice", "kubepods-acme.slice", "acme", "crio-" + "a" * 64 + ".scope")),
    (groups.nested, ("acme", "init.scope")),
    (groups.cgroup_root, ("/acme", "/kubelet/acme", "\n")),
]


def each(table: list[tuple[Shown, tuple[str, ...]]]) -> list[tuple[Shown, str]]:
    return [(shown, text) for shown, texts in table for text in texts]


def settled(shown: Shown, *texts: str) -> Names:
    names = Names(b"key")
    for text in texts:
        shown(names, text)
    names.settle()
    return names


@pytest.mark.parametrize(("shown", "text"), each(STAY))
def test_what_the_whole_world_says_stays(shown: Shown, text: str) -> None:
    names = settled(shown, text)
    assert shown(names, text) == text
    assert names.originals == {}


@pytest.mark.parametrize(("shown", "text"), each(HIDE))
def test_what_may_be_a_name_is_hidden(shown: Shown, text: str) -> None:
    names = settled(shown, text)
    found = shown(names, text)
    assert found != text
    assert "acme" not in found.lower()
    assert shown(names, text) == found


@pytest.mark.parametrize(("shown", "text"), [*each(STAY), *each(HIDE)])
def test_a_pseudonym_is_taken_as_it_is_by_a_recording_with_names_kept(
    shown: Shown, text: str
) -> None:
    found = shown(settled(shown, text), text)
    assert shown(Names(b"", keep=True), found) == found or shown is words.kubelet_version


@given(st.sampled_from([shown for shown, _ in HIDE]), st.text(max_size=30))
def test_any_text_has_something_that_stands_for_it(shown: Shown, text: str) -> None:
    names = settled(shown, text)
    assert isinstance(shown(names, text), str)


@given(st.text(alphabet="0123456789-,:/ abcKMGi%.", max_size=12))
def test_a_list_or_amount_that_stays_can_be_read_and_another_can_t(text: str) -> None:
    names = settled(words.cpus, text)
    assert (words.cpus(names, text) == text) is reads(cpulist.parse, text)
    assert (words.amount(names, text) == text) is reads(quantity.parse, text.removesuffix("%"))


def reads(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def test_a_kubelet_s_version_loses_what_a_distribution_adds() -> None:
    assert words.kubelet_version(Names(b""), "v1.30.2-acme.1+build") == "v1.30.2"


def test_parts_of_a_name_are_hidden_by_themselves() -> None:
    names = settled(words.resource, "acme.com/gpu", "acme.com/acme")
    first, second = words.resource(names, "acme.com/gpu"), words.resource(names, "acme.com/acme")
    assert first.partition("/")[0] == second.partition("/")[0]
    assert first.endswith("/gpu")


def test_a_unit_is_the_same_by_its_plugin_and_by_nvml() -> None:
    uid = "275ef510-9903-477e-8b7c-66bbd1930b1f"
    names = settled(words.unit, f"GPU-{uid}")
    own = words.unit(names, f"GPU-{uid}")
    assert words.unit(names, f"GPU-{uid}::2") == f"{own}::2"
    assert words.cdi_device(names, f"nvidia.com/gpu=GPU-{uid}") == f"nvidia.com/gpu={own}"
    assert words.unit(names, f"MIG-GPU-{uid}/1/0") == f"MIG-{own}/1/0"


def test_a_cgroup_root_is_the_same_in_kubelet_s_settings_and_in_systemd_s_names() -> None:
    names = settled(groups.cgroup_root, "/acme-node")
    root = groups.cgroup_root(names, "/acme-node").strip("/")
    assert groups.group(names, "acme_node.slice") == f"{root}.slice"
    assert groups.group(names, "acme_node-kubepods.slice") == f"{root}-kubepods.slice"
    assert groups.group(names, "acme-node") == root
