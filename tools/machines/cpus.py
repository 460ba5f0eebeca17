"""The files of sys/devices/system/cpu and proc/cpuinfo.

https://docs.kernel.org/admin-guide/cputopology.html
"""

from numa_agent.core.cpulist import CpuSet, render

from .spec import Cpus, Machine
from .tree import Tree, lines, merged

_BASE = "sys/devices/system/cpu"


def cpu_files(machine: Machine) -> Tree:
    """The CPU lists, and a folder per present CPU; an offline CPU has only its `online` file."""
    cpus = machine.cpus
    lists = {
        "online": render(cpus.online),
        "possible": render(cpus.possible),
        "present": render(cpus.present),
        "offline": render(cpus.possible - cpus.online),
        "isolated": render(cpus.isolated),
        "kernel_max": 8191,
    }
    return merged(lines(_BASE, lists), *(_cpu(machine, cpu) for cpu in sorted(cpus.present)))


def _cpu(machine: Machine, cpu: int) -> Tree:
    folder = f"{_BASE}/cpu{cpu}"
    online = cpu in machine.cpus.online
    # x86 never offlines its first CPU, so it has no switch there.
    switch = {} if machine.arch == "x86_64" and cpu == 0 else {"online": int(online)}
    if not online:
        return lines(folder, switch)
    return merged(
        lines(folder, switch),
        lines(f"{folder}/topology", _topology(machine, cpu)),
        lines(f"{folder}/cache/index3", _l3(machine.cpus, cpu)),
    )


def _topology(machine: Machine, cpu: int) -> dict[str, object]:
    cpus = machine.cpus
    package = cpus.core(cpu) // cpus.cores
    core, whole = cpus.beside(cpu, 1), cpus.beside(cpu, cpus.cores)
    ids = {"core_id": _core_id(machine, cpu), "physical_package_id": cpus.package_ids[package]}
    if not machine.modern:
        return ids | {"thread_siblings_list": render(core), "core_siblings_list": render(whole)}
    sets = {"core_cpus_list": render(core), "package_cpus_list": render(whole)}
    return ids | sets | _die(machine, cpu) | _cluster(cpus, cpu)


def _core_id(machine: Machine, cpu: int) -> int:
    """POWER numbers a core by its first thread, the others count within the package."""
    core = machine.cpus.core(cpu)
    if machine.arch == "ppc64le":
        return core * machine.cpus.threads
    return core % machine.cpus.cores


def _die(machine: Machine, cpu: int) -> dict[str, object]:
    """Only x86 defines dies; elsewhere the kernel leaves their files out."""
    cpus = machine.cpus
    if machine.arch != "x86_64":
        return {}
    size = cpus.cores // cpus.dies
    position = cpus.core(cpu) % cpus.cores // size
    return {"die_id": position, "die_cpus_list": render(cpus.beside(cpu, size))}


def _cluster(cpus: Cpus, cpu: int) -> dict[str, object]:
    if cpus.cluster_cores is None:
        return {}
    size = cpus.cluster_cores
    position = cpus.core(cpu) % cpus.cores // size
    return {"cluster_id": position, "cluster_cpus_list": render(cpus.beside(cpu, size))}


def _l3(cpus: Cpus, cpu: int) -> dict[str, object]:
    if cpus.l3_cores is None:
        return {}
    return {
        "id": cpus.core(cpu) // cpus.l3_cores,
        "level": 3,
        "type": "Unified",
        "size": f"{cpus.l3_bytes // 1024}K",
        "shared_cpu_list": render(cpus.beside(cpu, cpus.l3_cores)),
    }


def cpuinfo(machine: Machine) -> Tree:
    """proc/cpuinfo in the architecture's form, one block per online CPU, shortened."""
    blocks = [_block(machine, cpu) for cpu in sorted(machine.cpus.online)]
    if machine.arch == "ppc64le":
        blocks.append("timebase\t: 512000000\nplatform\t: PowerNV\nMMU\t\t: Radix\n")
    return {"proc/cpuinfo": "".join(f"{block}\n" for block in blocks)}


def _block(machine: Machine, cpu: int) -> str:
    if machine.arch == "aarch64":
        return (
            f"processor\t: {cpu}\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\n"
            "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n"
        )
    if machine.arch == "ppc64le":
        return f"processor\t: {cpu}\ncpu\t\t: {machine.cpus.model}\nclock\t\t: 3450.000000MHz\n"
    return _x86_block(machine, cpu, machine.cpus.beside(cpu, machine.cpus.cores))


def _x86_block(machine: Machine, cpu: int, package: CpuSet) -> str:
    cpus = machine.cpus
    vendor = "AuthenticAMD" if cpus.model.startswith("AMD") else "GenuineIntel"
    cores = len({cpus.core(other) for other in package})
    return (
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {cpus.model}\n"
        f"physical id\t: {cpus.package_ids[cpus.core(cpu) // cpus.cores]}\n"
        f"siblings\t: {len(package)}\ncore id\t\t: {_core_id(machine, cpu)}\n"
        f"cpu cores\t: {cores}\n"
    )
