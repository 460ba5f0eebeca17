"""PCI devices of the generated machines: their drivers, their places, what is below them."""

from posixpath import basename, dirname, join, normpath

import pytest

from numa_agent.core.cpulist import parse
from tools.machines.tree import Link, Tree

NVIDIA, AMD, INTEL, ASCEND, HABANA = "0x10de", "0x1002", "0x8086", "0x19e5", "0x1da3"


def folder(tree: Tree, address: str) -> str:
    return target(tree, f"sys/bus/pci/devices/{address}")


def target(tree: Tree, path: str) -> str:
    entry = tree[path]
    assert isinstance(entry, Link)
    return normpath(join(dirname(path), entry.target))


def text(tree: Tree, path: str) -> str:
    entry = tree[path]
    assert isinstance(entry, str)
    return entry.removesuffix("\n")


def addresses(tree: Tree, vendor: str, *classes: str) -> list[str]:
    """The functions of a vendor and some classes, in order of address."""
    found = [basename(path) for path in tree if path.startswith("sys/bus/pci/devices/")]
    return sorted(
        address
        for address in found
        if text(tree, f"{folder(tree, address)}/vendor") == vendor
        and text(tree, f"{folder(tree, address)}/class")[:6] in classes
    )


def driver(tree: Tree, address: str) -> str:
    return basename(target(tree, f"{folder(tree, address)}/driver"))


def node(tree: Tree, address: str) -> int:
    return int(text(tree, f"{folder(tree, address)}/numa_node"))


def below(tree: Tree, address: str, kind: str) -> set[str]:
    """The names of the function's interfaces of a kind."""
    start = f"{folder(tree, address)}/{kind}/"
    return {path.removeprefix(start).split("/")[0] for path in tree if path.startswith(start)}


