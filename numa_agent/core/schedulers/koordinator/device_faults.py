"""What of a node's GPUs can't be told in a Device, or is told as unhealthy, in words."""

from collections.abc import Iterator, Sequence

from numa_agent.core.conditions import Condition
from numa_agent.core.devices import Gpu


def ailments(gpu: Gpu) -> Iterator[str]:
    """Why a GPU isn't given out whole, as its condition says it."""
    if gpu.health != "ok":
        yield f"NVML says {gpu.health}"
    if gpu.nvml is not None and gpu.nvml.mig_mode is True:
        yield "it is in MIG mode, and Koordinator gives out whole GPUs"
    if gpu.nvml is None or gpu.nvml.memory_bytes is None:
        yield "NVML doesn't tell its memory"


def amiss(name: str, listed: Sequence[Gpu]) -> Iterator[Condition]:
    """The listed GPUs that aren't given out, or whose place isn't known."""
    for gpu in listed:
        for ailment in ailments(gpu):
            yield Condition(
                code="koordinator-gpu-unhealthy",
                subject=name,
                message=f"node {name}: GPU {gpu.device.address} is told as unhealthy: {ailment}",
            )
    yield from _places(name, listed)


def _places(name: str, listed: Sequence[Gpu]) -> Iterator[Condition]:
    rootless = [gpu for gpu in listed if gpu.device.path is None]
    nodeless = [gpu for gpu in listed if gpu.device.path is not None and gpu.device.node is None]
    for what, unplaced, so in (
        ("PCIe root", rootless, "no GPU of the node is chosen by its place"),
        ("NUMA node", nodeless, "no CPUs are chosen beside it"),
    ):
        if unplaced:
            listing = ", ".join(str(gpu.device.address) for gpu in unplaced)
            yield Condition(
                code="koordinator-gpu-place-unknown",
                subject=name,
                message=f"node {name}: the {what} of GPU {listing} isn't known, and so {so}",
            )


def left_out(name: str, gpus: Sequence[Gpu], listed: Sequence[Gpu]) -> Iterator[Condition]:
    """The GPUs that can't be listed: koord-scheduler knows one by its minor and UUID."""
    for gpu in gpus:
        if gpu not in listed:
            health = f" (it is {gpu.health})" if gpu.health not in {None, "ok"} else ""
            yield Condition(
                code="koordinator-gpu-left-out",
                subject=name,
                message=(
                    f"node {name}: GPU {gpu.device.address} isn't told: NVML gives no UUID or"
                    f" minor of it{health}"
                ),
            )


def untold(name: str, gpus: Sequence[Gpu]) -> Condition:
    """No GPU is known to NVML, so that nothing is told of any device."""
    listed = ", ".join(str(gpu.device.address) for gpu in gpus)
    return Condition(
        code="koordinator-devices-unknown",
        subject=name,
        message=(
            f"node {name}: no Device is told to Koordinator: NVML tells nothing of GPU {listed};"
            " is the driver's library there and allowed to be used (nvml)?"
        ),
    )


def twice(name: str, shared: Sequence[int | None]) -> Condition:
    """Several GPUs have one minor, by which koord-scheduler tells them apart."""
    minors = ", ".join(str(minor) for minor in shared)
    return Condition(
        code="koordinator-devices-unknown",
        subject=name,
        message=(
            f"node {name}: no Device is told to Koordinator: by NVML several GPUs have minor"
            f" {minors}"
        ),
    )
