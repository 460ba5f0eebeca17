"""What NVIDIA's management library says, as values: it enriches the map and never replaces it.

Numbers are those of nvml.h (https://docs.nvidia.com/deploy/nvml-api/). Every fact may be None,
since any call may fail for any GPU; `errors` then names the call and the error.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.pci import PciAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlError:
    """A call that gave no answer: the answer's key in nvml.json, and NVML's name for the reason.

    `argument` is the link, the other GPU, the scope or the MIG index that was asked for.
    """

    call: str
    argument: int | None
    error: str

    @property
    def of_pair(self) -> bool:
        """Whether the call was on two GPUs, so that the error may be the other's."""
        return self.call.startswith(("common_ancestor", "p2p_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """One MIG device; `profile` is such as `1g.10gb`. It is where its GPU is."""

    uuid: str | None
    profile: str | None
    gpu_instance: int | None
    compute_instance: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvLink:
    """One active link. `version` is NVML's enumeration, `remote_type` 0 GPU, 1 NPU, 2 switch."""

    link: int
    version: int | None
    remote_type: int | None
    remote: PciAddress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """The NVLink fabric that a GPU is part of, once its registration is completed."""

    cluster_uuid: str
    clique_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlGpu:
    """One GPU by NVML; `address` is None where even that call failed.

    `memory_nodes` is its memory affinity (scope NODE), `memory_node` the node that its own memory
    is. `common_ancestors` and `p2p` (by read, write, nvlink, atomics, pci) answer by the other
    GPU's index. `lost` is NVML's word for a GPU that fell off the bus.
    """

    index: int
    address: PciAddress | None
    uuid: str | None
    minor: int | None
    name: str | None
    memory_bytes: int | None
    persistence: bool | None
    memory_node: int | None
    addressing_mode: int | None
    c2c: bool | None
    memory_nodes: frozenset[int] | None
    mig_mode: bool | None
    mig_pending: bool | None
    mig: tuple[MigInstance, ...]
    nvlinks: tuple[NvLink, ...]
    common_ancestors: Mapping[int, int]
    p2p: Mapping[str, Mapping[int, int]]
    fabric: Fabric | None
    lost: bool
    errors: tuple[NvmlError, ...]

    @property
    def opened(self) -> bool:
        """Whether the driver gave a handle; nothing more is known of a GPU without one."""
        return all(error.call != "handle" for error in self.errors)

    @property
    def health(self) -> str | None:
        """`lost`, `reset-required` or `ok`; None where the driver told nothing of the GPU."""
        own = {error.error for error in self.errors if not error.of_pair}
        if self.lost or "GpuIsLost" in own:
            return "lost"
        if "ResetRequired" in own:
            return "reset-required"
        return "ok" if self.opened and self._answered() else None

    def _answered(self) -> bool:
        facts = (
            self.address,
            self.uuid,
            self.minor,
            self.name,
            self.memory_bytes,
            self.persistence,
            self.memory_node,
            self.addressing_mode,
            self.c2c,
            self.memory_nodes,
            self.mig_mode,
            self.fabric,
        )
        lists = (self.mig, self.nvlinks, self.common_ancestors, *self.p2p.values())
        return any(fact is not None for fact in facts) or any(lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlCondition:
    """Why NVML gives less than it could, and what to do; `code` is stable.

    `subject` is the GPU's PCI address, `GPU 3` where that isn't known, or `nvml` as a whole.
    """

    code: str
    message: str
    subject: str = "nvml"


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlAnswers:
    """Everything that NVML said in one pass; `gpus` in index order."""

    driver_version: str | None
    nvml_version: str | None
    gpus: tuple[NvmlGpu, ...]
    conditions: tuple[NvmlCondition, ...]
