"""answers/nvml.json: what NVML answers, call by call.

The format is described in docs/recorded-machines.md; its numbers are those of nvml.h.
"""

import re
from collections.abc import Iterator

from numa_agent.core.cpulist import CpuSet, render

from .gpus import Gpu
from .identity import make_uuid
from .nvlink import bus_id, error, link_answers, peer_answers
from .pci import Device, near_cpus
from .section import SpecError
from .spec import Machine

FORMAT = "numa-agent.nvml/v1"
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
_COMPLETED = 3
_OFF_THE_BUS = 79
_MIG_DEVICES = 7
_MIG_PROFILE = re.compile(r"\dg\.(\d+)gb")

Answers = dict[str, object]


def nvml_answers(machine: Machine, gpus: tuple[Gpu, ...], devices: tuple[Device, ...]) -> Answers:
    """What NVML answers on this machine, GPU by GPU; without a GPU there is no library."""
    nvidia = machine.nvidia
    init_error = nvidia.init_error if gpus else "LibraryNotFound"
    if init_error:
        return {"format": FORMAT, "init": error(init_error), "system": {}, "gpus": []}
    system = {
        "driver_version": nvidia.driver,
        "nvml_version": f"{nvidia.cuda // 1000}.{nvidia.driver}",
        "cuda_driver_version": nvidia.cuda,
    }
    switches = [device for device in devices if device.template.driver == "nvidia-nvswitch"]
    answers = [_gpu(machine, gpus, gpu, switches) for gpu in gpus]
    return {"format": FORMAT, "init": None, "system": system, "gpus": answers}


def _gpu(machine: Machine, gpus: tuple[Gpu, ...], gpu: Gpu, switches: list[Device]) -> Answers:
    nvidia = machine.nvidia
    answers = {
        "handle": None,
        **_identity(gpu),
        **_memory_place(machine, gpu),
        **_affinity(machine, gpu),
        **_mig(machine, gpu),
        **link_answers(nvidia, gpus, gpu, switches),
        **peer_answers(nvidia, gpus, gpu),
        "fabric": _fabric(machine, gpu),
        "xid_events": [],
    }
    if gpu.index in nvidia.lost:
        answers = _lost(answers)
    changes = dict.fromkeys(nvidia.lacks, error("FunctionNotFound"))
    return _changed(machine, answers, changes | nvidia.changes.get(gpu.index, {}))


def _changed(machine: Machine, answers: Answers, changes: Answers) -> Answers:
    for name in changes:
        if name not in answers:
            raise SpecError(f"{machine.name}.yaml: nvidia: no answer is named {name!r}")
    return answers | changes


def _lost(answers: Answers) -> Answers:
    """Every call on a GPU that fell off the bus is refused; its address stays to ask by."""
    refusal = error("GpuIsLost")
    refused: Answers = {
        name: [refusal] * len(answer) if isinstance(answer, list) else refusal
        for name, answer in answers.items()
    }
    return refused | {"pci": answers["pci"], "xid_events": [_OFF_THE_BUS]}


def _identity(gpu: Gpu) -> Answers:
    template = gpu.device.template
    return {
        "pci": {
            "bus_id": bus_id(gpu.device),
            "device_id": _pair(template.device, template.vendor),
            "subsystem_id": _pair(template.subsystem_device, template.subsystem_vendor),
        },
        "uuid": gpu.uuid,
        "minor_number": gpu.index,
        "name": gpu.model.name,
        "memory_bytes": gpu.model.memory_mib << 20,
        "persistence_mode": 1,
    }


def _pair(high: str, low: str) -> str:
    return f"0x{int(high, 16) << 16 | int(low, 16):08x}"


def _memory_place(machine: Machine, gpu: Gpu) -> Answers:
    """Where the GPU's own memory is: on few machines it is a NUMA node of the kernel's."""
    own = machine.nvidia.memory_nodes.get(gpu.index)
    mode = gpu.model.addressing_mode
    return {
        "numa_node_id": error("NotSupported") if own is None else own,
        "addressing_mode": error("NotSupported") if mode is None else mode,
        "c2c_enabled": 1 if gpu.model.has_c2c else error("NotSupported"),
    }


def _affinity(machine: Machine, gpu: Gpu) -> Answers:
    """CPUs and memory nodes near the GPU, in the scopes node and socket."""
    if gpu.device.node == -1:
        everywhere = render(machine.cpus.online)
        unknown = error("NotSupported")
        return {"cpu_affinity": [everywhere] * 2, "memory_affinity": [unknown] * 2}
    near = near_cpus(machine, gpu.device)
    socket = near.union(*(_package(machine, cpu) for cpu in near))
    nodes = {gpu.device.node} | {node.id for node in machine.nodes if node.cpus & socket}
    return {
        "cpu_affinity": [render(near), render(socket)],
        "memory_affinity": [str(gpu.device.node), render(nodes)],
    }


def _package(machine: Machine, cpu: int) -> CpuSet:
    return machine.cpus.beside(cpu, machine.cpus.cores)


def _mig(machine: Machine, gpu: Gpu) -> Answers:
    """MIG mode, and one answer per instance index: a missing instance is a hole, not the end."""
    if not gpu.model.has_mig:
        return {"mig_mode": error("NotSupported"), "mig_devices": []}
    profiles = machine.nvidia.mig.get(gpu.index)
    if profiles is None:
        return {"mig_mode": {"current": 0, "pending": 0}, "mig_devices": []}
    profiles += (None,) * (_MIG_DEVICES - len(profiles))
    devices = [_mig_device(machine, gpu, *indexed) for indexed in enumerate(profiles)]
    return {"mig_mode": {"current": 1, "pending": 1}, "mig_devices": devices}


def instances(machine: Machine, gpu: Gpu) -> Iterator[tuple[int, str, str]]:
    """The GPU's MIG instances: index, profile and UUID."""
    for index, profile in enumerate(machine.nvidia.mig.get(gpu.index, ())):
        if profile is not None:
            yield index, profile, _mig_uuid(gpu, index)


def _mig_uuid(gpu: Gpu, index: int) -> str:
    return "MIG-" + make_uuid(gpu.uuid, str(index))


def _mig_device(machine: Machine, gpu: Gpu, index: int, profile: str | None) -> Answers:
    if profile is None:
        return {**error("NotFound")}
    match = _MIG_PROFILE.fullmatch(profile)
    if match is None:
        problem = f"expected a profile such as 1g.10gb, found {profile!r}"
        raise SpecError(f"{machine.name}.yaml: nvidia: mig: {problem}")
    return {
        "uuid": _mig_uuid(gpu, index),
        "name": f"{gpu.model.name} MIG {profile}",
        "gpu_instance": index + 1,
        "compute_instance": 0,
        "memory_bytes": int(match[1]) << 30,
    }


def _fabric(machine: Machine, gpu: Gpu) -> Answers:
    """Registration with the NVSwitch fabric; state 3 is completed, 0 is not supported.

    Only a fabric that joins machines has a cluster and parts of it, cliques.
    """
    if not gpu.model.has_fabric:
        return {**error("NotSupported")}
    clique = machine.nvidia.clique
    return {
        "state": _COMPLETED if machine.nvidia.switched else 0,
        "status": 0,
        "cluster_uuid": _NO_CLUSTER if clique is None else make_uuid(machine.name, "cluster"),
        "clique_id": clique or 0,
        "health_mask": 0,
    }
