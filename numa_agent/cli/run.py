"""`numa-agent run`: the pass that the node needs."""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

from numa_agent.cli import options, report_text
from numa_agent.cli.changes import Changes
from numa_agent.config.reload import Reload
from numa_agent.core.report import Report, Write, to_json, write_json
from numa_agent.wiring.daemon import run_on
from numa_agent.wiring.passes import run_once

DESCRIPTION = """\
Take passes over this node, or one with --once: read its map, publish it to the scheduler, write
the CPU sets that the scheduler assigned to running pods into their containers' cgroups, read back
what the kernel has in force, and say for each container whether it got its CPUs."""

EPILOG = """\
examples:
  numa-agent run --once --node-name gpu-7
  numa-agent run --node-name gpu-7    passes until SIGTERM, told of where they say something new
  numa-agent run --once --config /etc/numa-agent/config.yaml
  numa-agent run --once --host-root COPY -o json    a copy of a recorded machine: it is written to

The configuration file in a pod that has the machine's root mounted at /host:

    hostRoot: /host    # the machine looked at
    liveRoot: /host    # it is the one that this runs on

`numa-agent config --show` lists every setting, docs/configuration.md explains them; the file may
change while it runs. Between passes (passSeconds) it binds what comes or changes at once.
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
    parser.add_argument(
        "--verify-interval",
        metavar="SECONDS",
        help="how long a verdict on an unchanged container stands (verifySeconds, default: 120)",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), help="how to print (default: logFormat, text)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Take the pass and print its report; what isn't as wanted goes to stderr as well."""
    flags = options.flags(arguments) | {"verifySeconds": arguments.verify_interval}
    reload = Reload(arguments.config, flags)
    log_format = reload.config.log_format
    say = _Says(arguments.output or log_format, log_format)
    if arguments.once:
        report = run_once(reload.config)
        say.report(report, indent=2)
        return 0 if report.good else 1
    run_on(reload, Changes(say).tell, say.trouble)
    return 0


class _Says:
    """Prints reports to stdout and troubles to stderr, each as text or as JSON."""

    def __init__(self, output: str, log_format: str) -> None:
        self._json = output == "json"
        self._log_json = log_format == "json"

    def report(self, report: Report, indent: int | None) -> None:
        """Print a report; what isn't as wanted goes to stderr as well."""
        for trouble in _troubles(report):
            self.trouble(trouble)
        if self._json:
            print(json.dumps(to_json(report), indent=indent), flush=True)
        else:
            print("\n".join(report_text.lines(report)), flush=True)

    def trouble(self, sentence: str) -> None:
        """Print one sentence to stderr."""
        said = f"numa-agent run: {sentence}"
        if self._log_json:
            said = json.dumps({"time": datetime.now(UTC).isoformat(), "message": sentence})
        print(said, file=sys.stderr, flush=True)

    def write(self, write: Write) -> None:
        """Print what was written between passes."""
        if self._json:
            print(json.dumps({"write": write_json(write)}), flush=True)
        else:
            print("\n".join(report_text.write_lines(write)), flush=True)


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
