"""Reports for tests of what is served, and the samples that come out of them."""

from collections.abc import Callable
from dataclasses import replace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from numa_agent.core.accounting import Amount, NodeAccount
from numa_agent.core.conditions import Condition
from numa_agent.core.cpusets import LeftAlone, Refusal
from numa_agent.core.devices import Gpu, PciDevice
from numa_agent.core.report import Binding, Proof, Publication, Report, SourceAge, Times
from numa_agent.core.shape import Shape
from numa_agent.core.slots import NodeSlots, ShapeSlots, SlotsNow
from numa_agent.core.topology import TopologyWarning
from numa_agent.serve.board import Board
from numa_agent.serve.metrics import Metrics
from tests.core.test_report import GOOD
from tests.machine_tree import TWO_NODES, container, cpus, pci_device, pod
from tests.verdicts import verdict as judged

Samples = dict[tuple[str, ...], float]
"""Name and label values in the order of the label's names, and the number."""

PERIOD = 45.0


class Clock:
    """A clock that the test turns."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def board(clock: Callable[[], float] | None = None) -> Board:
    return Board(
        period=PERIOD, scheduler="ack", clock=clock or Clock(), wall=lambda: 1_767_225_600.0
    )


def samples(of: Board, *, per_container: bool = False) -> Samples:
    return parsed(generate_latest(Metrics(of, per_container=per_container)).decode())


def parsed(text: str) -> Samples:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def said(report: Report) -> Samples:
    """The samples after one pass."""
    told = board()
    told.passed(report)
    return samples(told)


def gpu(address: str, device: PciDevice | None = None) -> Gpu:
    place = device or pci_device(address)
    return Gpu(device=place, cpus=None, memory_node=None, nics=None, nvml=None)


def account(node: int, **amounts: tuple[int, int, int]) -> NodeAccount:
    return NodeAccount(
        node=TWO_NODES.nodes[node],
        resources={
            name: Amount(capacity=each[0], allocatable=each[1], available=each[2])
            for name, each in amounts.items()
        },
    )


def proof(number: int, decided: str, effective: str | None, quota: float | None = None) -> Proof:
    seen = None if effective is None else cpus(effective)
    verdict = judged(cpus(decided), seen)
    return Proof(pod=pod(number), container=container(number), verdict=verdict, cpu_quota=quota)


FULL = replace(
    GOOD,
    topology=replace(
        TWO_NODES,
        isolated=cpus("7"),
        gpus=(
            gpu("0000:01:00.0", pci_device("0000:01:00.0", node=1, nodes=(1,))),
            gpu("0000:02:00.0", pci_device("0000:02:00.0", nodes=(0, 1))),
            gpu("0000:03:00.0"),
        ),
        warnings=(TopologyWarning(code="gpu-lost", subject="0000:03:00.0", message="m"),),
    ),
    publications=(
        *GOOD.publications,
        Publication(manifest={"kind": "Device"}, published=None),
    ),
    conditions=(
        Condition(code="extended-resource-unplaced", subject="nvidia.com/gpu", message="m"),
        Condition(code="policy-differs", subject="cpuManagerPolicy", message="m"),
        Condition(code="policy-differs", subject="topologyManagerPolicy", message="m"),
    ),
    refusals=(Refusal(pod=pod(5), code="malformed", message="m"),),
    left_alone=(LeftAlone(pod=pod(6), code="opted-out", message="m"),),
    proofs=(
        proof(1, "0-1", "0-1", quota=1.5),
        proof(2, "2-3", "2-4", quota=2.0),
        proof(3, "4-5", None),
    ),
    bindings=tuple(
        Binding(pod=pod(number), cpus=cpus(own))
        for number, own in ((1, "0-1"), (2, "2-3"), (3, "4-5"), (4, "6"))
    ),
    problems=("pod a/b is left out",),
    failures=("can't get Node n: down", "m"),
    sources=(
        SourceAge(source="pods", age_seconds=0.0, error=None),
        SourceAge(source="node", age_seconds=30.0, error="can't get Node n: down"),
        SourceAge(source="podresources", age_seconds=None, error="no socket"),
    ),
    accounts=(
        account(0, cpu=(4, 3, 1), memory=(1 << 30, 1 << 29, 0)),
        account(1, cpu=(4, 4, 2), **{"nvidia.com/gpu": (1, 1, 0)}),
    ),
    slots=SlotsNow(
        shapes=(
            ShapeSlots(
                shape=Shape(cpus=2, gpus=1),
                nodes=(NodeSlots(node_id=0, slots=1, short="gpus", ever=True),),
                together=2,
            ),
        )
    ),
    times=Times(began=999.0, bound=999.5, ended=1000.0),
)
"""A pass with something of everything."""
