"""`numa-agent render`: what the cluster's scheduler would be told of this node."""

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Mapping

from numa_agent.cli import options
from numa_agent.config import SCHEDULERS, Config
from numa_agent.core.documents import items, mapping
from numa_agent.core.publishing import Action
from numa_agent.core.view import Json
from numa_agent.wiring.renders import compared, render_once

DESCRIPTION = """\
Print the objects that a pass would apply for this node, in the language of the cluster's
scheduler, byte for byte the same on every run. Nothing is written anywhere."""

EPILOG = """\
examples:
  numa-agent render --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent render --host-root fixtures/sysfs/two-socket-8gpu --scheduler koordinator
  numa-agent render --node-name gpu-7 --diff         next to what the cluster has now

With --diff each object is compared with the cluster's, in the fields that are ours: a line with -
is there now, one with + would be; an object that another publisher writes would be left alone,
and is named. docs/publishing.md says where each number comes from.
Exit code 1 when a source failed, so that objects may be missing, and with --diff when the cluster
has something else. What can't be told, and why, is on stderr."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the rendering's options."""
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument(
        "--scheduler",
        choices=SCHEDULERS,
        metavar="|".join(SCHEDULERS),
        help="whose language (default: the configuration's, kube-scheduler)",
    )
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")
    parser.add_argument(
        "--diff", action="store_true", help="compare with what the cluster has now"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the objects, or how the cluster's differ."""
    settings = options.settings(
        arguments,
        nodeName=arguments.node_name,
        kubeconfig=arguments.kubeconfig,
        scheduler=arguments.scheduler,
    )
    rendered = render_once(settings)
    for failure in rendered.failures:
        print(f"numa-agent render: failed: {failure}", file=sys.stderr)
    for condition in rendered.rendering.conditions:
        print(f"numa-agent render: note: {condition.message}", file=sys.stderr)
    manifests = rendered.rendering.manifests
    if arguments.diff:
        differing = _print_differences(settings, manifests, arguments.output)
        return 1 if differing or rendered.failures else 0
    print(_written(manifests, arguments.output), end="")
    return 1 if rendered.failures else 0


def _print_differences(settings: Config, manifests: tuple[Json, ...], output: str) -> bool:
    differing = False
    for each in compared(settings, manifests):
        manifest, decision = each.manifest, each.decision
        name = f"{manifest['kind']}/{mapping(manifest['metadata'])['name']}"
        if decision.action is Action.STAND_BACK:
            rivals = "; ".join(rival.label for rival in decision.rivals)
            print(f"numa-agent render: {name} would be left alone: {rivals}", file=sys.stderr)
        if decision.action is Action.NOTHING:
            continue
        differing = True
        now = () if each.live is None else (_beside(each.live, manifest),)
        lines = "".join(_difference(name, now, (manifest,), output))
        dropped = f"{name}: fields that are ours no more: {', '.join(decision.differing)}\n"
        print(lines or dropped, end="")
    return differing


def _difference(
    name: str, now: tuple[Json, ...], wanted: tuple[Json, ...], output: str
) -> Iterator[str]:
    return difflib.unified_diff(
        _written(now, output).splitlines(keepends=True) if now else [],
        _written(wanted, output).splitlines(keepends=True),
        fromfile=f"{name} (in the cluster)",
        tofile=f"{name} (rendered)",
    )


def _beside(live: Mapping[str, object], manifest: Mapping[str, object]) -> Json:
    """The live object's members where the manifest has some, in the manifest's order."""
    found: Json = {}
    for key, wanted in manifest.items():
        if key not in live:
            continue
        theirs = live[key]
        both = isinstance(wanted, Mapping) and isinstance(theirs, Mapping)
        found[key] = _beside(mapping(theirs), mapping(wanted)) if both else _like(theirs, wanted)
    return found


def _like(theirs: object, wanted: object) -> object:
    """The whole value, its objects' members in the order that ours have: the server sorts them."""
    if isinstance(theirs, Mapping):
        ours = mapping(wanted)
        order = [
            *(key for key in ours if key in theirs),
            *(key for key in theirs if key not in ours),
        ]
        return {key: _like(theirs[key], ours.get(key)) for key in order}
    if isinstance(theirs, list):
        ours_too = items(wanted)
        last = ours_too[-1] if ours_too else None
        return [
            _like(each, ours_too[place] if place < len(ours_too) else last)
            for place, each in enumerate(theirs)
        ]
    return theirs


def _written(manifests: tuple[Json, ...], output: str) -> str:
    """The objects as YAML documents, or as one v1 List in JSON, as kubectl takes them."""
    if output == "json":
        whole = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    import yaml

    return yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, width=99)
