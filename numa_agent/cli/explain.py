"""`numa-agent explain`: the story of one pod."""

import argparse
import json
import sys

from numa_agent.cli import options
from numa_agent.core.explaining import Story
from numa_agent.core.proof_json import proofs_json
from numa_agent.core.view import Json
from numa_agent.wiring.explain import Explained, explain_once

DESCRIPTION = """\
Tell the story of one pod, from its wish to the kernel: what was asked, what was decided and by
whom, what the scheduler is told, what was written, what is in force, what was measured, what
limits it, and what to do about it. For a pod that isn't placed yet: which NUMA node has room and
which lacks what. Nothing is written."""

EPILOG = """\
examples:
  numa-agent explain ml/train-0 --node-name gpu-7
  numa-agent explain ml/train-0 --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent explain ml/train-0 --host-root fixtures/sysfs/two-socket-8gpu -o json

Only an agent on the pod's node can ask that node's kernel; a pod that no node has is looked for in
the cluster, which takes the right to get pods and to list noderesourcetopologies.

Exit code 1 when a container lacks the alignment that it asked for, or a source failed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which pod and how its story is told."""
    parser.add_argument("pod", metavar="NAMESPACE/POD", help="the pod")
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Print the story."""
    explained = explain_once(options.settings(arguments), arguments.pod)
    for failure in explained.failures:
        print(f"numa-agent explain: failed: {failure}", file=sys.stderr)
    if arguments.output == "json":
        json.dump(_json(explained), sys.stdout, indent=2)
        print()
    else:
        _print(explained.story)
    lacking = any(proof.has_it is False for proof in explained.proofs)
    return 1 if lacking or explained.failures else 0


def _json(explained: Explained) -> Json:
    story = explained.story
    return {
        **proofs_json(explained.proofs, explained.failures),
        "format": "numa-agent.explain/v1",
        "pod": story.pod,
        "chapters": [{"title": each.title, "lines": [*each.lines]} for each in story.chapters],
        "todo": [{"what": each.what, "command": each.command or None} for each in story.todo],
    }


def _print(story: Story) -> None:
    print(f"pod {story.pod}")
    width = max(len(chapter.title) for chapter in story.chapters) + 2
    for chapter in story.chapters:
        print()
        for number, line in enumerate(chapter.lines):
            print(f"{chapter.title if number == 0 else '':<{width}}{line}")
    print()
    for number, todo in enumerate(story.todo, 1):
        print(f"{'to do' if number == 1 else '':<{width}}{number}. {todo.what}")
        if todo.command:
            print(f"{'':<{width}}     {todo.command}")
    if not story.todo:
        print(f"{'to do':<{width}}nothing")
