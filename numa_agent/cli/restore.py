"""`numa-agent restore`: take back what was bound."""

import argparse
import sys

from numa_agent.cli import options
from numa_agent.core.cpulist import render
from numa_agent.wiring.plans import restore_once

DESCRIPTION = """\
Give pods back all CPUs and memory nodes that are in force around them, written out: the kernel
refuses an empty list in a cgroup that has tasks. It is refused while numa-agent runs on the node,
which would bind the pods again at once: end it first. One pod that opted out with the annotation
numa-agent.io/bind: "off" may be named meanwhile. With --all the agent's own decisions are
forgotten, too: one that comes later decides anew."""

EPILOG = """\
examples:
  numa-agent restore --node-name gpu-7 --pod ml/train-0
  numa-agent restore --node-name gpu-7 --all

Exit code 1 when a source or a write failed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which pods."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--pod", metavar="NAMESPACE/NAME", help="one pod of this node")
    which.add_argument("--all", action="store_true", help="every pod of this node")
    options.add_settings(parser)
    options.add_cluster(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write, and say what was written."""
    settings = options.settings(
        arguments, nodeName=arguments.node_name, kubeconfig=arguments.kubeconfig
    )
    restored = restore_once(settings, arguments.pod)
    for write in restored.writes:
        step = write.step
        before, after = render(step.before), render(step.after)
        print(f"{step.pod}: {step.file} {before} -> {after} in {step.path}")
        if write.error is not None:
            print(f"numa-agent restore: not written: {write.error}", file=sys.stderr)
    for name, why in restored.untouched.items():
        print(f"{name} {why}")
    for failure in restored.failures:
        print(f"numa-agent restore: failed: {failure}", file=sys.stderr)
    failed = restored.failures or any(write.error for write in restored.writes)
    return 1 if failed else 0
