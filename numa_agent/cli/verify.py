"""`numa-agent verify`: what every container got, from the kernel."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence

from numa_agent.cli import options
from numa_agent.cli.report_text import table
from numa_agent.core.cpulist import render
from numa_agent.core.proof_json import proofs_json
from numa_agent.core.report import Proof
from numa_agent.core.topology import Topology
from numa_agent.core.verdict import Alignment, HeldDevice, Verdict, memory_by_node
from numa_agent.wiring.verify import Verified, verify_once

DESCRIPTION = """\
Show what every running container of this node got, measured from the kernel: the CPUs in force,
where its memory is, which GPUs and NICs it holds and where those are, and whether all of that is
in one NUMA node. Nothing is written."""

EPILOG = """\
examples:
  numa-agent verify --node-name gpu-7
  numa-agent verify ml/train-0 --node-name gpu-7
  numa-agent verify --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent verify --host-root fixtures/sysfs/two-socket-8gpu -o json

VERDICT is
  aligned  CPUs as decided, and they, its memory and its devices are in one node
  split    its CPUs, memory or devices lie in several nodes
  remote   it may run outside its CPUs, or its memory or devices are elsewhere
  unknown  something that it takes to say so wasn't seen

ASKED is for a container that asked for alignment or has CPUs decided for it: `has it`, `LACKS IT`,
or `unknown` where nothing bad was seen and not all was; `-` for any other. Exit code 1 unless each
of them has it, or when a source failed or a pod can't be read. Each reason, and what counts as
elsewhere: docs/verdicts.md."""

_HEAD = ("POD", "CONTAINER", "VERDICT", "ASKED", "CPUS", "MEMORY", "DEVICES")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which pod and how it is shown."""
    parser.add_argument(
        "pod", nargs="?", metavar="NAMESPACE/POD", help="one pod of this node (default: all)"
    )
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts."""
    verified = verify_once(options.settings(arguments), arguments.pod)
    for failure in verified.failures:
        print(f"numa-agent verify: failed: {failure}", file=sys.stderr)
    if arguments.output == "json":
        json.dump(proofs_json(verified.proofs, verified.failures), sys.stdout, indent=2)
        print()
    else:
        _print(verified, arguments.pod)
    lacking = any(proof.has_it is False for proof in verified.proofs)
    return 1 if lacking or verified.failures or verified.planned is None else 0


def _print(verified: Verified, pod_name: str | None) -> None:
    if verified.planned is None:
        print("nothing can be verified: the pods or kubelet's CPUs are unknown")
        return
    if not verified.proofs:
        print("no container runs here" if pod_name is None else f"no container of {pod_name} runs")
        return
    rows = [_row(proof, verified.topology) for proof in verified.proofs]
    for line, proof in zip(table([_HEAD, *rows]), [None, *verified.proofs], strict=True):
        print(line)
        for said in () if proof is None else _why(proof):
            print(f"    {said}")
    unseen = sum(proof.tasks_unseen for proof in verified.proofs)
    if unseen:
        print(f"the own masks of {unseen} task{'s' if unseen > 1 else ''} aren't seen from here")
    print(_summary(verified.proofs))


def _row(proof: Proof, topology: Topology) -> Sequence[str]:
    verdict = proof.verdict
    return (
        proof.pod.full_name,
        proof.container.name,
        verdict.alignment.value,
        _asked(proof),
        _cpus(verdict, topology),
        "not seen" if verdict.memory is None else memory_by_node(verdict.memory.own) or "none",
        _devices(verdict.devices),
    )


def _asked(proof: Proof) -> str:
    if proof.has_it is None:
        return "-"
    if proof.has_it:
        return "has it"
    return "unknown" if _not_told(proof) else "LACKS IT"


def _not_told(proof: Proof) -> bool:
    """Whether one that isn't shown to have its alignment isn't shown to lack it, either."""
    verdict = proof.verdict
    fewer = None not in (verdict.decided, verdict.effective) and (
        verdict.decided != verdict.effective
    )
    return verdict.alignment is Alignment.UNKNOWN and not fewer


def _cpus(verdict: Verdict, topology: Topology) -> str:
    if verdict.effective is None:
        return "not seen"
    nodes = render(topology.nodes_of(verdict.effective)) or "?"
    if not verdict.effective:
        return "none"
    return f"{render(verdict.effective)} (node {nodes})"


def _devices(devices: Iterable[HeldDevice]) -> str:
    found: dict[tuple[str, str], int] = {}
    for each in devices:
        key = each.kind, render(each.nodes) or "?"
        found[key] = found.get(key, 0) + 1
    return ", ".join(f"{count} {kind} in {node}" for (kind, node), count in found.items()) or "-"


def _why(proof: Proof) -> Iterable[str]:
    """The reasons that a reader should know of, one a line; a good one is in the row."""
    untold = {"aligned", "tasks-unseen"}
    return [str(each) for each in proof.verdict.reasons if each.code not in untold]


def _summary(proofs: Sequence[Proof]) -> str:
    found = [proof.has_it for proof in proofs]
    untold = sum(proof.has_it is False and _not_told(proof) for proof in proofs)
    asked = len(found) - found.count(None)
    return (
        f"{len(found)} container{'s' if len(found) != 1 else ''}: {asked} asked for alignment,"
        f" {found.count(True)} of them {'has' if found.count(True) == 1 else 'have'} it"
        + (f", of {untold} it isn't known" if untold else "")
    )
