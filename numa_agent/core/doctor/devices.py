"""Devices whose place isn't known, and NVIDIA's driver and its library.

https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci and
https://docs.nvidia.com/deploy/nvml-api/
"""

from numa_agent.core.cpulist import render
from numa_agent.core.devices import NVIDIA, PciDevice
from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Unseen, Weight, counted, listed

_PCI = "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci"
_NVML = "https://docs.nvidia.com/deploy/nvml-api/"

GPU_UNPLACED = Rule(
    code="gpu-place-unknown",
    weight=Weight.FAULT,
    costs="nobody can be put beside these GPUs: neither kubelet nor the scheduler nor we know"
    " where they are",
    source=_PCI,
)
NIC_UNPLACED = Rule(
    code="nic-place-unknown",
    weight=Weight.WARNING,
    costs="nobody can be put beside these NICs, and a GPU's nearest NIC isn't known",
    source=_PCI,
)
SEVERAL_PLACES = Rule(
    code="device-place-ambiguous",
    weight=Weight.WARNING,
    costs="it is known which nodes may hold these devices and not which one does: kubelet's device"
    " plugins name none, and nobody can be put beside them for sure",
    source=_PCI,
)
CONTRADICTED = Rule(
    code="device-place-contradicted",
    weight=Weight.WARNING,
    costs="firmware and kernel disagree about where a device is; kubelet believes numa_node",
    source=_PCI,
)
SKEW = Rule(
    code="nvml-version-mismatch",
    weight=Weight.FAULT,
    costs="NVIDIA's library is of another version than the loaded module: no program can start on"
    " the GPUs until both are the same",
    source=_NVML,
)
LOST = Rule(
    code="gpu-unusable",
    weight=Weight.FAULT,
    costs="a GPU fell off the bus or wants to be reset",
    source="https://docs.nvidia.com/deploy/xid-errors/",
)
PERSISTENCE = Rule(
    code="persistence-off",
    weight=Weight.WARNING,
    costs="the driver starts a GPU anew, for seconds, when its first user comes after the last"
    " has left",
    source="https://docs.nvidia.com/deploy/driver-persistence/",
)
SILENT = Rule(
    code="nvml-incomplete",
    weight=Weight.WARNING,
    costs="what the driver knows of a GPU (health, NVLinks, memory node) is missing from the map",
    source=_NVML,
)

_BY_CODE = {
    "nvml-version-mismatch": SKEW,
    "nvml-gpu-lost": LOST,
    "nvml-reset-required": LOST,
    "nvml-persistence-off": PERSISTENCE,
}
_FIXES = {
    SKEW: "reload the module or boot again; then restart what has the old library loaded",
    LOST: "drain the node, nvidia-smi --gpu-reset -i N, and boot again where that fails",
    PERSISTENCE: "systemctl enable --now nvidia-persistenced",
    SILENT: "run it with the nvidia runtime class, or name the driver's libnvidia-ml.so.1 with"
    " --nvml PATH; nvidia-smi on the host shows whether the driver works",
}


_TELL = (
    "tell them with --locality-overrides FILE, and ask for firmware that gives PCI root ports a"
    " proximity (_PXM); in a guest, put a root port on each node"
)


def _places(seen: Examination) -> Results:
    yield from (*seen.mapless, *seen.deviceless)
    if not seen.several_nodes:
        return
    gpus = [gpu.device for gpu in seen.topology.gpus]
    for rule, what, devices in (
        (GPU_UNPLACED, "GPU", gpus),
        (NIC_UNPLACED, "NIC", seen.topology.nics),
    ):
        unplaced = [each for each in devices if each.node is None and not each.given_away]
        lost = [each for each in unplaced if not each.nodes]
        if lost:
            names = listed([f"{each.address} (numa_node {_raw(each)})" for each in lost])
            yield rule.found(counted(len(lost), what), f"no source gives one node: {names}", _TELL)
        several = [each for each in unplaced if each.nodes]
        if several:
            names = listed([_several(each) for each in several])
            yield SEVERAL_PLACES.found(
                counted(len(several), what), f"sources give several nodes: {names}", _TELL
            )


def _several(device: PciDevice) -> str:
    raw, source = _raw(device), device.node_source.value
    return f"{device.address} (nodes {render(device.nodes)} by {source}, numa_node {raw})"


def _raw(device: PciDevice) -> str:
    return "isn't there" if device.raw_numa_node is None else str(device.raw_numa_node)


def _contradictions(seen: Examination) -> Results:
    yield from seen.deviceless
    found = [
        warning.message
        for warning in seen.topology.warnings
        if warning.code == "device-node-contradicted"
    ]
    if found:
        yield CONTRADICTED.found(
            counted(len(found), "device"),
            "; ".join(found[:3]) + ("; …" if len(found) > 3 else ""),
            "look which one is right (lstopo, nvidia-smi topo -m) and tell it with"
            " --locality-overrides FILE",
        )


def _nvml(seen: Examination) -> Results:
    yield from seen.deviceless
    gpus = [
        gpu
        for gpu in seen.topology.gpus
        if gpu.device.vendor == NVIDIA and not gpu.device.given_away
    ]
    if not gpus:
        return
    if not seen.nvml_asked:
        yield Unseen(source="NVML", why="not asked (--nvml off, or not the live machine)")
        return
    by_rule: dict[Rule, list[tuple[str, str]]] = {}
    for warning in seen.topology.warnings:
        if warning.code.startswith("nvml-"):
            rule = _BY_CODE.get(warning.code, SILENT)
            message = warning.message.removeprefix(f"{warning.subject}: ")
            by_rule.setdefault(rule, []).append((warning.subject, message))
    for rule, told in by_rule.items():
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        subject = listed([subject for subject, _ in told])
        yield rule.found(subject, f"{told[0][1]}{more}", _FIXES[rule])


CHECKS = (
    Check(name="device-places", rules=(GPU_UNPLACED, NIC_UNPLACED, SEVERAL_PLACES), look=_places),
    Check(name="device-contradictions", rules=(CONTRADICTED,), look=_contradictions),
    Check(name="nvidia-driver", rules=(SKEW, LOST, PERSISTENCE, SILENT), look=_nvml),
)
