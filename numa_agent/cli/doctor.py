"""`numa-agent doctor`: what on this node hurts NUMA locality or the agent, and what to do."""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator

from numa_agent.cli import options
from numa_agent.config import SCHEDULERS
from numa_agent.core.doctor import Diagnosis, Finding, Weight, to_json
from numa_agent.core.doctor.findings import counted
from numa_agent.wiring.doctor import doctor_once

DESCRIPTION = """\
Look at what on this node hurts NUMA locality or the agent: firmware, the kernel's settings,
kubelet's policies, drivers, cgroups, and what the cluster lets it do. Each finding has its weight,
what was read, and what to do. Nothing is written; what couldn't be looked at is listed, and isn't
taken for well."""

EPILOG = """\
examples:
  numa-agent doctor --node-name gpu-7
  numa-agent doctor --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent doctor -o json | jq -r '.findings[] | select(.weight == "fault").code'
  kubectl exec -n numa-agent POD -- numa-agent doctor --config /etc/numa-agent/config.yaml
                                               with the agent's own rights and mounts

Every code is explained in docs/doctor.md; the JSON is a stable contract. Exit code 1 when
something is at fault."""

_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the doctor's options."""
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument(
        "--scheduler",
        choices=SCHEDULERS,
        metavar="|".join(SCHEDULERS),
        help="which scheduler the node works with (default: the configuration's, kube-scheduler)",
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Print the diagnosis."""
    settings = options.settings(
        arguments,
        nodeName=arguments.node_name,
        kubeconfig=arguments.kubeconfig,
        scheduler=arguments.scheduler,
    )
    diagnosis = doctor_once(settings)
    if arguments.output == "json":
        json.dump(to_json(diagnosis), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(diagnosis)))
    return 0 if diagnosis.good else 1


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    for finding in diagnosis.findings:
        yield from _finding(finding)
        yield ""
    if diagnosis.not_looked:
        yield "couldn't be looked at:"
        for each in diagnosis.not_looked:
            text = f"{each.unseen.source}: {each.unseen.why} (for {', '.join(each.checks)})"
            yield from _wrapped("  ", "    ", text)
    if diagnosis.well:
        yield from _wrapped("", "  ", f"well: {', '.join(diagnosis.well)}")
    counts = [counted(diagnosis.count(weight), weight) for weight in Weight]
    yield f"{', '.join(counts)}; {counted(len(diagnosis.not_looked), 'fact')} not to be had"


def _finding(finding: Finding) -> Iterator[str]:
    rule = finding.rule
    yield f"{rule.weight.upper():<8} {rule.code}: {_printable(finding.subject)}"
    for label, text in (
        ("seen", finding.evidence),
        ("costs", rule.costs),
        ("do", finding.fix),
        ("see", rule.source),
    ):
        yield from _wrapped(f"  {label:<6} ", " " * 9, text)


def _printable(text: str) -> str:
    """A text without what a terminal would obey: files and servers may hold anything."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _wrapped(first: str, rest: str, text: str) -> list[str]:
    return textwrap.wrap(
        _printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
