"""The verdicts on containers for programs: docs/verdicts.md."""

from collections.abc import Iterable, Mapping

from numa_agent.core.cpulist import CpuSet, render
from numa_agent.core.report import Proof
from numa_agent.core.verdict import HeldDevice, Reason
from numa_agent.core.view import Json


def proofs_json(proofs: Iterable[Proof], failures: Iterable[str]) -> Json:
    """Every container's verdict, what it stands on and what failed."""
    return {
        "format": "numa-agent.verify/v1",
        "containers": [_container(proof) for proof in proofs],
        "failures": [*failures],
    }


def _container(proof: Proof) -> Json:
    verdict, wanted = proof.verdict, proof.asked
    memory = verdict.memory
    return {
        "pod": proof.pod.full_name,
        "container": proof.container.name,
        "verdict": verdict.alignment.value,
        "asked": {
            "alignment": wanted.alignment,
            "single_node": wanted.single,
            "wishes": [*wanted.wishes],
            "decided_by": wanted.by or None,
            "has_it": proof.has_it,
        },
        "reasons": [_reason(each) for each in verdict.reasons],
        "cpus": {
            "decided": _set(verdict.decided),
            "effective": _set(verdict.effective),
            "used": _set(verdict.used),
        },
        "memory": {
            "per_node_bytes": None if memory is None else _by_node(memory.own),
            "cache_per_node_bytes": None if memory is None else _by_node(memory.cache),
            "source": None if memory is None else memory.source.value,
        },
        "devices": [_device(each) for each in verdict.devices],
        "tasks": {"seen": proof.tasks_seen, "unseen": proof.tasks_unseen},
        "cpu_quota": proof.cpu_quota,
    }


def _reason(reason: Reason) -> Json:
    cause = reason.cause
    return {
        "code": reason.code,
        "message": reason.message,
        "cause": None if cause is None else {"code": cause.code, "message": cause.message},
    }


def _device(device: HeldDevice) -> Json:
    return {
        "id": device.id,
        "kind": device.kind,
        "node": device.node,
        "nodes": [*device.nodes],
        "node_source": device.node_source,
        "seen_by": device.seen_by,
    }


def _set(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else render(cpus)


def _by_node(used: Mapping[int, int]) -> Json:
    return {str(node): size for node, size in sorted(used.items())}
