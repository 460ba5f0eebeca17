"""The last look at the annotations: what would end koord-scheduler never goes out."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from numa_agent.core.schedulers.koordinator import publish
from numa_agent.core.schedulers.koordinator.check import faults
from tests.consumers.koordinator_machines import recorded, view
from tests.recorded import MACHINES

CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
SHARED_POOLS = "node.koordinator.sh/cpu-shared-pools"
ALLOCS = "node.koordinator.sh/pod-cpu-allocs"
POLICY = "kubelet.koordinator.sh/cpu-manager-policy"
RESERVATION = "node.koordinator.sh/reservation"
SYSTEM_QOS = "node.koordinator.sh/system-qos-resource"


def annotations() -> dict[str, str]:
    """The annotations of a machine with two nodes."""
    metadata: Any = publish(view()).manifests[0]["metadata"]
    return dict(metadata["annotations"])


@pytest.mark.parametrize("name", [machine.name for machine in MACHINES])
def test_every_recorded_machine_passes(name: str) -> None:
    metadata: Any = publish(recorded(name)).manifests[0]["metadata"]
    assert faults(metadata["annotations"]) == ()


@pytest.mark.parametrize("key", sorted(annotations()))
def test_a_missing_annotation_is_named(key: str) -> None:
    texts = annotations()
    del texts[key]
    assert faults(texts) == (f"{key} is missing",)


@pytest.mark.parametrize("key", sorted(annotations()))
@pytest.mark.parametrize("text", ["", "{", "7", '"x"', "[" * 100_000])
def test_one_that_isn_t_json_of_its_shape_is_named(key: str, text: str) -> None:
    (fault,) = faults({**annotations(), key: text})
    assert fault.startswith(key)
    assert len(fault) < 300


def cpu(**members: object) -> Callable[[Any], None]:
    """A change of the first CPU."""
    return lambda said: said["detail"][0].update(members)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (cpu(core=1.0), "core 1.0 isn't an integer"),
        (cpu(socket="0"), "socket '0' isn't an integer"),
        (cpu(node=None), "node None isn't an integer"),
        (cpu(id=True), "id True isn't an integer"),
        (cpu(id=9), "its ids don't ascend"),
        (cpu(id=1), "its ids don't ascend"),
        (cpu(core=65536), "a core's number isn't below 65536"),
        (cpu(cluster=0), "isn't an object of id, core, socket, node"),
        (lambda said: said["detail"][0].pop("node"), "isn't an object of id, core, socket, node"),
        (lambda said: said["detail"].append(7), "7 isn't an object of id, core, socket, node"),
        (lambda said: said.update(detail=[]), "it lists no CPU"),
        (lambda said: said.pop("detail"), "it lists no CPU"),
    ],
)
def test_a_cpu_that_the_scheduler_can_t_read_is_named(
    change: Callable[[Any], object], fault: str
) -> None:
    texts = annotations()
    said = json.loads(texts[CPU_TOPOLOGY])
    change(said)
    found = faults({**texts, CPU_TOPOLOGY: json.dumps(said)})
    assert any(fault in sentence for sentence in found)
    assert all(sentence.startswith(CPU_TOPOLOGY) for sentence in found)


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        (SHARED_POOLS, '[{"socket": 0.0, "node": 0}]', "socket 0.0 isn't an integer"),
        (SHARED_POOLS, '[{"socket": 0, "node": 0, "cpuset": "1-"}]', "cpuset: "),
        (SHARED_POOLS, '[{"socket": 0, "node": 0, "cpuset": 1}]', "cpuset: 1 isn't a string"),
        (SHARED_POOLS, "[7]", "7 isn't an object"),
        (SHARED_POOLS, "null", "isn't a JSON array"),
        (ALLOCS, '[{"uid": "x", "cpuset": "3-1"}]', "cpuset: "),
        (POLICY, '{"reservedCPUs": 3}', "reservedCPUs: 3 isn't a string"),
        (RESERVATION, '{"reservedCPUs": "all"}', "reservedCPUs: "),
        (SYSTEM_QOS, '{"cpuset": "all"}', "cpuset: "),
    ],
)
def test_a_pool_or_set_that_can_t_be_read_is_named(key: str, text: str, fault: str) -> None:
    (sentence,) = faults({**annotations(), key: text})
    assert sentence.startswith(key)
    assert fault in sentence


@pytest.mark.parametrize("text", ["null", "[]"])
def test_no_allocations_are_null_or_an_empty_list(text: str) -> None:
    assert faults({**annotations(), ALLOCS: text}) == ()
