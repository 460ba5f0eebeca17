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


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlCondition:
    """Why NVML as a whole gives less than it could, and what to do; `code` is stable."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlAnswers:
    """Everything that NVML said in one pass; `gpus` in index order."""

    driver_version: str | None
    nvml_version: str | None
    gpus: tuple[NvmlGpu, ...]
    conditions: tuple[NvmlCondition, ...]
