"""What says nothing, names everything or is refused is never taken for an answer."""

import pytest

from numa_agent.core.assembly import assemble
from numa_agent.core.devices import NodeSource
from numa_agent.core.links import Level
from numa_agent.core.nvml import NvLink, NvmlError, NvmlGpu
from numa_agent.core.overrides import parse
from tests.topo.values import answers, facts, function, nvml_gpu, to_gpu

A, B = "0000:3b:00.0", "0000:5e:00.0"


@pytest.mark.parametrize(("local", "nvml"), [("0-7", "0-1"), ("0-6", None), ("0-6", "0-1")])
def test_what_names_every_node_with_cpus_says_nothing(local: str, nvml: str | None) -> None:
    # Case 19: an affinity that covers every node is firmware without locality.
    machine = facts(function(A, local=local))
    topology = assemble(machine, nvml=answers(nvml_gpu(0, A, memory_nodes=nvml)))
    (gpu,) = topology.gpus
    assert (gpu.device.nodes, gpu.device.node_source) == ((), NodeSource.UNKNOWN)
    assert topology.smallest_nodes([gpu]) is None
    assert [warning.code for warning in topology.warnings] == ["pci-node-unknown"]


def test_a_bad_override_does_not_hide_a_good_one_after_it() -> None:
    overrides = parse({"0000:00:00.0-0000:ff:1f.7": 9, A: 1})
    topology = assemble(facts(function(A)), overrides=overrides)
    assert topology.gpus[0].device.node == 1


def test_a_virtual_function_is_not_a_second_candidate_for_the_lost_gpu() -> None:
    virtual = function("0000:3b:01.0", driver="nvidia", physical=A)
    machine = facts(function(A, driver="nvidia"), virtual)
    assert assemble(machine, nvml=answers(nvml_gpu(0, None, lost=True))).gpus[0].health == "lost"


def _nvlinks(a: NvmlGpu, b: NvmlGpu) -> int | None:
    return assemble(facts(function(A), function(B)), nvml=answers(a, b)).links[0].nvlinks


def test_a_link_whose_other_end_is_refused_is_not_no_link() -> None:
    blind = [NvLink(link=0, version=6, remote_type=0, remote=None)]
    refused = NvmlError(call="nvlink_remote_bus_id", argument=0, error="Unknown")
    mute = nvml_gpu(0, A, nvlinks=blind, errors=(refused,))
    assert _nvlinks(mute, nvml_gpu(1, B, nvlinks=to_gpu(A, 1))) == 1
    assert _nvlinks(mute, nvml_gpu(1, B, nvlinks=blind, errors=(refused,))) is None


def test_nvml_s_level_is_the_other_gpu_s_word_where_one_refuses() -> None:
    said = answers(nvml_gpu(0, A), nvml_gpu(1, B, common_ancestors={0: 50}))
    (link,) = assemble(facts(function(A, numa=0), function(B, numa=0)), nvml=said).links
    assert link.nvml_level is Level.SYS