@pytest.mark.parametrize(
    ("machine", "nodes"),
    [
        ("two-socket-8gpu", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("v100-cube-mesh", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("nps4-8gpu", [3, 3, 1, 1, 7, 7, 5, 5]),
        ("lost-gpu", [0, 0, 1, 1]),
        ("mig-mixed", [0, 0]),
        ("gb200-like", [0, 0, 1, 1]),
    ],
)
def test_gpus_are_on_these_nodes(
    machines: dict[str, Tree], machine: str, nodes: list[int]
) -> None:
    tree = machines[machine]
    assert [node(tree, gpu) for gpu in addresses(tree, NVIDIA, "0x0302")] == nodes


def test_every_pci_address_has_its_folder_in_its_bridges(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        for path in tree:
            if path.startswith("sys/bus/pci/devices/"):
                assert target(tree, path).startswith("sys/devices/pci")
                assert basename(target(tree, path)) == basename(path)


def test_every_interface_lies_below_its_function_and_leads_back(machines: dict[str, Tree]) -> None:
    for tree in machines.values():
        for path in tree:
            _, _, kind = dirname(path).rpartition("sys/class/")
            if path.startswith("sys/class/"):
                device = target(tree, f"{target(tree, path)}/device")
                assert target(tree, path) == f"{device}/{kind}/{basename(path)}"


def test_each_cube_mesh_switch_has_two_gpus_and_an_infiniband_card(
    machines: dict[str, Tree],
) -> None:
    tree = machines["v100-cube-mesh"]
    gpus, cards = addresses(tree, NVIDIA, "0x0302"), addresses(tree, "0x15b3", "0x0207")
    switches = [dirname(dirname(folder(tree, gpu))) for gpu in gpus]
    assert switches[0::2] == switches[1::2]
    assert switches[0::2] == [dirname(dirname(folder(tree, card))) for card in cards]
    assert [below(tree, card, "infiniband") for card in cards] == [
        {f"mlx5_{number}"} for number in range(4)
    ]


def test_nodes_of_nps4_without_a_gpu_have_a_storage_adapter_or_nothing(
    machines: dict[str, Tree],
) -> None:
    tree = machines["nps4-8gpu"]
    cards = addresses(tree, "0x15b3", "0x0200", "0x0207")
    assert [node(tree, card) for card in cards] == [3, 3, 1, 1, 0, 0, 7, 7, 5, 5, 4, 4]
    rows = [text(tree, f"sys/devices/system/node/node{n}/distance") for n in (0, 7)]
    assert rows == ["10 12 12 12 32 32 32 32", "32 32 32 32 12 12 12 10"]


def test_an_amd_gpu_has_a_switch_inside_and_a_render_node(machines: dict[str, Tree]) -> None:
    tree = machines["amd-8gpu"]
    gpus = addresses(tree, AMD, "0x1200")
    assert [node(tree, gpu) for gpu in gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {driver(tree, gpu) for gpu in gpus} == {"amdgpu"}
    for number, gpu in enumerate(gpus):
        port = dirname(folder(tree, gpu))
        vendors = [text(tree, f"{path}/vendor") for path in (port, dirname(port))]
        assert vendors == [AMD, "0x1022"]
        assert below(tree, gpu, "drm") == {f"card{number}", f"renderD{128 + number}"}


def test_an_amd_machine_has_nics_of_two_drivers_that_number_their_own(
    machines: dict[str, Tree],
) -> None:
    tree = machines["amd-8gpu"]
    beside, front = addresses(tree, "0x14e4", "0x0200"), addresses(tree, "0x15b3", "0x0200")
    assert [below(tree, nic, "infiniband") for nic in beside] == [
        {f"bnxt_re{number}"} for number in range(8)
    ]
    assert [below(tree, nic, "infiniband") for nic in front] == [{"mlx5_0"}, {"mlx5_1"}]


def test_virtual_functions_and_their_physical_one_know_each_other(
    machines: dict[str, Tree],
) -> None:
    tree = machines["accelerators"]
    physical, *virtual = addresses(tree, "0x15b3", "0x0200")
    whole = folder(tree, physical)
    assert text(tree, f"{whole}/sriov_numvfs") == str(len(virtual)) == "4"
    assert text(tree, f"{whole}/sriov_totalvfs") == "8"
    for number, address in enumerate(virtual):
        assert target(tree, f"{whole}/virtfn{number}") == folder(tree, address)
        assert target(tree, f"{folder(tree, address)}/physfn") == whole
        assert node(tree, address) == node(tree, physical) == 1
        assert f"{folder(tree, address)}/sriov_numvfs" not in tree
        assert text(tree, f"{folder(tree, address)}/device") == "0x101e"
        (name,) = below(tree, address, "net")
        assert below(tree, physical, "net") == {name.removesuffix(f"v{number}")}


def test_only_the_accelerators_with_drivers_of_the_host_have_interfaces(
    machines: dict[str, Tree],
) -> None:
    tree = machines["accelerators"]
    gaudis = addresses(tree, HABANA, "0x1200")
    assert [(driver(tree, g), below(tree, g, "accel")) for g in gaudis] == [
        ("habanalabs", {"accel1"}),
        ("habanalabs", {"accel2"}),
    ]
    (npu,) = addresses(tree, INTEL, "0x1200")
    assert (driver(tree, npu), below(tree, npu, "accel")) == ("intel_vpu", {"accel0"})
    (gpu,) = addresses(tree, INTEL, "0x0380")
    assert (driver(tree, gpu), below(tree, gpu, "drm")) == ("i915", {"card0", "renderD128"})
    (display,) = addresses(tree, "0x1a03", "0x0300")
    assert driver(tree, display) == "ast"
    (quick,) = addresses(tree, INTEL, "0x0b40")
    assert driver(tree, quick) == "4xxx"


def test_an_ascend_of_unknown_node_is_below_bridges_of_node_1(machines: dict[str, Tree]) -> None:
    tree = machines["accelerators"]
    (npu,) = addresses(tree, ASCEND, "0x1200")
    assert node(tree, npu) == -1
    assert text(tree, f"{folder(tree, npu)}/local_cpulist") == "0-15"
    assert node(tree, basename(dirname(folder(tree, npu)))) == 1


def test_gpus_with_the_places_that_bad_or_strange_firmware_gives(
    machines: dict[str, Tree],
) -> None:
    tree = machines["accelerators"]
    guest, contradicting, cpuless = addresses(tree, NVIDIA, "0x0302")
    assert (driver(tree, guest), node(tree, guest)) == ("vfio-pci", 0)
    assert node(tree, contradicting) == 0
    cpus = parse(text(tree, f"{folder(tree, contradicting)}/local_cpulist"))
    assert cpus == parse(text(tree, "sys/devices/system/node/node1/cpulist"))
    assert node(tree, cpuless) == 2
    assert text(tree, f"{folder(tree, cpuless)}/local_cpulist") == ""
    assert text(tree, "sys/devices/system/node/has_cpu") == "0-1"
    assert text(tree, "sys/devices/system/node/node2/distance") == "24 14 10"


def test_a_workstation_gpu_has_a_sound_function(machines: dict[str, Tree]) -> None:
    tree = machines["accelerators"]
    (gpu,), (sound,) = addresses(tree, NVIDIA, "0x0300"), addresses(tree, NVIDIA, "0x0403")
    assert sound == gpu.removesuffix("0") + "1"
    assert driver(tree, sound) == "snd_hda_intel"


def test_a_grace_blackwells_nodes_are_of_three_kinds(machines: dict[str, Tree]) -> None:
    tree = machines["gb200-like"]
    base = "sys/devices/system/node"
    online = parse(text(tree, f"{base}/online"))
    assert online == frozenset(range(34))
    cpus, memory = (parse(text(tree, f"{base}/{name}")) for name in ("has_cpu", "has_memory"))
    assert (sorted(cpus), sorted(memory - cpus)) == ([0, 1], [2, 10, 18, 26])
    for own in memory - cpus:
        assert f"Node {own} MemTotal: {185 << 20:>15} kB" in text(
            tree, f"{base}/node{own}/meminfo"
        )
    assert len(online - cpus - memory) == 28
    assert {text(tree, f"{base}/node{spare}/cpulist") for spare in online - cpus} == {""}


def test_a_grace_blackwells_gpus_have_domains_of_their_own(machines: dict[str, Tree]) -> None:
    gpus = addresses(machines["gb200-like"], NVIDIA, "0x0302")
    assert gpus == [f"{domain}:01:00.0" for domain in ("0008", "0009", "0018", "0019")]


def test_a_lost_gpu_is_still_listed(machines: dict[str, Tree]) -> None:
    tree = machines["lost-gpu"]
    lost = addresses(tree, NVIDIA, "0x0302")[2]
    assert (driver(tree, lost), node(tree, lost)) == ("nvidia", 1)
