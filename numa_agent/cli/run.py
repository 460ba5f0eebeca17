"""`numa-agent run`: the pass that the node needs."""

import argparse
import json
import sys
from collections.abc import Iterator

from numa_agent.agent import News, Seen
from numa_agent.cli import options, report_text
from numa_agent.core.errors import SourceError
from numa_agent.core.report import Report, to_json, write_json
from numa_agent.wiring.passes import run_on, run_once

DESCRIPTION = """\
Take passes over this node, or one with --once: read its map, publish it to the scheduler, write
the CPU sets that the scheduler assigned to running pods into their containers' cgroups, read back
what the kernel has in force, and say for each container whether it got its CPUs."""

EPILOG = """\
examples:
  numa-agent run --once --node-name gpu-7
  numa-agent run --node-name gpu-7    a pass every 30 to 45 s, told of where it says something new
  numa-agent run --once --config /etc/numa-agent/config.yaml
  numa-agent run --once --host-root COPY -o json    a copy of a recorded machine: it is written to

The configuration file in a pod that has the machine's root mounted at /host:

    hostRoot: /host    # the machine looked at
    liveRoot: /host    # it is the one that this runs on

docs/publishing.md has the other settings: whose language is published, where kubelet's are read.
The JSON is a stable contract: docs/report-json.md.
Exit code 1 when something that was wanted isn't so: a source failed, an assignment was refused,
a write failed, a container doesn't run where it should. Each is named on stderr."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the pass's options."""
    parser.add_argument(
        "--once", action="store_true", help="take one pass and end (default: go on until SIGTERM)"
    )
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Take the pass and print its report; what isn't as wanted goes to stderr as well."""
    settings = options.settings(
        arguments, nodeName=arguments.node_name, kubeconfig=arguments.kubeconfig
    )
    if arguments.once:
        report = run_once(settings)
        _tell(report, arguments.output, indent=2)
        return 0 if report.good else 1
    run_on(settings, _Changes(arguments.output).tell)
    return 0


class _Changes:
    """Tells of the passes that say something else than the one before."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._last: object = None

    def tell(self, found: News) -> None:
        """Print the report, or why there was no pass, where that is news."""
        if isinstance(found, Seen):
            self._tell_between(found)
            return
        news = str(found) if isinstance(found, SourceError) else _without_ages(found)
        if news == self._last:
            return
        self._last = news
        if isinstance(found, SourceError):
            print(f"numa-agent run: {found}", file=sys.stderr, flush=True)
        else:
            _tell(found, self._output, indent=None)
            sys.stdout.flush()

    def _tell_between(self, seen: Seen) -> None:
        for said in (*seen.failures, *(each.message for each in seen.conditions)):
            print(f"numa-agent run: {said}", file=sys.stderr, flush=True)
        for write in seen.writes:
            if self._output == "json":
                print(json.dumps({"write": write_json(write)}), flush=True)
            else:
                print("\n".join(report_text.write_lines(write)), flush=True)


def _without_ages(report: Report) -> object:
    return {**to_json(report), "sources": [each.error for each in report.sources]}


def _tell(report: Report, output: str, indent: int | None) -> None:
    for trouble in _troubles(report):
        print(f"numa-agent run: {trouble}", file=sys.stderr)
    if output == "json":
        json.dump(to_json(report), sys.stdout, indent=indent)
        print()
    else:
        print("\n".join(report_text.lines(report)))


def _troubles(report: Report) -> Iterator[str]:
    """Every reason for which the report isn't good, a line each."""
    yield from report_text.troubles(report)
    for publication in report.publications:
        if publication.published is not None and not publication.good:
            kind, published = publication.manifest["kind"], publication.published
            yield f"not published: {kind}: {published.outcome}: {published.detail}"
    for write in report.writes:
        if write.error is not None:
            yield f"not written: {write.step.pod}: {write.error}"
    for proof in report.proofs:
        if not proof.verdict.kept:
            who = f"{proof.pod.full_name} {proof.container.name}"
            yield f"{proof.verdict.alignment}: {who}: {proof.verdict.reason}"
