"""A report of a full node: 224 CPUs in two NUMA nodes, some GPUs, and every pod with its CPUs."""

from dataclasses import replace

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.devices import Gpu
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import Binding, Proof, Publication, Report, SourceAge, Times
from tests.machine_tree import cpus, machine, numa_node, pci_device, pod
from tests.verdicts import verdict

SOURCES = ("cpu-manager-state", "memory-manager-state", "podresources", "kubelet-configuration")


def report(pods: int, gpus: int) -> Report:
    """What a pass over such a node says."""
    nodes = (numa_node(0, "0-55,112-167"), numa_node(1, "56-111,168-223"))
    topology = replace(machine(*nodes), gpus=tuple(_gpu(number % 2) for number in range(gpus)))
    known = [pod(number) for number in range(pods)]
    decided = [cpus(str(number)) for number in range(pods)]
    return Report(
        topology=topology,
        publications=tuple(
            Publication(
                manifest={"kind": kind, "zones": [{"name": f"node-{n}"} for n in range(2)]},
                published=Published(outcome=Outcome.UNCHANGED, detail="the server holds it"),
            )
            for kind in ("NodeResourceTopology", "Device")
        ),
        conditions=(),
        refusals=(),
        left_alone=(),
        writes=(),
        proofs=tuple(
            Proof(pod=each, container=each.containers[0], verdict=verdict(own, own, topology))
            for each, own in zip(known, decided, strict=True)
        ),
        problems=(),
        failures=(),
        sources=tuple(
            SourceAge(source=each, age_seconds=0.0, error=None)
            for each in (*SOURCES, "pods", "node", "cpuinfo")
        ),
        drift={},
        looked=True,
        accounts=tuple(NodeAccount(node=node, resources=_amounts(gpus)) for node in nodes),
        bindings=tuple(
            Binding(pod=each, cpus=own) for each, own in zip(known, decided, strict=True)
        ),
        times=Times(began=0.0, bound=0.04, ended=0.05),
    )


def _amounts(gpus: int) -> dict[str, Amount]:
    half = {"cpu": 112, "memory": 1 << 40, "hugepages-2Mi": 0, "hugepages-1Gi": 0}
    half["nvidia.com/gpu"] = gpus // 2
    return {
        name: Amount(capacity=each, allocatable=each, available=each)
        for name, each in half.items()
    }


def _gpu(node: int) -> Gpu:
    device = pci_device("0000:17:00.0", node=node, nodes=(node,))
    return Gpu(device=device, cpus=None, memory_node=None, nics=None, nvml=None)
